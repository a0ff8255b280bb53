#include "scheduler/service/once_submitted.h"

#include <set>
#include <utility>
#include <vector>

#include "proto/types/canonical.h"
#include "scheduler/service/endings.h"
#include "store/sweeps.h"

namespace longreach::service {

absl::Status OnceSubmitted::CountInto(PlanCounter& counter, const experiments::ExpandedJob& job) {
  if (job.prerequisites.empty()) {
    ASSIGN_OR_RETURN(const std::optional<store::State> state, store::FindJobState(db_, job.id.value));
    counter.Add(job, /*member=*/true, state.value_or(store::State::kQueued));
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(CountMakers(counter, job));
  ASSIGN_OR_RETURN(const std::optional<store::JobRow> row, store::FindJob(db_, job.id.value));
  ASSIGN_OR_RETURN(const store::State state, StateOf(job, row));
  counter.Add(job, /*member=*/true, state);
  return absl::OkStatus();
}

absl::Status OnceSubmitted::CountMakers(PlanCounter& counter, const experiments::ExpandedJob& job) {
  for (const experiments::ExpandedJob& maker : job.prerequisites) {
    if (makers_.contains(maker.id.value)) continue;
    RETURN_IF_ERROR(CountMakers(counter, maker));
    ASSIGN_OR_RETURN(const std::optional<store::JobRow> row, store::FindJob(db_, maker.id.value));
    store::JobInputRow made{.source_id = maker.id.value};
    ASSIGN_OR_RETURN(made.source_state, StateOf(maker, row));
    if (row) {
      made.source = row->num;
      made.source_diverged = row->diverged;
      made.source_failure = row->failure;
    }
    counter.Add(maker, /*member=*/false, made.source_state);
    makers_.emplace(maker.id.value, std::move(made));
  }
  return absl::OkStatus();
}

absl::StatusOr<store::State> OnceSubmitted::StateOf(const experiments::ExpandedJob& job, const std::optional<store::JobRow>& row) const {
  // What is leased has its inputs.
  if (row && (row->state == store::State::kLeased || row->state == store::State::kSucceeded || row->state == store::State::kFailed)) return row->state;
  std::vector<store::JobInputRow> inputs;
  for (const v1::JobInput& input : job.spec.inputs()) {
    const auto maker = makers_.find(input.job());
    if (maker == makers_.end()) return absl::InternalError("a job's input is made by none of its prerequisites");
    inputs.push_back(maker->second);
    inputs.back().name = input.name();
    inputs.back().artifact = input.artifact();
    inputs.back().metric = input.metric();
  }
  ASSIGN_OR_RETURN(const InputsSeen seen, LookAtInputs(db_, job.canonical, inputs));
  return seen.failure.empty() ? store::State::kQueued : store::State::kFailed;
}

absl::StatusOr<FailingJobs> FailingOnceSubmitted(sql::Connection& db, int64_t sweep) {
  FailingJobs failing;
  ASSIGN_OR_RETURN(const bool has_inputs, store::SweepHasInputs(db, sweep));
  if (!has_inputs) return failing;
  ASSIGN_OR_RETURN(const std::vector<int64_t> jobs, store::UnstartedJobsWithInputs(db, sweep));
  std::set<int64_t> failed;
  for (const int64_t num : jobs) {
    ASSIGN_OR_RETURN(const store::JobRow job, store::GetJob(db, num));
    ASSIGN_OR_RETURN(std::vector<store::JobInputRow> inputs, store::InputsOf(db, num));
    for (store::JobInputRow& input : inputs) {
      if (failed.contains(input.source)) input.source_state = store::State::kFailed;
    }
    ASSIGN_OR_RETURN(const InputsSeen seen, LookAtInputs(db, job.spec, inputs));
    if (seen.failure.empty()) continue;
    failed.insert(num);
    ++failing.by_pack_key[PackKeyOf(job.spec)];
    ASSIGN_OR_RETURN(const std::optional<int64_t> position, store::PositionInSweep(db, sweep, num));
    if (position) ++failing.members;
  }
  return failing;
}

}  // namespace longreach::service
