#include "scheduler/service/check_members.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "proto/base/text.h"
#include "proto/types/job.h"
#include "proto/types/words.h"
#include "scheduler/experiments/expansion.h"
#include "scheduler/service/member_places.h"
#include "store/jobs.h"
#include "store/sweeps.h"

namespace longreach::service {
namespace {

// Members that are not what was expected, and are looked at one by one. A sweep of another version may have as many as it has jobs.
constexpr size_t kMostOthers = 10'000;

MemberAxes AxesOf(const v1::JobSpec& spec) {
  return {.experiment = spec.experiment(),
          .task = spec.task(),
          .encoding = ToText(EncodingName{spec.encoding(), spec.randomized()}),
          .learning_rate = spec.learning_rate(),
          .seed = spec.seed()};
}

std::string JobInWords(std::string_view id, const MemberAxes& axes) {
  return fmt::format("job {} ({}, {}, learning rate {}, seed {})", ShortId(id), axes.task, axes.encoding, ShortestNumber(axes.learning_rate), axes.seed);
}

// A member that is not the job which its sweep's specification makes at its position.
struct Other {
  int64_t sweep = 0;
  int64_t position = 0;
  int64_t job = 0;           // The one that is there,
  std::string id{};          // and its id.
  std::string expected{};    // The id of the one that belongs there.
  bool is_proven = false;    // No version would have put it there.
  std::string line{};
};

// Jobs that belong where a sweep has none, and that the store does not have either.
class LackingMembers {
 public:
  absl::Status See(sql::Connection& db, const experiments::ExpandedJob& job) {
    ASSIGN_OR_RETURN(const std::optional<int64_t> num, store::FindJobNum(db, job.id.value));
    if (num) return absl::OkStatus();
    if (++count_ == 1) first_ = JobInWords(job.id.value, AxesOf(job.spec));
    return absl::OkStatus();
  }
  std::string Told() const {
    if (count_ == 0) return "";
    return count_ == 1 ? fmt::format("; {} is not in this store", first_) : fmt::format("; {} and {} more are not in this store", first_, count_ - 1);
  }

 private:
  int64_t count_ = 0;
  std::string first_;
};

class MembersCheck {
 public:
  MembersCheck(sql::Connection& db, store::CheckReport& report) : db_(db), report_(report) {}

  absl::Status Run() {
    ASSIGN_OR_RETURN(const std::vector<int64_t> sweeps, db_.All<int64_t>("SELECT num FROM sweeps ORDER BY num"));
    for (const int64_t num : sweeps) {
      ASSIGN_OR_RETURN(const store::SweepRow sweep, store::GetSweep(db_, num));
      absl::StatusOr<experiments::Expansion> expansion = experiments::ExpandStored(sweep.spec);
      if (expansion.ok()) RETURN_IF_ERROR(Compare(sweep, *expansion));
      else NoteUnread(sweep, expansion.status());
    }
    RETURN_IF_ERROR(Prove());
    Tell();
    return absl::OkStatus();
  }

 private:
  absl::Status Compare(const store::SweepRow& sweep, experiments::Expansion& expansion);
  void AddOther(Other other);
  void NoteUnread(const store::SweepRow& sweep, const absl::Status& why);
  absl::Status Prove();
  absl::StatusOr<bool> IsProven(const Other& other, std::optional<int64_t> expected);
  void Tell();

