#include "scheduler/service/endings.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "proto/base/utf8.h"
#include "proto/catalog/catalog.h"
#include "proto/types/input_failure.h"
#include "proto/types/refusal.h"
#include "proto/types/words.h"
#include "scheduler/core/health.h"
#include "scheduler/core/job_life.h"
#include "scheduler/core/packs.h"
#include "scheduler/experiments/expansion.h"
#include "scheduler/experiments/registry.h"
#include "scheduler/service/failed_work.h"
#include "scheduler/service/replies.h"
#include "store/artifacts.h"
#include "store/given_up.h"
#include "store/measurements.h"
#include "store/workers.h"

namespace longreach::service {
namespace {

// Bytes of a slice's name: every answer with a measurement has it.
constexpr size_t kMaxSlice = 256;

// What a worker says about a failure becomes one line of bounded size.
std::string OneLine(std::string_view text) {
  constexpr size_t kMost = 1000;
  std::string line(text.substr(0, kMost));
  // Not in the middle of a character.
  while (!line.empty() && line.size() < text.size() && IsWithinCharacter(text[line.size()])) line.pop_back();
  std::ranges::replace_if(line, [](unsigned char c) { return c < ' '; }, ' ');
  return line;
}

// Whether a job is one of `longreach attention`: it trains nothing, keeps the matrices of every length that it reads, and has one
// sequence at each, so that nobody takes its score for a result. Its figure may well be one of weights that were about to diverge.
bool OnlyLooks(std::string_view job) {
  const absl::StatusOr<v1::JobSpec> spec = experiments::ReadJob(job);
  if (!spec.ok() || spec->training().steps() > 0) return false;
  const v1::Evaluation& evaluation = spec->evaluation();
  return evaluation.examples() == 1 && !evaluation.lengths().empty() &&
         std::ranges::equal(evaluation.lengths(), evaluation.attention_lengths());
}

// Members of a running attempt that it still has to answer for.
absl::StatusOr<std::vector<store::JobRow>> OwnJobs(sql::Connection& db, int64_t attempt) {
  ASSIGN_OR_RETURN(std::vector<store::JobRow> jobs, store::JobsOfAttempt(db, attempt));
  std::erase_if(jobs, [attempt](const store::JobRow& job) { return job.state != store::State::kLeased || job.attempt != attempt; });
  return jobs;
}

// A broken sweep is to be noticed at once: of one that had no failed job until now it is news. Its prerequisites are not its jobs; what needs them fails with them.
absl::Status NoteFailedJob(sql::Transaction& tx, const store::JobRow& job, std::string_view reason, Effects& effects) {
  ASSIGN_OR_RETURN(const std::vector<int64_t> sweeps, store::SweepsWithFirstFailure(tx, job.num));
  for (const int64_t num : sweeps) {
    ASSIGN_OR_RETURN(const store::SweepRow sweep, store::GetSweep(tx, num));
    effects.news.push_back(SweepHasFailedJob(sweep, job, reason));
  }
  return absl::OkStatus();
}

// Writes down that a leased job became what `after` says: queued again or failed.
absl::Status WriteRelease(sql::Transaction& tx, const store::JobRow& job, int64_t attempt, const core::Life& after, int64_t split_group,
                          Effects& effects) {
  const store::Requeue row{.failures = after.failures, .losses = after.losses, .failure = after.reason, .split_group = split_group};
  if (std::holds_alternative<Failed>(after.state)) {
    RETURN_IF_ERROR(store::FailJob(tx, job.num, attempt, row));
    RETURN_IF_ERROR(NoteFailedJob(tx, job, after.reason, effects));
    return SettleDependants(tx, job.num, effects);
  }
  effects.work = true;
  return store::RequeueJob(tx, job.num, attempt, row);
}

// Of an attempt that ended without a result of the job, and is not split. One that made no checkpoint, as it may not even have begun, leaves its jobs with the pack that
// made the one they have: that may have been a larger one, and go on as such elsewhere.
absl::StatusOr<int64_t> GroupAfter(sql::Connection& db, const store::JobRow& job, int64_t attempt) {
  if (job.checkpoint_step == 0 && job.steps > 0) return job.split_group;  // Of a job that is only tested every checkpoint is at step 0.
  ASSIGN_OR_RETURN(const std::vector<store::ArtifactRow> checkpoints, store::CheckpointsOf(db, job.num));
  const bool made_the_newest = !checkpoints.empty() && checkpoints.front().attempt == attempt;
  return made_the_newest ? core::GroupOfBegun(Attempt{attempt}, job.split_group) : job.split_group;
}

absl::Status End(sql::Transaction& tx, const store::AttemptRow& attempt, Outcome outcome, std::string_view detail, std::string_view engine,
                 WallTime now, Effects& effects) {
  RETURN_IF_ERROR(store::EndAttempt(tx, attempt.id, outcome, OneLine(detail), OneLine(engine), now));
  effects.ended.push_back(attempt.id);
  effects.workers.insert(attempt.worker);
  return absl::OkStatus();
}

// A mean of shares may be rounded up.
bool IsShare(double value) { return value >= 0 && value <= 1 + 1e-9; }

// Why a result cannot be accepted; empty: it can. The store looks for values that are not finite or there twice.
std::string WhyRefused(const v1::MemberResult& result, const store::JobRow& job) {
  if (result.diverged()) {
    const bool is_own = result.diverged_at() >= 0 && result.diverged_at() <= job.steps;
    return is_own ? "" : fmt::format("diverged_at is {}, and the job has {} steps", result.diverged_at(), job.steps);
  }
  const experiments::Kind* kind = experiments::FindKind(job.requirement.experiment);
  bool score = false;
  for (const v1::Measurement& measurement : result.measurements()) {
    const catalog::Metric* metric = catalog::FindMetric(measurement.metric());
    if (metric == nullptr) return fmt::format("unknown metric '{}'", OneLine(measurement.metric()));
    if (metric->unit == "%" && std::isfinite(measurement.value()) && !IsShare(measurement.value())) {
      return fmt::format("{} at length {} is {}, and a share is between 0 and 1", measurement.metric(), measurement.length(), measurement.value());
    }
    if (measurement.metric() == kTrainingLoss) return fmt::format("{} as a measurement, which is of the points of its loss curve", kTrainingLoss);
    if (measurement.slice().size() > kMaxSlice) return fmt::format("{} in a slice whose name has {} bytes", measurement.metric(), measurement.slice().size());
    if (measurement.length() < 0) return fmt::format("{} at the negative length {}", measurement.metric(), measurement.length());
    score |= kind != nullptr && measurement.metric() == kind->MainMetric() && measurement.length() == 0 && measurement.slice().empty();
  }
  if (!score) return fmt::format("no {} over all lengths", kind != nullptr ? kind->MainMetric() : "score");
  return "";
}

// Accepts a result, or returns INVALID_ARGUMENT and leaves nothing of it behind.
absl::Status Accept(sql::Transaction& tx, const store::JobRow& job, int64_t attempt, const v1::MemberResult& result) {
  if (const std::string why = WhyRefused(result, job); !why.empty()) return absl::InvalidArgumentError(why);
  store::JobResult row;
  row.diverged = result.diverged();
  row.diverged_at = result.diverged_at();
  for (const v1::Measurement& m : result.measurements()) {
    row.measurements.push_back({.metric = m.metric(), .length = m.length(), .slice = m.slice(), .value = m.value()});
  }
  // A single measurement cannot be there twice, so either all is written or nothing.
  if (row.measurements.size() <= 1) return store::CompleteJob(tx, job.num, attempt, row);
  ASSIGN_OR_RETURN(sql::Savepoint savepoint, sql::Savepoint::Begin(tx));
  RETURN_IF_ERROR(store::CompleteJob(tx, job.num, attempt, row));
  return savepoint.Release();
}

std::string Message(const absl::Status& status) { return std::string(status.message().data(), status.message().size()); }

absl::Status NoteFailure(sql::Transaction& tx, const store::AttemptRow& attempt, const std::vector<store::JobRow>& jobs,
                         const std::string& detail, Effects& effects) {
  ASSIGN_OR_RETURN(std::optional<store::WorkerRow> worker, store::FindWorker(tx, attempt.worker));
  if (!worker) return absl::OkStatus();
  std::vector<int64_t> nums;
  for (const store::JobRow& job : jobs) nums.push_back(job.num);
  const std::string record = core::ToText(core::AfterFailure(core::ParseHealth(worker->recent_failures), nums));
  RETURN_IF_ERROR(store::SetWorkerFailures(tx, attempt.worker, record));
  ASSIGN_OR_RETURN(const FailedWork failed, FailedWork::Of(tx, record));
  // One that is aside already may be so for another reason now.
  if (failed.standing() == core::Standing::kGood || worker->state == WorkerState::kDraining) return absl::OkStatus();
  effects.workers.insert(attempt.worker);
  ASSIGN_OR_RETURN(const std::string reason, failed.Reason(tx, *worker, detail, {nums.begin(), nums.end()}));
  if (worker->state != WorkerState::kPutAside) effects.news.push_back(WorkerPutAside(*worker, reason));
  return store::SetWorkerState(tx, attempt.worker, WorkerState::kPutAside, reason);
}

// Of the jobs that failed on a worker those that are of a sweep which one of `succeeded` is of: a live one, if it is of any. Of a sweep that has given it up a job is
// only where all have.
absl::StatusOr<std::set<int64_t>> Near(sql::Connection& db, const core::Health& health, const std::set<int64_t>& succeeded) {
  ASSIGN_OR_RETURN(const std::set<int64_t> all, store::SweepsWantingAny(db, succeeded));
  ASSIGN_OR_RETURN(const std::set<int64_t> sweeps, store::LiveElseAll(db, all));
  std::set<int64_t> near;
  for (const core::FailedAttempt& failed : health.failed) {
    for (const int64_t job : failed.jobs) {
      ASSIGN_OR_RETURN(const std::set<int64_t> of_job, store::SweepsWantingAny(db, {job}));
      if (std::ranges::any_of(of_job, [&sweeps](int64_t sweep) { return sweeps.contains(sweep); })) near.insert(job);
    }
  }
  return near;
}

// Nearly always nothing has failed there, and nothing is written. Whether it is put aside follows when its call is decided.
absl::Status NoteSuccess(sql::Transaction& tx, const store::AttemptRow& attempt, const std::set<int64_t>& succeeded) {
  ASSIGN_OR_RETURN(const std::string before, store::FailuresOfWorker(tx, attempt.worker));
  if (before.empty()) return absl::OkStatus();
  const core::Health health = core::ParseHealth(before);
  ASSIGN_OR_RETURN(const std::set<int64_t> near, Near(tx, health, succeeded));
  return store::SetWorkerFailures(tx, attempt.worker, core::ToText(core::AfterSuccess(health, near)));
}

}  // namespace

absl::StatusOr<core::Life> LifeOf(const store::JobRow& row, const std::string& worker) {
  absl::StatusOr<JobState> state =
      MakeJobState(store::Word(row.state), Attempt{row.attempt.value_or(0)}, WorkerId{worker}, row.failure);
  if (!state.ok()) return std::move(state).status();
  return core::Life{.state = *std::move(state), .failures = row.failures, .losses = row.losses, .reason = row.failure};
}

absl::Status EndSucceeded(sql::Transaction& tx, const store::AttemptRow& attempt, const v1::AttemptReport& report, WallTime now,
                          Effects& effects) {
  std::map<std::string_view, const v1::MemberResult*> results;
  std::set<std::string_view> twice;
  for (const v1::MemberResult& result : report.results()) {
    if (!results.emplace(result.job(), &result).second) twice.insert(result.job());
  }
  ASSIGN_OR_RETURN(std::vector<store::JobRow> jobs, OwnJobs(tx, attempt.id));
  std::string refusal;
  std::set<int64_t> accepted;
  for (const store::JobRow& job : jobs) {
    ASSIGN_OR_RETURN(core::Life before, LifeOf(job, attempt.worker));
    RETURN_IF_ERROR(core::Succeed(before, Attempt{attempt.id}).status());
    const auto result = results.find(job.id);
    const absl::Status status = result == results.end()     ? absl::InvalidArgumentError("the report of its attempt has none")
                                : twice.contains(job.id) ? absl::InvalidArgumentError("the report of its attempt has two")
                                                         : Accept(tx, job, attempt.id, *result->second);
    if (status.ok()) {
      accepted.insert(job.num);
      RETURN_IF_ERROR(SettleDependants(tx, job.num, effects));
      continue;
    }
    if (status.code() != absl::StatusCode::kInvalidArgument) return status;
    refusal = OneLine(fmt::format("its result was refused: {}", Message(status)));
    // Whatever the pack, this result is the job's own.
    ASSIGN_OR_RETURN(core::Life after, core::Fail(before, Attempt{attempt.id}, true, refusal));
    ASSIGN_OR_RETURN(const int64_t group, GroupAfter(tx, job, attempt.id));
    RETURN_IF_ERROR(WriteRelease(tx, job, attempt.id, after, group, effects));
  }
  if (!accepted.empty()) RETURN_IF_ERROR(NoteSuccess(tx, attempt, accepted));
  // A worker that computes nonsense would else use up the tries of all jobs.
  else if (!jobs.empty()) RETURN_IF_ERROR(NoteFailure(tx, attempt, jobs, refusal, effects));
  const Outcome outcome = !accepted.empty() || jobs.empty() ? Outcome::kSucceeded : Outcome::kFailed;
  return End(tx, attempt, outcome, refusal, report.engine(), now, effects);
}

absl::Status EndFailed(sql::Transaction& tx, const store::AttemptRow& attempt, const v1::AttemptReport& report, WallTime now,
                       Effects& effects) {
  ASSIGN_OR_RETURN(std::vector<store::JobRow> jobs, OwnJobs(tx, attempt.id));
  const std::string detail = report.detail().empty() ? "the worker gave no reason" : OneLine(report.detail());
  // All of a pack are: they differ in learning rate and seed alone.
  const bool everywhere = detail.starts_with(kRefusedEverywhere);
  const bool alone = attempt.members == 1;
  const std::vector<int64_t> groups = core::SplitGroups(Attempt{attempt.id}, jobs.size());
  for (size_t i = 0; i < jobs.size(); ++i) {
    ASSIGN_OR_RETURN(core::Life before, LifeOf(jobs[i], attempt.worker));
    ASSIGN_OR_RETURN(core::Life after, everywhere ? core::Refuse(before, Attempt{attempt.id}, detail) : core::Fail(before, Attempt{attempt.id}, alone, detail));
    int64_t group = groups[i];
    if (alone || everywhere) {
      ASSIGN_OR_RETURN(group, GroupAfter(tx, jobs[i], attempt.id));
    }
    RETURN_IF_ERROR(WriteRelease(tx, jobs[i], attempt.id, after, group, effects));
  }
  if (!everywhere) RETURN_IF_ERROR(NoteFailure(tx, attempt, jobs, detail, effects));
  return End(tx, attempt, Outcome::kFailed, detail, report.engine(), now, effects);
}

absl::Status EndGivenBack(sql::Transaction& tx, const store::AttemptRow& attempt, std::string_view detail, std::string_view engine,
                          WallTime now, Effects& effects) {
  ASSIGN_OR_RETURN(std::vector<store::JobRow> jobs, OwnJobs(tx, attempt.id));
  for (const store::JobRow& job : jobs) {
    ASSIGN_OR_RETURN(core::Life before, LifeOf(job, attempt.worker));
    ASSIGN_OR_RETURN(core::Life after, core::GiveBack(before, Attempt{attempt.id}));
    ASSIGN_OR_RETURN(const int64_t group, GroupAfter(tx, job, attempt.id));
    RETURN_IF_ERROR(WriteRelease(tx, job, attempt.id, after, group, effects));
  }
  return End(tx, attempt, Outcome::kGivenBack, detail, engine, now, effects);
}

absl::Status EndLost(sql::Transaction& tx, const store::AttemptRow& attempt, const std::string& reason, WallTime now, Effects& effects) {
  ASSIGN_OR_RETURN(std::vector<store::JobRow> jobs, OwnJobs(tx, attempt.id));
  for (const store::JobRow& job : jobs) {
    ASSIGN_OR_RETURN(core::Life before, LifeOf(job, attempt.worker));
    ASSIGN_OR_RETURN(core::Life after, core::Lose(before, Attempt{attempt.id}, reason));
    ASSIGN_OR_RETURN(const int64_t group, GroupAfter(tx, job, attempt.id));
    RETURN_IF_ERROR(WriteRelease(tx, job, attempt.id, after, group, effects));
  }
  return End(tx, attempt, Outcome::kLost, reason, "", now, effects);
}

absl::Status DropMembers(sql::Transaction& tx, std::span<const store::DroppedJob> dropped, WallTime now, Effects& effects) {
  std::set<int64_t> attempts;
  for (const store::DroppedJob& job : dropped) {
    RETURN_IF_ERROR(store::DropMember(tx, job.attempt, job.job));
    attempts.insert(job.attempt);
  }
  for (const int64_t id : attempts) {
    ASSIGN_OR_RETURN(std::optional<store::AttemptRow> attempt, store::FindAttempt(tx, id));
    if (!attempt) return absl::InternalError(fmt::format("there is no attempt {}", id));
    effects.workers.insert(attempt->worker);
    ASSIGN_OR_RETURN(std::vector<store::JobRow> left, OwnJobs(tx, id));
    if (attempt->outcome) {
      effects.ended.push_back(id);
      continue;
    }
    effects.members[id] = static_cast<int>(left.size());
    if (!left.empty()) continue;
    RETURN_IF_ERROR(End(tx, *attempt, Outcome::kDropped, "nobody wanted any of its jobs any more", "", now, effects));
  }
  return absl::OkStatus();
}

absl::Status WritePoints(sql::Transaction& tx, int64_t attempt,
                         const google::protobuf::RepeatedPtrField<v1::ProgressPoint>& points, WallTime now) {
  if (points.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(std::vector<store::JobRow> jobs, OwnJobs(tx, attempt));
  std::map<std::string_view, const store::JobRow*> by_id;
  for (const store::JobRow& job : jobs) by_id.emplace(job.id, &job);
  std::map<int64_t, std::vector<store::ProgressRow>> rows;
  for (const v1::ProgressPoint& point : points) {
    const auto job = by_id.find(point.job());
    if (job == by_id.end() || point.step() < 0 || point.step() > job->second->steps) continue;
    rows[job->second->num].push_back({.step = point.step(), .loss = point.loss(), .at = now});
  }
  for (const auto& [job, of_job] : rows) RETURN_IF_ERROR(store::AddProgress(tx, job, of_job));
  return absl::OkStatus();
}

absl::StatusOr<v1::ResolvedInput> ResolveInput(sql::Connection& db, const store::JobInputRow& input, std::string_view job) {
  v1::ResolvedInput resolved;
  resolved.set_name(input.name);
  const std::string_view source = ShortId(input.source_id);
  if (!input.metric.empty()) {
    ASSIGN_OR_RETURN(std::optional<double> value, store::MeasuredValue(db, input.source, input.metric, 0, ""));
    if (!value) {
      return absl::NotFoundError(fmt::format("{}: {} (job {} {} {})", kInputFailed, input.name, source,
                                             input.source_diverged ? "diverged and has no" : "has no", input.metric));
    }
    resolved.set_metric(*value);
    return resolved;
  }
  // Weights from before it diverged would make a result that looks like any other.
  if (input.source_diverged && !OnlyLooks(job)) {
    return absl::NotFoundError(fmt::format("{}: {} (job {} diverged)", kInputFailed, input.name, source));
  }
  ASSIGN_OR_RETURN(std::optional<store::ArtifactRow> artifact, store::ArtifactOfResult(db, input.source, input.artifact));
  if (!artifact) return absl::NotFoundError(fmt::format("{}: {} (job {} handed in no {})", kInputFailed, input.name, source, input.artifact));
  v1::ArtifactRef& ref = *resolved.mutable_artifact();
  ref.set_sha256(artifact->sha256);
  ref.set_bytes(static_cast<double>(artifact->bytes));
  ref.set_step(artifact->step);
  ref.set_member(artifact->member);
  return resolved;
}

absl::Status FailUnstarted(sql::Transaction& tx, const store::JobRow& job, std::string_view reason, Effects& effects) {
  RETURN_IF_ERROR(store::FailUnstartedJob(tx, job.num, reason));
  effects.unstarted_failed = true;
  RETURN_IF_ERROR(NoteFailedJob(tx, job, reason, effects));
  return SettleDependants(tx, job.num, effects);
}

absl::StatusOr<InputsSeen> LookAtInputs(sql::Connection& db, std::string_view spec, std::span<const store::JobInputRow> inputs) {
  InputsSeen seen;
  // One that no retry brings is the reason, whatever the others lack.
  const auto fail = [&seen](const std::string& why) {
    if (!InputHasDiverged(seen.failure)) seen.failure = why;
  };
  for (const store::JobInputRow& input : inputs) {
    if (input.source_state == store::State::kFailed) {
      fail(fmt::format("{}: {} (job {}{})", kInputFailed, input.name, ShortId(input.source_id),
                       InputHasDiverged(input.source_failure) ? kWhoseInputDiverged : ""));
    } else if (input.source_state == store::State::kSucceeded) {
      const absl::StatusOr<v1::ResolvedInput> value = ResolveInput(db, input, spec);
      if (value.status().code() == absl::StatusCode::kNotFound) fail(std::string(Message(value.status())));
      else RETURN_IF_ERROR(value.status());
    } else {
      seen.all_there = false;
    }
  }
  return seen;
}

absl::Status SettleInputs(sql::Transaction& tx, int64_t job, Effects& effects) {
  ASSIGN_OR_RETURN(store::JobRow row, store::GetJob(tx, job));
  if (row.state != store::State::kWaiting && row.state != store::State::kQueued) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::vector<store::JobInputRow> inputs, store::InputsOf(tx, job));
  ASSIGN_OR_RETURN(const InputsSeen seen, LookAtInputs(tx, row.spec, inputs));
  ASSIGN_OR_RETURN(core::Life before, LifeOf(row, ""));
  if (!seen.failure.empty()) {
    RETURN_IF_ERROR(core::FailInput(before, seen.failure).status());
    return FailUnstarted(tx, row, seen.failure, effects);
  }
  if (!seen.all_there || row.state != store::State::kWaiting) return absl::OkStatus();
  RETURN_IF_ERROR(core::MakeReady(before).status());
  effects.work = true;
  return store::ReleaseJob(tx, job);
}

absl::Status SettleDependants(sql::Transaction& tx, int64_t source, Effects& effects) {
  ASSIGN_OR_RETURN(const std::vector<int64_t> dependants, store::DependantsOf(tx, source));
  for (const int64_t job : dependants) RETURN_IF_ERROR(SettleInputs(tx, job, effects));
  return absl::OkStatus();
}

}  // namespace longreach::service
