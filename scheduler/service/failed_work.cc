#include "scheduler/service/failed_work.h"

#include <algorithm>

namespace longreach::service {

absl::StatusOr<FailedWork> FailedWork::Of(sql::Connection& db, std::string_view recent_failures) {
  FailedWork work;
  if (recent_failures.empty()) {
    work.offers_.emplace_back();
    return work;
  }
  const core::Health health = core::ParseHealth(recent_failures);
  std::vector<std::set<int64_t>> sweeps_of_all;
  for (const core::FailedAttempt& failed : health.failed) {
    ASSIGN_OR_RETURN(sweeps_of_all.emplace_back(), store::SweepsWithAll(db, {failed.jobs.begin(), failed.jobs.end()}));
  }
  const core::Verdict verdict = core::VerdictOf(health, sweeps_of_all);
  work.standing_ = verdict.standing;
  if (verdict.standing == core::Standing::kGood) {
    if (const std::set<int64_t> alone = core::FailedAlone(health); !alone.empty()) work.offers_.push_back({.jobs = alone});
    work.offers_.emplace_back();
  }
  if (verdict.standing != core::Standing::kAsideForSweeps) return work;
  // Another sweep may have a part of those jobs: one that was cancelled keeps nobody from it.
  ASSIGN_OR_RETURN(work.sweeps_, store::LiveOf(db, verdict.sweeps));
  if (work.sweeps_.empty()) work.sweeps_ = verdict.sweeps;
  // More seeds of the same are no other work, whatever their sweep is called.
  std::set<int64_t> jobs;
  for (size_t i = 0; i < health.failed.size(); ++i) {
    const bool of_these = std::ranges::any_of(sweeps_of_all[i], [&verdict](int64_t sweep) { return verdict.sweeps.contains(sweep); });
    if (of_these) jobs.insert(health.failed[i].jobs.begin(), health.failed[i].jobs.end());
  }
  store::Apart apart{.sweeps = work.sweeps_};
  ASSIGN_OR_RETURN(apart.pack_keys, store::PackKeysOf(db, jobs));
  work.offers_.push_back(std::move(apart));
  return work;
}

}  // namespace longreach::service