  sql::Connection& db_;
  store::CheckReport& report_;
  std::set<int64_t> compared_;
  std::vector<Other> others_;
  int64_t more_proven_ = 0;
  std::map<int64_t, int64_t> in_doubt_;           // By sweep.
  std::map<int64_t, std::string> names_;          // Of sweeps with others.
  std::vector<std::string> lines_;                // On sweeps as a whole.
  std::vector<std::string> unread_;               // Sweeps that were not compared,
  std::string why_unread_;                        // and why the first of them was not.
  std::set<std::pair<int64_t, int64_t>> places_;  // Of others,
  std::set<std::string_view> displaced_;          // and the ids of the jobs that belong there.
};

absl::Status MembersCheck::Compare(const store::SweepRow& sweep, experiments::Expansion& expansion) {
  compared_.insert(sweep.num);
  std::optional<std::vector<experiments::SystemRange>> systems;  // Once somebody asks.
  const auto expected_in = [&](int64_t position) -> std::string {
    if (!systems) {
      const absl::StatusOr<v1::SweepSpec> spec = experiments::ReadSweep(sweep.spec);
      systems = spec.ok() ? experiments::SystemRanges(*spec) : std::vector<experiments::SystemRange>();
    }
    const std::string system = experiments::SystemAt(*systems, position);
    return system.empty() ? "" : fmt::format(", system '{}'", system);
  };
  LackingMembers lacking;
  int64_t behind = 0;
  ASSIGN_OR_RETURN(const int64_t members, ForEachWrongPlace(db_, sweep, expansion, [&](const WrongPlace& place) -> absl::Status {
    if (place.expected == nullptr) {
      ++behind;
      return absl::OkStatus();
    }
    if (!place.there) return lacking.See(db_, *place.expected);
    const MemberAxes expected = AxesOf(place.expected->spec);
    Other other{.sweep = sweep.num, .position = place.position, .job = place.there->job, .id = place.there->id, .expected = place.expected->id.value, .is_proven = place.there->axes != expected};
    names_.try_emplace(sweep.num, SweepInWords(sweep));
    if (others_.size() < kMostOthers) {
      other.line = fmt::format("{} has {} at position {} of {}, where its specification has {}{}", SweepInWords(sweep), JobInWords(other.id, place.there->axes), place.position, expansion.size(),
                               JobInWords(other.expected, expected), expected_in(place.position));
    }
    AddOther(std::move(other));
    return absl::OkStatus();
  }));
  if (behind > 0 || members + sweep.to_come != expansion.size()) {
    lines_.push_back(fmt::format("{} has {} jobs and {} to come, where its specification has {}{}", SweepInWords(sweep), members, sweep.to_come, expansion.size(), lacking.Told()));
  }
  return absl::OkStatus();
}

void MembersCheck::AddOther(Other other) {
  if (others_.size() < kMostOthers) others_.push_back(std::move(other));
  else if (other.is_proven) ++more_proven_;
  else ++in_doubt_[other.sweep];
}

void MembersCheck::NoteUnread(const store::SweepRow& sweep, const absl::Status& why) {
  if (unread_.empty()) {
    const std::string text(why.message());
    why_unread_ = text.substr(0, text.find('\n'));
  }
  unread_.push_back(SweepInWords(sweep));
}

absl::Status MembersCheck::Prove() {
  for (const Other& other : others_) {
    places_.emplace(other.sweep, other.position);
    displaced_.insert(other.expected);
  }
  for (Other& other : others_) {
    ASSIGN_OR_RETURN(const std::optional<int64_t> expected, store::FindJobNum(db_, other.expected));
    if (!expected) other.line += "; that job is not in this store";
    if (other.is_proven) continue;
    ASSIGN_OR_RETURN(other.is_proven, IsProven(other, expected));
    if (!other.is_proven) ++in_doubt_[other.sweep];
  }
  return absl::OkStatus();
}

// Of a member that has the axes of its position, where this one belongs, if the store has that. Made of the specification by another version, it is nothing that this one makes of any.
absl::StatusOr<bool> MembersCheck::IsProven(const Other& other, std::optional<int64_t> expected) {
  if (displaced_.contains(other.id)) return true;  // It belongs where another one is.
  if (!expected) return false;
  // Each job came with a sweep; and this one has it, elsewhere, as where it has changed places with what it begins with.
  ASSIGN_OR_RETURN(const bool is_astray, db_.One<bool>("SELECT NOT EXISTS (SELECT 1 FROM sweep_jobs WHERE job = ?1) OR EXISTS (SELECT 1 FROM sweep_jobs WHERE job = ?1 AND sweep = ?2)", *expected, other.sweep));
  if (is_astray) return true;
  ASSIGN_OR_RETURN(sql::Rows rows, db_.Query("SELECT sweep, position FROM sweep_jobs WHERE job = ? AND role = 'member' ORDER BY sweep", other.job));
  bool is_elsewhere = false;
  while (rows.Next()) {
    const std::pair place(rows.Get<int64_t>(0), rows.Get<int64_t>(1));
    is_elsewhere |= compared_.contains(place.first) && !places_.contains(place);
  }
  RETURN_IF_ERROR(rows.status());
  return is_elsewhere;
}

void MembersCheck::Tell() {
  int64_t count = more_proven_;
  for (std::string& line : lines_) {
    if (++count - more_proven_ <= store::kMaxViolations) report_.Add(std::move(line), store::Concern::kMembers);
  }
  for (Other& other : others_) {
    if (!other.is_proven) continue;
    if (++count - more_proven_ <= store::kMaxViolations) report_.Add(std::move(other.line), store::Concern::kMembers);
  }
  report_.SayHowManyMore(count);
  for (const auto& [sweep, jobs] : in_doubt_) {
    report_.remarks.push_back(fmt::format("{} of {} {} not what this program makes of its specification, and {} from that in settings alone, as where another version has made {}. "
                                          "'longreach job JOB' says what a job was trained with",
                                          jobs == 1 ? "1 job" : fmt::format("{} jobs", jobs), names_.at(sweep), jobs == 1 ? "is" : "are", jobs == 1 ? "differs" : "differ", jobs == 1 ? "it" : "them"));
  }
  if (unread_.empty()) return;
  report_.remarks.push_back(fmt::format("the jobs of {} were not compared with its specification, which this program does not expand as the one that it was submitted to: {}", JoinSome(unread_, 3), why_unread_));
}

}  // namespace

absl::Status CheckMembers(sql::Connection& db, store::CheckReport& report) { return MembersCheck(db, report).Run(); }

}  // namespace longreach::service
