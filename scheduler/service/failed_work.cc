#include "scheduler/service/failed_work.h"

#include <algorithm>

#include <fmt/format.h>

#include "scheduler/service/replies.h"
#include "store/sweeps.h"

namespace longreach::service {

absl::StatusOr<FailedWork> FailedWork::Of(sql::Connection& db, std::string_view recent_failures) {
  FailedWork work;
  if (recent_failures.empty()) {
    work.offers_.emplace_back();
    return work;
  }
  const core::Health health = core::ParseHealth(recent_failures);
  std::vector<core::SweepsOfAttempt> sweeps;
  for (const core::FailedAttempt& failed : health.failed) {
    const std::set<int64_t> jobs(failed.jobs.begin(), failed.jobs.end());
    core::SweepsOfAttempt& of_attempt = sweeps.emplace_back();
    ASSIGN_OR_RETURN(of_attempt.having, store::SweepsWithAll(db, jobs));
    ASSIGN_OR_RETURN(of_attempt.wanting, store::SweepsWantingAll(db, jobs));
  }
  const auto in_a_row = std::ranges::count(health.failed, false, &core::FailedAttempt::before_success);
  work.in_a_row_ = in_a_row >= core::kFailuresToPutAside;
  const core::Verdict verdict = core::VerdictOf(health, sweeps);
  work.standing_ = verdict.standing;
  if (verdict.standing == core::Standing::kAsideForSweeps) RETURN_IF_ERROR(work.Blame(db, health, sweeps, verdict.sweeps));
  if (verdict.standing != core::Standing::kGood) return work;
  if (!health.alone.empty()) work.offers_.push_back({.jobs = {health.alone.begin(), health.alone.end()}});
  work.offers_.emplace_back();
  return work;
}

absl::Status FailedWork::Blame(sql::Connection& db, const core::Health& health, const std::vector<core::SweepsOfAttempt>& of_attempts,
                               const std::set<int64_t>& blamed) {
  // Another sweep may have a part of those jobs: one that was cancelled keeps nobody from it.
  ASSIGN_OR_RETURN(sweeps_, store::LiveElseAll(db, blamed));
  // More seeds of the same are no other work, whatever their sweep is called.
  std::set<int64_t> jobs;
  for (size_t i = 0; i < health.failed.size(); ++i) {
    const bool of_these = std::ranges::any_of(of_attempts[i].wanting, [&blamed](int64_t sweep) { return blamed.contains(sweep); });
    if (of_these) jobs.insert(health.failed[i].jobs.begin(), health.failed[i].jobs.end());
  }
  ASSIGN_OR_RETURN(const std::set<int64_t> keys, store::PackKeysOf(db, jobs));
  const std::set<int64_t> alone(health.alone.begin(), health.alone.end());
  others_ = keys.size() < core::kKindsToBlame;
  if (!alone.empty()) offers_.push_back({.sweeps = sweeps_, .pack_keys = keys, .jobs = alone});
  offers_.push_back({.sweeps = sweeps_, .pack_keys = keys});
  if (others_) offers_.push_back({.pack_keys = keys, .jobs = alone});
  return absl::OkStatus();
}

absl::StatusOr<std::string> FailedWork::Reason(sql::Connection& db, const store::WorkerRow& worker, std::string_view last,
                                               const std::set<int64_t>& jobs) const {
  std::string what = fmt::format("its last {} attempts, of different jobs, failed", core::kFailuresToPutAside);
  std::string others;
  if (standing_ == core::Standing::kAsideForSweeps) {
    ASSIGN_OR_RETURN(std::set<int64_t> of_last, store::SweepsWantingAny(db, jobs));
    std::erase_if(of_last, [this](int64_t sweep) { return !sweeps_.contains(sweep); });
    ASSIGN_OR_RETURN(const store::SweepRow sweep, store::GetSweep(db, of_last.empty() ? *sweeps_.begin() : *of_last.begin()));
    if (!in_a_row_) what = fmt::format("{} attempts of different jobs failed, with none of their sweep succeeding in between", core::kFailuresToPutAside);
    others = fmt::format("they are of sweep '{}', and it still gets jobs of {}; ", sweep.name, others_ ? "other settings and of other sweeps" : "other sweeps");
  }
  ASSIGN_OR_RETURN(const std::string in_command, WorkerInCommand(db, worker));
  return fmt::format("{}{}; {}restart it, or tell it to go on with 'longreach drain --undo {}'", what,
                     last.empty() ? std::string() : fmt::format("; the last: {}", last), others, in_command);
}

}  // namespace longreach::service
