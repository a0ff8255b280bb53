// Of the small store in memory (core_store.h): jobs of a sweep that are cancelled or retried alone.
#include <algorithm>
#include <iterator>

#include "scheduler/core/packs.h"
#include "tests/simulation/core_store.h"

namespace longreach::simulation {

// It needs one of those that are gone, or is needed by one of them and by nothing that the sweep goes on with.
bool CoreStore::IsToGo(int sweep, int job, const std::set<int>& gone) const {
  const std::set<int>& given_up = sweeps[static_cast<size_t>(sweep)].given_up;
  const auto is_gone = [&](int other) { return gone.contains(other); };
  if (!IsOpen(job) || given_up.contains(job)) return false;
  if (std::ranges::any_of(Spec(job).sources, is_gone)) return true;
  if (std::ranges::none_of(Spec(job).dependants, is_gone)) return false;
  const std::vector<int>& prerequisites = universe_->sweeps[static_cast<size_t>(sweep)].prerequisites;
  if (std::ranges::find(prerequisites, job) == prerequisites.end()) return false;
  return std::ranges::all_of(Spec(job).dependants, [&](int other) {
    return (Spec(other).sweeps >> sweep & 1) == 0 || given_up.contains(other) || !IsOpen(other);
  });
}

absl::Status CoreStore::CancelUnclaimed(int sweep) {
  for (const int job : universe_->sweeps[static_cast<size_t>(sweep)].order) {
    const core::Demand demand = DemandOf(job);
    const core::Life before = At(job).life;
    if (demand.wanted || demand.held || !IsOpen(job)) continue;
    RETURN_IF_ERROR(Assign(job, core::Cancel(before)));
    At(job).checkpoint = At(job).checkpoint_before = 0;
    At(job).split_group = std::max<int64_t>(At(job).split_group, 0);
    const auto* lease = std::get_if<Leased>(&before.state);
    if (lease == nullptr) continue;
    AttemptRow& attempt = AttemptAt(lease->attempt.value);
    std::ranges::find(attempt.members, job, &Member::job)->dropped = true;
    if (Own(lease->attempt.value).empty()) attempt.outcome = Outcome::kDropped;
  }
  return absl::OkStatus();
}

absl::Status CoreStore::ReviveClaimed(int sweep) {
  for (const int job : universe_->sweeps[static_cast<size_t>(sweep)].order) {
    const core::Demand demand = DemandOf(job);
    if (!std::holds_alternative<Cancelled>(At(job).life.state) || (!demand.wanted && !demand.held)) continue;
    RETURN_IF_ERROR(Assign(job, core::Revive(At(job).life, InputsThere(job))));
  }
  return absl::OkStatus();
}

absl::Status CoreStore::TryAgain(int sweep, int job) {
  sweeps[static_cast<size_t>(sweep)].given_up.erase(job);
  if (!IsOpen(job)) return absl::OkStatus();
  if (std::holds_alternative<Failed>(At(job).life.state)) {
    RETURN_IF_ERROR(Assign(job, core::Retry(At(job).life, InputsThere(job))));
    // With those that its checkpoint was made with, if with any.
    At(job).split_group = At(job).checkpoint > 0 ? core::GroupOfBegun(Attempt{At(job).checkpoint_by}, 0) : 0;
  }
  for (const int source : Spec(job).sources) RETURN_IF_ERROR(TryAgain(sweep, source));
  return absl::OkStatus();
}

absl::Status CoreStore::SteerJobs(int sweep, bool cancels, const Some& some) {
  SweepRow& row = sweeps[static_cast<size_t>(sweep)];
  if (!row.state) return absl::NotFoundError("no such sweep");
  RETURN_IF_ERROR(cancels ? core::CheckCancelJobs(*row.state, 0) : core::CheckRetry(*row.state));
  std::vector<int> open;
  for (const int job : universe_->sweeps[static_cast<size_t>(sweep)].members) {
    const bool failed = std::holds_alternative<Failed>(At(job).life.state) && !row.given_up.contains(job);
    if (some.Has(Spec(job)) && IsOpen(job) && !(failed && cancels)) open.push_back(job);
  }
  if (open.empty()) return absl::FailedPreconditionError("all have come to their end");
  if (!cancels) {
    for (const int job : open) RETURN_IF_ERROR(TryAgain(sweep, job));
    return ReviveClaimed(sweep);
  }
  std::set<int> gone;
  std::ranges::set_difference(std::set<int>(open.begin(), open.end()), row.given_up, std::inserter(gone, gone.end()));
  const std::vector<int>& order = universe_->sweeps[static_cast<size_t>(sweep)].order;
  const auto to_go = [&](int job) { return IsToGo(sweep, job, gone); };
  row.given_up.insert(gone.begin(), gone.end());
  for (auto job = std::ranges::find_if(order, to_go); job != order.end(); job = std::ranges::find_if(order, to_go)) {
    gone.insert(*job);
    row.given_up.insert(*job);
  }
  return CancelUnclaimed(sweep);
}

}  // namespace longreach::simulation
