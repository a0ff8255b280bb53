#include "scheduler/service/leasing.h"

#include <fmt/format.h>

#include "proto/types/words.h"
#include "scheduler/core/job_life.h"
#include "scheduler/core/packs.h"
#include "scheduler/experiments/expansion.h"
#include "scheduler/service/endings.h"
#include "scheduler/service/needs.h"
#include "store/artifacts.h"
#include "store/workers.h"

namespace longreach::service {
namespace {

v1::ArtifactRef RefOf(const store::ArtifactRow& row) {
  v1::ArtifactRef ref;
  ref.set_sha256(row.sha256);
  ref.set_bytes(static_cast<double>(row.bytes));
  ref.set_step(row.step);
  ref.set_member(row.member);
  return ref;
}

absl::StatusOr<v1::LeasedJob> BuildJob(sql::Connection& db, const store::JobRow& job) {
  v1::LeasedJob leased;
  leased.set_id(job.id);
  ASSIGN_OR_RETURN(*leased.mutable_spec(), experiments::ReadJob(job.spec));
  if (job.checkpoint_step > 0) {
    ASSIGN_OR_RETURN(std::vector<store::ArtifactRow> checkpoints, store::CheckpointsOf(db, job.num));
    if (!checkpoints.empty()) *leased.mutable_checkpoint() = RefOf(checkpoints[0]);
    if (checkpoints.size() > 1) *leased.mutable_checkpoint_before() = RefOf(checkpoints[1]);
  }
  ASSIGN_OR_RETURN(std::vector<store::JobInputRow> inputs, store::InputsOf(db, job.num));
  for (const store::JobInputRow& input : inputs) {
    ASSIGN_OR_RETURN(*leased.add_inputs(), ResolveInput(db, input));
  }
  return leased;
}

// Jobs that can be trained as they are; the others fail here and now instead of in the hands of every worker in turn.
absl::StatusOr<std::vector<store::JobRow>> Usable(sql::Transaction& tx, std::vector<store::JobRow> jobs, Effects& effects) {
  std::vector<store::JobRow> usable;
  for (store::JobRow& job : jobs) {
    const absl::Status built = BuildJob(tx, job).status();
    if (built.ok()) {
      usable.push_back(std::move(job));
      continue;
    }
    if (built.code() != absl::StatusCode::kNotFound && built.code() != absl::StatusCode::kInvalidArgument) return built;
    RETURN_IF_ERROR(store::FailUnstartedJob(tx, job.num, std::string_view(built.message().data(), built.message().size())));
    RETURN_IF_ERROR(SettleDependants(tx, job.num, effects));
  }
  return usable;
}

}  // namespace

absl::StatusOr<std::optional<store::LeaseGroup>> Leasing::NextGroup(sql::Connection& db, const v1::Abilities& abilities) {
  ASSIGN_OR_RETURN(std::vector<store::RequirementRow> requirements, store::Requirements(db));
  std::vector<store::LeaseGroup> groups;
  std::vector<core::GroupHead> heads;
  for (const store::RequirementRow& row : requirements) {
    if (empty_.contains(row.num)) continue;
    ASSIGN_OR_RETURN(core::Needs needs, NeedsOf(db, row.requirement));
    if (!core::WhyUnable(needs, abilities).empty()) continue;
    ASSIGN_OR_RETURN(std::optional<store::LeaseGroup> group, store::NextGroup(db, row.num));
    if (!group) {
      empty_.insert(row.num);
      continue;
    }
    heads.push_back({.priority = group->priority, .first = group->first});
    groups.push_back(*std::move(group));
  }
  const std::optional<size_t> next = core::NextInLine(heads);
  if (!next) return std::nullopt;
  return groups[*next];
}

absl::StatusOr<std::optional<v1::Lease>> Leasing::LeaseNext(sql::Transaction& tx, const store::WorkerRow& worker,
                                                            const v1::Abilities& abilities, WallTime now, Effects& effects) {
  while (true) {
    ASSIGN_OR_RETURN(std::optional<store::LeaseGroup> group, NextGroup(tx, abilities));
    if (!group) return std::nullopt;
    ASSIGN_OR_RETURN(std::vector<store::JobRow> ready, store::JobsOfGroup(tx, *group, core::PackLimit(abilities)));
    if (ready.empty()) return absl::InternalError(fmt::format("the group of job {} has no ready job", group->first));
    ASSIGN_OR_RETURN(std::vector<store::JobRow> jobs, Usable(tx, std::move(ready), effects));
    if (jobs.empty()) continue;  // All of them have failed, so the next look finds others.
    std::vector<int64_t> nums;
    for (const store::JobRow& job : jobs) {
      ASSIGN_OR_RETURN(core::Life before, LifeOf(job, worker.id));
      RETURN_IF_ERROR(core::Grant(before, Attempt{}, WorkerId{worker.id}).status());  // Its number is the store's to give.
      nums.push_back(job.num);
    }
    ASSIGN_OR_RETURN(int64_t attempt, store::StartAttempt(tx,
                                                          {.worker = worker.id,
                                                           .incarnation = worker.incarnation,
                                                           .started_at = now,
                                                           .build = worker.build,
                                                           .device = worker.device,
                                                           .threads = worker.threads,
                                                           .start_step = group->checkpoint_step},
                                                          nums));
    ASSIGN_OR_RETURN(v1::Lease lease, BuildLease(tx, attempt));
    effects.started.push_back({.attempt = attempt,
                               .live = {.worker = worker.id,
                                        .worker_name = worker.name,
                                        .task = jobs[0].requirement.task,
                                        .encoding = ToText({jobs[0].requirement.encoding, jobs[0].randomized}),
                                        .members = static_cast<int>(jobs.size()),
                                        .step = group->checkpoint_step,
                                        .steps = jobs[0].steps,
                                        .phase = "starting"}});
    return lease;
  }
}

absl::StatusOr<v1::Lease> BuildLease(sql::Connection& db, int64_t attempt) {
  v1::Lease lease;
  lease.set_attempt(static_cast<uint64_t>(attempt));
  ASSIGN_OR_RETURN(std::vector<store::JobRow> jobs, store::JobsOfAttempt(db, attempt));
  for (const store::JobRow& job : jobs) {
    ASSIGN_OR_RETURN(*lease.add_jobs(), BuildJob(db, job));
  }
  if (jobs.empty() || jobs[0].requirement.data.empty()) return lease;
  ASSIGN_OR_RETURN(std::optional<store::DataSetRow> data_set, store::FindDataSet(db, jobs[0].requirement.data));
  if (!data_set) return absl::InternalError(fmt::format("a lease for the data set '{}', which the store does not know", jobs[0].requirement.data));
  lease.mutable_data()->set_name(data_set->name);
  lease.mutable_data()->set_sha256(data_set->sha256);
  lease.mutable_data()->set_bytes(data_set->bytes);
  return lease;
}

absl::StatusOr<LiveAttempt> LiveAttemptOf(sql::Connection& db, const store::AttemptRow& attempt) {
  ASSIGN_OR_RETURN(std::vector<store::JobRow> jobs, store::JobsOfAttempt(db, attempt.id));
  LiveAttempt live;
  live.worker = attempt.worker;
  live.worker_name = attempt.worker_name;
  live.members = static_cast<int>(jobs.size());
  live.step = attempt.step;
  if (!jobs.empty()) {
    live.task = jobs[0].requirement.task;
    live.encoding = ToText({jobs[0].requirement.encoding, jobs[0].randomized});
    live.steps = jobs[0].steps;
  }
  return live;
}

}  // namespace longreach::service
