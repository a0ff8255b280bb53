// The agent's files: those that a lease names come, checkpoints, weights and logs go.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "proto/types/wire_limits.h"
#include "worker/agent/agent.h"
#include "worker/agent/fetch.h"
#include "worker/agent/files.h"
#include "worker/agent/log.h"

namespace longreach::agent {
namespace {

using ToUpload = std::pair<v1::UploadHeader, std::filesystem::path>;

// The end of what an attempt has printed, as a file beside its log; none if that is nothing.
std::optional<std::filesystem::path> MakeLogTail(const std::filesystem::path& folder) {
  const std::string tail = ReadTail(folder / "log", kLogBytes);
  if (tail.empty()) return std::nullopt;
  const std::filesystem::path file = folder / "log.tail";
  std::error_code ignored;
  std::filesystem::remove(file, ignored);  // Of an earlier process: the scheduler may have a link to it.
  std::ofstream(file, std::ios::binary | std::ios::trunc) << tail;
  return file;
}

}  // namespace

v1::UploadHeader Agent::HeaderOf(const Attempt& attempt, ArtifactKind kind, int step) const {
  v1::UploadHeader header;
  header.set_attempt(attempt.number());
  header.set_worker(state_.worker());
  header.set_store(state_.store());
  header.set_kind(std::string(Word(kind)));
  header.set_step(step);
  header.mutable_jobs()->Assign(attempt.members.begin(), attempt.members.end());
  return header;
}

void Agent::BeginFetch(const AttemptPtr& attempt) {
  InBackground(
      [this, lease = attempt->lease, folder = attempt->folder, stop = attempt->transfers.get_token()] {
        return Fetch(lease, folder, cache_, transfers_, stop);
      },
      [this, attempt](absl::StatusOr<v1::StartPack> start) {
        if (!Holds(attempt) || ended_already_) return;
        if (IsGone(start.status())) return Fail(attempt, std::string(start.status().message()));
        if (!start.ok()) {
          asks_from_ = std::chrono::steady_clock::now() + kPauseWithoutFiles;
          return GiveBack(attempt, std::string(start.status().message()));
        }
        attempt->start = *std::move(start);
        BeginVerifying(attempt);
      });
}

// One at a time; when it is done, the newest that was written meanwhile follows and those between are skipped.
void Agent::BeginCheckpointUpload(const AttemptPtr& attempt) {
  if (attempt->uploading.has_value() || attempt->stage != Attempt::Stage::kTraining || attempt->checkpoints.empty()) return;
  const Checkpoint checkpoint = attempt->checkpoints.back();
  if (checkpoint.file == attempt->handed_in) return;
  attempt->uploading = checkpoint.file;
  InBackground(
      [this, header = HeaderOf(*attempt, ArtifactKind::kCheckpoint, checkpoint.step), file = checkpoint.file,
       stop = attempt->checkpoint_upload.get_token()]() -> absl::Status {
        ASSIGN_OR_RETURN(const std::string sha256, transfers_.Upload(header, file, stop));
        cache_.Keep(file, sha256);
        return absl::OkStatus();
      },
      [this, attempt, checkpoint](const absl::Status& status) {
        attempt->uploading.reset();
        if (!Holds(attempt) || ended_already_) return;
        attempt->handed_in = checkpoint.file;  // Or refused for good: it is not tried again.
        const bool listed = std::any_of(attempt->checkpoints.begin(), attempt->checkpoints.end(),
                                        [&](const Checkpoint& other) { return other.file == checkpoint.file; });
        std::error_code ignored;
        if (!listed) std::filesystem::remove(checkpoint.file, ignored);
        if (status.code() == absl::StatusCode::kAborted) return Drop(attempt, "its lease is gone");
        if (!status.ok() && status.code() != absl::StatusCode::kCancelled) {
          LogWarning(fmt::format("attempt {}: checkpoint of step {} not handed in: {}", attempt->number(),
                                 checkpoint.step, std::string(status.message())));
        }
        BeginCheckpointUpload(attempt);
      });
}

// Files first, then the report: a result whose weights or series are nowhere would be accepted otherwise.
void Agent::BeginHandIn(const AttemptPtr& attempt) {
  attempt->stage = Attempt::Stage::kHandingIn;
  attempt->checkpoint_upload.request_stop();
  std::vector<ToUpload> uploads;
  for (const FileToHandIn& file : attempt->files) {
    v1::UploadHeader& header = uploads.emplace_back(HeaderOf(*attempt, file.kind, file.step), file.file).first;
    if (file.job.empty()) continue;
    header.clear_jobs();
    header.add_jobs(file.job);
  }
  std::optional<v1::UploadHeader> log;
  if (!attempt->members.empty()) log = HeaderOf(*attempt, ArtifactKind::kLog, attempt->step);
  InBackground(
      [this, uploads = std::move(uploads), log = std::move(log), folder = attempt->folder, stop = attempt->transfers.get_token()]() mutable -> absl::Status {
        if (stop.stop_requested()) return absl::CancelledError("called off");  // Its folder is being removed.
        if (const std::optional<std::filesystem::path> tail = log ? MakeLogTail(folder) : std::nullopt) uploads.emplace_back(*log, *tail);
        for (const auto& [header, file] : uploads) {
          const absl::StatusOr<std::string> sha256 = transfers_.Upload(header, file, stop);
          const absl::StatusCode code = sha256.status().code();
          const std::optional<ArtifactKind> kind = ParseArtifactKind(header.kind());
          if (sha256.ok()) {
            if (HasMemberAxis(kind)) cache_.Keep(file, *sha256);  // A later lease may name it.
          } else if (IsOfAResult(kind) || code == absl::StatusCode::kAborted || code == absl::StatusCode::kCancelled) {
            return sha256.status();
          } else {
            LogWarning(fmt::format("attempt {}: {} not handed in: {}", header.attempt(), header.kind(),
                                   std::string(sha256.status().message())));
          }
        }
        return absl::OkStatus();
      },
      [this, attempt](const absl::Status& status) { OnHandedIn(attempt, status); });
}

void Agent::OnHandedIn(const AttemptPtr& attempt, const absl::Status& status) {
  if (!Holds(attempt) || ended_already_ || status.code() == absl::StatusCode::kCancelled) return;
  if (status.code() == absl::StatusCode::kAborted) return Drop(attempt, "its lease is gone");
  if (attempt->lost) return EndLost(attempt, status);
  if (!status.ok()) {
    attempt->report.Clear();
    attempt->report.set_outcome(v1::AttemptReport::OUTCOME_FAILED);
    attempt->report.set_detail(fmt::format("its files were refused: {}", std::string(status.message())));
  }
  attempt->stored = true;
  ReportWithFewPoints(attempt);
}

// Until then further calls carry the others, and where it began.
void Agent::ReportWithFewPoints(const AttemptPtr& attempt) {
  if (attempt->stored && attempt->points.size() <= kPointsPerCall && !attempt->began_at) Report(attempt);
}

}  // namespace longreach::agent
