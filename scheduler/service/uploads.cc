#include "scheduler/service/uploads.h"

#include <map>

#include <fmt/format.h>

#include "scheduler/service/engine.h"
#include "store/artifacts.h"
#include "store/identity.h"

namespace longreach::service {

absl::StatusOr<std::vector<store::AttemptMember>> MembersOfUpload(sql::Connection& db, const v1::UploadHeader& header) {
  ASSIGN_OR_RETURN(const std::string identity, store::Identity(db));
  if (!header.store().empty() && header.store() != identity) {
    return absl::UnavailableError(fmt::format("attempt {} is of store {}, and this is the scheduler of store {}: keep its files until that of theirs answers",
                                              header.attempt(), header.store(), identity));
  }
  const auto id = static_cast<int64_t>(header.attempt());
  ASSIGN_OR_RETURN(const std::optional<store::AttemptRow> attempt, store::FindAttempt(db, id));
  if (!attempt || attempt->outcome || attempt->worker != header.worker()) {
    return absl::AbortedError(fmt::format("attempt {} holds no lease (any more): drop it", header.attempt()));
  }
  ASSIGN_OR_RETURN(const std::vector<store::AttemptMember> members, store::MembersOf(db, id));
  std::map<std::string_view, const store::AttemptMember*> by_id;
  for (const store::AttemptMember& member : members) by_id.emplace(member.id, &member);
  std::vector<store::AttemptMember> named;
  for (const std::string& job : header.jobs()) {
    const auto found = by_id.find(job);
    if (found == by_id.end()) {
      return absl::InvalidArgumentError(fmt::format("job {} is no member of attempt {}, or named twice", job, header.attempt()));
    }
    if (header.step() > found->second->steps) {
      return absl::InvalidArgumentError(fmt::format("step {} of job {}, which has {}", header.step(), job, found->second->steps));
    }
    named.push_back(*found->second);
    by_id.erase(found);  // Each has one member in the file.
  }
  return named;
}

void Engine::RecordUpload(v1::UploadHeader header, store::Pin pin, Answer<WallTime> answer) {
  const WallTime now = clock_.Wall();
  const auto held = std::make_shared<store::Pin>(std::move(pin));
  // Of leased jobs alone: what may be leased next stays what it is.
  SubmitBeside(
      [now, held, header = std::move(header)](sql::Transaction& tx, Effects&) -> absl::Status {
        ASSIGN_OR_RETURN(const std::vector<store::AttemptMember> members, MembersOfUpload(tx, header));
        store::ArtifactRow row;
        const std::optional<ArtifactKind> kind = ParseArtifactKind(header.kind());
        if (!kind) return absl::InternalError(fmt::format("'{}' is no kind of artifact", header.kind()));  // CheckUploadHeader() refuses it.
        row.kind = *kind;
        row.step = header.step();
        row.attempt = static_cast<int64_t>(header.attempt());
        row.sha256 = header.sha256();
        row.bytes = static_cast<int64_t>(header.bytes());
        row.created_at = now;
        for (; row.member < std::ssize(members); ++row.member) {
          const store::AttemptMember& member = members[static_cast<size_t>(row.member)];
          if (member.dropped) continue;  // Nobody wants it any more; the others' parts count.
          row.job = member.job;
          RETURN_IF_ERROR(store::AddArtifact(tx, row));
        }
        // All of them may have been dropped.
        return held->is_new() ? store::NoteUnnamed(tx, header.sha256()) : absl::OkStatus();
      },
      [this, now, held, answer = std::move(answer)](const absl::Status& status) {
        if (status.ok()) {
          held->Settle();
          return answer(now);
        }
        if (!held->is_new()) return answer(status);
        SubmitBeside([held](sql::Transaction& tx, Effects&) { return store::NoteUnnamed(tx, held->sha256()); },
                     [held, answer, status](const absl::Status& noted) {
                       if (noted.ok()) held->Settle();
                       answer(status);
                     });
      });
}

}  // namespace longreach::service
