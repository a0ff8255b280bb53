#include "scheduler/service/slice.h"

#include <algorithm>
#include <optional>

#include "scheduler/service/endings.h"
#include "scheduler/service/needs.h"

namespace longreach::service {
namespace {

store::NewJob ToNewJob(const experiments::ExpandedJob& job) {
  store::NewJob row;
  row.id = job.id.value;
  row.spec = job.canonical;
  row.requirement.experiment = job.spec.experiment();
  row.requirement.task = job.spec.task();
  row.requirement.task_revision = job.spec.revisions().task();
  row.requirement.encoding = job.spec.encoding();
  row.requirement.encoding_revision = job.spec.revisions().encoding();
  row.requirement.model_revision = job.spec.revisions().model();
  row.requirement.data = JoinDataSets(DataSetNamesOf(job.spec));
  row.randomized = job.spec.randomized();
  row.learning_rate = job.spec.learning_rate();
  row.seed = job.spec.seed();
  row.steps = job.spec.training().steps();
  row.pack_key = job.pack_key;
  for (const v1::JobInput& input : job.spec.inputs()) {
    row.inputs.push_back({.name = input.name(), .source = input.job(), .artifact = input.artifact(), .metric = input.metric()});
  }
  return row;
}

}  // namespace

Slice::Slice(experiments::Expansion& sweep, int64_t first, int64_t most) : first_(first), end_(std::min(first + most, sweep.size())) {
  const auto count = static_cast<size_t>(std::max<int64_t>(end_ - first_, 0));
  jobs_.reserve(count);
  rows_.reserve(count);
  for (int64_t i = first_; i < end_; ++i) Add(sweep.At(i), true);
}

void Slice::Add(experiments::ExpandedJob job, bool member) {
  for (experiments::ExpandedJob& maker : job.prerequisites) Add(std::move(maker), false);
  if (!member && !makers_.insert(job.id.value).second) return;
  rows_.push_back(ToNewJob(job));
  jobs_.push_back({.job = std::move(job), .member = member});
}

absl::StatusOr<bool> Slice::Write(sql::Transaction& tx, const store::SweepRow& sweep, Effects& effects) {
  const bool live = sweep.state == SweepState::kLive;
  ASSIGN_OR_RETURN(store::InsertedJobs inserted, store::InsertJobs(tx, rows_, {.wanted = live, .priority = live ? sweep.priority : 0}));
  std::vector<int64_t> members, prerequisites, with_inputs;
  for (size_t i = 0; i < jobs_.size(); ++i) {
    const int64_t num = inserted.nums[i];
    (jobs_[i].member ? members : prerequisites).push_back(num);
    if (!rows_[i].inputs.empty()) with_inputs.push_back(num);
  }
  RETURN_IF_ERROR(store::AddSweepJobs(tx, sweep.num, members, prerequisites));
  for (const int64_t job : inserted.found) RETURN_IF_ERROR(store::SettleJob(tx, job));
  for (const int64_t job : with_inputs) RETURN_IF_ERROR(SettleInputs(tx, job, effects));
  effects.work = true;
  states_ = std::move(inserted.states);
  for (size_t i = 0; i < jobs_.size(); ++i) {
    if (rows_[i].inputs.empty()) continue;  // Else one may have failed at once.
    ASSIGN_OR_RETURN(const std::optional<store::State> now, store::FindJobState(tx, rows_[i].id));
    states_[i] = now.value_or(states_[i]);
  }
  return !inserted.found.empty();
}

void Slice::CountInto(PlanCounter& counter) const {
  for (size_t i = 0; i < states_.size(); ++i) counter.Add(jobs_[i].job, jobs_[i].member, states_[i]);
}

}  // namespace longreach::service
