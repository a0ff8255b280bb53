// ExplainJob (declared in query_jobs.h): reads the facts; scheduler/core makes sentences of them.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>

#include <fmt/format.h>

#include "proto/types/job.h"
#include "scheduler/core/explain.h"
#include "scheduler/core/packs.h"
#include "scheduler/core/sweep_life.h"
#include "scheduler/service/failed_work.h"
#include "scheduler/service/input_facts.h"
#include "scheduler/service/job_for_sweep.h"
#include "scheduler/service/leasing.h"
#include "scheduler/service/needs.h"
#include "scheduler/service/query_jobs.h"
#include "scheduler/service/query_workers.h"
#include "scheduler/service/references.h"
#include "scheduler/service/replies.h"
#include "scheduler/service/stalled_sweep.h"
#include "store/apart.h"
#include "store/artifacts.h"
#include "store/attempts.h"
#include "store/given_up.h"
#include "store/reading.h"
#include "store/sweeps.h"
#include "store/workers.h"

namespace longreach::service {
namespace {

// Whether a worker that is put aside gets the job all the same.
absl::StatusOr<bool> StillGets(sql::Connection& db, const store::WorkerRow& worker, int64_t job) {
  ASSIGN_OR_RETURN(const FailedWork failed, FailedWork::Of(db, worker.recent_failures));
  if (failed.standing() != core::Standing::kAsideForSweeps) return false;
  for (const store::Apart& apart : failed.Offers()) {
    ASSIGN_OR_RETURN(const bool is_apart, store::IsApart(db, job, apart));
    if (is_apart) return true;
  }
  return false;
}

absl::StatusOr<std::vector<core::WorkerFact>> WorkerFacts(sql::Connection& db, const core::Needs& needs, int64_t job,
                                                          const LiveBoard::State& live) {
  ASSIGN_OR_RETURN(std::vector<store::WorkerRow> workers, WorkersThere(db, live));
  const AttemptsByWorker attempts = GroupByWorker(live);
  std::vector<core::WorkerFact> facts;
  for (const store::WorkerRow& row : workers) {
    const v1::WorkerInfo info = ToWorkerInfo(row, live, attempts);
    core::WorkerFact& fact = facts.emplace_back(core::WorkerFact{.name = info.name(),
                                                                 .state = StateOf(row, live),
                                                                 .reason = info.reason(),
                                                                 .why_unable = WhyUnable(needs, row),
                                                                 .lacks_data = LacksOnlyData(needs, row),
                                                                 .is_unheard = live.unheard.contains(row.id),
                                                                 .running = info.running_size()});
    if (fact.state != WorkerState::kPutAside) continue;
    ASSIGN_OR_RETURN(const bool gets, StillGets(db, row, job));
    if (gets) fact.state = WorkerState::kActive;
  }
  return facts;
}

// Of a job that is cancelled, and of its sweeps, the newest first: which of them revives it, and how.
absl::Status AddCancellation(sql::Connection& db, const store::ListedJob& listed, std::span<const store::SweepRow> sweeps, core::JobFacts& facts) {
  for (const store::SweepRow& sweep : sweeps) {
    if (sweep.state == SweepState::kCancelled) {
      if (facts.cancelled_with.empty()) facts.cancelled_with = ShortId(sweep.id);
      continue;
    }
    ASSIGN_OR_RETURN(const bool given_up, store::HasGivenUp(db, sweep.num, listed.num));
    if (!given_up) continue;
    ASSIGN_OR_RETURN(const std::optional<int64_t> position, store::PositionInSweep(db, sweep.num, listed.num));
    // One that names it says more than one that goes with others.
    if (!facts.given_up_by.empty() && !position.has_value()) continue;
    facts.given_up_by = ShortId(sweep.id);
    if (!position.has_value()) continue;
    ASSIGN_OR_RETURN(facts.only, OnlyThisJob(sweep, *position, listed));
    return absl::OkStatus();
  }
  return absl::OkStatus();
}

absl::StatusOr<core::JobFacts> FactsOf(sql::Connection& db, const store::JobRow& job, const store::ListedJob& listed,
                                       const LiveBoard::State& live) {
  core::JobFacts facts;
  facts.job = ShortId(job.id);
  facts.diverged = job.diverged;
  facts.diverged_at = job.diverged_at;
  facts.failures = job.failures;
  facts.losses = job.losses;
  facts.failure = job.failure;
  facts.checkpoint_step = job.checkpoint_step;
  facts.steps = job.steps;
  facts.split = job.split_group > 0;
  facts.disk_trouble = live.trouble();
  facts.takes_nothing = !live.store_trouble.empty();

  ASSIGN_OR_RETURN(std::vector<store::SweepRow> sweeps, store::SweepsOfJob(db, job.num));
  std::vector<core::Claim> claims;
  for (const store::SweepRow& sweep : sweeps) {
    ASSIGN_OR_RETURN(const bool given_up, store::HasGivenUp(db, sweep.num, job.num));
    if (given_up) continue;
    claims.push_back({.state = sweep.state, .priority = sweep.priority});
    if (sweep.state == SweepState::kPaused) facts.held_by = ShortId(sweep.id);
  }
  facts.demand = core::DemandOf(claims);
  const auto retried = std::ranges::find_if(sweeps, [](const store::SweepRow& sweep) { return core::CheckRetry(sweep.state).ok(); });
  if (retried != sweeps.end()) facts.sweep = ShortId(retried->id);
  if (job.state == store::State::kCancelled) RETURN_IF_ERROR(AddCancellation(db, listed, sweeps, facts));

  ASSIGN_OR_RETURN(facts.inputs, InputFactsOf(db, job.num));

  WorkerId holder;
  if (job.state == store::State::kLeased && job.attempt.has_value()) {
    ASSIGN_OR_RETURN(std::optional<store::AttemptRow> attempt, store::FindAttempt(db, *job.attempt));
    if (attempt.has_value()) {
      holder.value = attempt->worker;
      facts.worker_name = attempt->worker_name;
      facts.members = attempt->members;
    }
    facts.step = ToJob(listed, live).step();
    const auto running = live.attempts.find(*job.attempt);
    if (running != live.attempts.end()) {
      facts.phase = running->second.phase;
      facts.members = running->second.members;
    }
  }
  ASSIGN_OR_RETURN(facts.state,
                   MakeJobState(store::Word(job.state), Attempt{job.attempt.value_or(0)}, holder, job.failure));
  if (job.state == store::State::kQueued) {
    ASSIGN_OR_RETURN(facts.ahead, store::JobsAhead(db, job.priority, job.num));
    ASSIGN_OR_RETURN(core::Needs needs, NeedsOf(db, job.requirement));
    ASSIGN_OR_RETURN(facts.workers, WorkerFacts(db, needs, job.num, live));
  }
  return facts;
}

// Of its sweeps those that have not got all of their jobs, and do not.
absl::Status AddStalled(sql::Connection& db, int64_t job, const LiveBoard::State& live, v1::ExplainJobResponse& response) {
  if (live.stalled.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::vector<store::SweepRow> sweeps, store::SweepsOfJob(db, job));
  for (const store::SweepRow& sweep : sweeps) {
    if (std::string stalled = StalledSweep(sweep, live); !stalled.empty()) response.add_reasons(std::move(stalled));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<v1::ExplainJobResponse> ExplainJob(sql::Connection& db, const v1::GetJobRequest& request,
                                                  const LiveBoard::State& live) {
  ASSIGN_OR_RETURN(const ResolvedJob resolved, ResolveWholeJob(db, request.job()));
  const auto& [job, listed] = resolved;
  const int64_t num = job.num;
  ASSIGN_OR_RETURN(core::JobFacts facts, FactsOf(db, job, listed, live));

  v1::ExplainJobResponse response;
  *response.mutable_job() = ToJob(listed, live);
  RETURN_IF_ERROR(AddSystems(db, num, *response.mutable_job()));
  for (std::string& reason : core::Explain(facts)) response.add_reasons(std::move(reason));
  RETURN_IF_ERROR(AddStalled(db, num, live, response));
  response.set_stuck(core::IsStuck(facts));
  response.set_lacks_data(core::IsStuckForData(facts));
  response.set_no_worker(core::LacksWorkers(facts));
  ASSIGN_OR_RETURN(std::optional<store::ArtifactRow> log, store::NewestArtifact(db, num, ArtifactKind::kLog));
  const bool prints = job.state == store::State::kLeased && !NeedsNoTrainer({&job, 1});
  if (prints) response.add_reasons(fmt::format("'longreach logs {} --follow' shows what it prints.", ShortId(job.id)));
  if (log.has_value()) {
    // Without a number it is the log of the one that runs.
    response.add_reasons(fmt::format("'longreach logs {}{}' shows what attempt {} wrote.", ShortId(job.id), prints ? fmt::format(" --attempt {}", log->attempt) : "", log->attempt));
  }
  return response;
}

}  // namespace longreach::service
