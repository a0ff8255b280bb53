#include "scheduler/service/replies.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "proto/base/names.h"
#include "proto/types/canonical.h"
#include "proto/types/job.h"
#include "proto/types/time.h"
#include "scheduler/experiments/expansion.h"
#include "scheduler/experiments/registry.h"

namespace longreach::service {
namespace {

// What is wrong with a stored specification is no mistake of whoever asks.
absl::Status Unreadable(std::string_view what, const absl::Status& status) {
  return absl::DataLossError(fmt::format("{} in the store cannot be read: {}; run 'longreach store check'", what,
                                         std::string(status.message())));
}

absl::StatusOr<std::string> MainMetricOf(std::string_view what, std::string_view experiment) {
  const experiments::Kind* kind = experiments::FindKind(experiment);
  if (kind == nullptr) {
    return Unreadable(what,
                      absl::InvalidArgumentError(fmt::format("its experiment kind '{}' is not known here", experiment)));
  }
  return std::string(kind->MainMetric());
}

int StepOf(const store::ListedJob& row, const LiveBoard::State& live) {
  if (row.state == store::State::kSucceeded) return row.diverged ? row.diverged_at : row.steps;
  if (row.state != store::State::kLeased || !row.attempt.has_value()) return row.checkpoint_step;
  const auto running = live.attempts.find(*row.attempt);
  const int live_step = running == live.attempts.end() ? 0 : running->second.step;
  return std::max({row.checkpoint_step, row.attempt_step, live_step});
}

}  // namespace

absl::StatusOr<v1::SweepSpec> SpecOf(const store::SweepRow& row) {
  absl::StatusOr<v1::SweepSpec> spec = experiments::ReadSweep(row.spec);
  if (!spec.ok()) return Unreadable(fmt::format("sweep {}", ShortId(row.id)), spec.status());
  return spec;
}

v1::Sweep ToSweep(const store::SweepRow& row) {
  v1::Sweep sweep;
  sweep.set_id(row.id);
  sweep.set_name(row.name);
  sweep.set_state(std::string(Word(row.state)));
  sweep.set_priority(row.priority);
  *sweep.mutable_submitted_at() = ToTimestamp(row.submitted_at);
  sweep.set_jobs(row.counts.jobs());
  v1::JobCounts& counts = *sweep.mutable_counts();
  counts.set_waiting(row.counts.waiting);
  counts.set_queued(row.counts.queued);
  counts.set_leased(row.counts.leased);
  counts.set_succeeded(row.counts.succeeded);
  counts.set_failed(row.counts.failed);
  counts.set_cancelled(row.counts.cancelled);
  counts.set_diverged(row.counts.diverged);
  if (row.expected) {
    sweep.mutable_expected()->set_seconds(row.expected->seconds);
    *sweep.mutable_expected()->mutable_made_at() = ToTimestamp(row.expected->made_at);
  }
  return sweep;
}

v1::Job ToJob(const store::ListedJob& row, const LiveBoard::State& live) {
  v1::Job job;
  job.set_id(row.id);
  job.set_task(row.task);
  job.set_encoding(ToText(EncodingName{row.encoding, row.randomized}));
  job.set_learning_rate(row.learning_rate);
  job.set_seed(row.seed);
  job.set_state(std::string(store::Word(row.state)));
  job.set_diverged(row.diverged);
  job.set_failures(row.failures);
  job.set_losses(row.losses);
  job.set_failure(row.failure);
  if (row.score.has_value()) job.set_score(*row.score);
  job.set_step(StepOf(row, live));
  job.set_steps(row.steps);
  return job;
}

v1::Measurement ToMeasurement(const store::Measurement& row) {
  v1::Measurement measurement;
  measurement.set_metric(row.metric);
  measurement.set_length(row.length);
  measurement.set_slice(row.slice);
  measurement.set_value(row.value);
  return measurement;
}

v1::AttemptInfo ToAttemptInfo(const store::AttemptRow& row, store::State job_state, std::optional<int64_t> job_attempt, const LiveBoard::State& live) {
  v1::AttemptInfo attempt;
  attempt.set_attempt(static_cast<uint32_t>(row.id));
  attempt.set_worker(row.worker);
  attempt.set_worker_name(row.worker_name);
  *attempt.mutable_started_at() = ToTimestamp(row.started_at);
  if (row.ended_at.has_value()) *attempt.mutable_ended_at() = ToTimestamp(*row.ended_at);
  if (row.outcome.has_value()) {
    // One that succeeded may have done so for other members alone, or in another store that this one merged.
    const bool is_its_result = job_state == store::State::kSucceeded && job_attempt == row.id;
    attempt.set_outcome(std::string(Word(*row.outcome == Outcome::kSucceeded && !is_its_result ? Outcome::kDropped : *row.outcome)));
  }
  attempt.set_detail(row.detail);
  attempt.set_build(row.build);
  attempt.set_device(row.device);
  attempt.set_device_id(row.device_id);
  attempt.set_engine(row.engine);
  attempt.set_threads(row.threads);
  attempt.set_members(row.members);
  if (row.from_attempt.has_value()) {
    attempt.mutable_went_on_from()->set_attempt(static_cast<uint32_t>(*row.from_attempt));
    attempt.mutable_went_on_from()->set_step(row.start_step);
  }
  const auto running = live.attempts.find(row.id);
  if (!row.outcome.has_value() && running != live.attempts.end() && running->second.phase.has_value()) attempt.set_phase(std::string(Word(*running->second.phase)));
  return attempt;
}

v1::ArtifactInfo ToArtifactInfo(const store::ArtifactRow& row) {
  v1::ArtifactInfo artifact;
  artifact.set_kind(std::string(Word(row.kind)));
  artifact.set_step(row.step);
  artifact.set_member(row.member);
  artifact.set_sha256(row.sha256);
  artifact.set_bytes(static_cast<double>(row.bytes));
  *artifact.mutable_created_at() = ToTimestamp(row.created_at);
  return artifact;
}

v1::RunningAttempt ToRunningAttempt(int64_t attempt, const LiveAttempt& live) {
  v1::RunningAttempt running;
  running.set_attempt(static_cast<uint32_t>(attempt));
  running.set_worker_name(live.worker_name);
  running.set_task(live.task);
  running.set_encoding(live.encoding);
  running.set_members(live.members);
  running.set_step(live.step);
  running.set_steps(live.steps);
  if (live.phase.has_value()) running.set_phase(std::string(Word(*live.phase)));
  running.set_steps_per_second(live.steps_per_second);
  return running;
}

absl::StatusOr<std::string> WorkerInCommand(sql::Connection& db, const store::WorkerRow& row) {
  const bool is_word = IsOfNameCharacters(row.name) && row.name.front() != '-';
  ASSIGN_OR_RETURN(const bool is_shared, store::IsSharedName(db, row.name));
  if (is_word && !is_shared) return row.name;
  std::string begin(ShortId(row.id));
  const absl::StatusOr<store::WorkerRow> found = store::ResolveWorker(db, begin);
  return found.ok() && found->id == row.id ? std::move(begin) : row.id;
}

WorkerState StateOf(const store::WorkerRow& row, const LiveBoard::State& live) {
  return live.workers.contains(row.id) || live.awaited.contains(row.id) ? row.state : WorkerState::kGone;
}

AttemptsByWorker GroupByWorker(const LiveBoard::State& live) {
  AttemptsByWorker attempts;
  for (const auto& attempt : live.attempts) attempts[attempt.second.worker].push_back(&attempt);
  return attempts;
}

v1::WorkerInfo ToWorkerInfo(const store::WorkerRow& row, const LiveBoard::State& live, const AttemptsByWorker& attempts) {
  v1::WorkerInfo worker;
  worker.set_id(row.id);
  worker.set_name(row.name);
  worker.set_device(row.device);
  worker.set_build(row.build);
  worker.set_threads(row.threads);
  worker.set_pack_limit(row.pack_limit);
  if (!row.HasLeft()) worker.set_reason(row.reason);  // One that is there has come back: its first call is not written yet.
  worker.set_state(std::string(Word(StateOf(row, live))));
  const auto there = live.workers.find(row.id);
  const bool awaited = live.awaited.contains(row.id);
  *worker.mutable_seen_at() = ToTimestamp(there == live.workers.end() ? row.seen_at : std::max(row.seen_at, there->second));
  if (there == live.workers.end()) {
    if (worker.reason().empty()) worker.set_reason(fmt::format("{}last heard of at {}", awaited ? "not heard of since the scheduler started; " : "", ReadableTime(row.seen_at)));
    if (!awaited) return worker;  // What it had it may have until its lease runs out, and does not work on.
  }
  if (const auto own = attempts.find(row.id); own != attempts.end()) {
    for (const auto* attempt : own->second) *worker.add_running() = ToRunningAttempt(attempt->first, attempt->second);
  }
  return worker;
}

absl::StatusOr<std::string> MainMetricOfJob(std::string_view canonical) {
  absl::StatusOr<v1::JobSpec> spec = ParseCanonicalJob(canonical);
  if (!spec.ok()) return Unreadable("a job's specification", spec.status());
  return MainMetricOf("a job's specification", spec->experiment());
}

absl::StatusOr<std::string> MainMetricOfSweep(const v1::SweepSpec& spec) {
  return MainMetricOf("a sweep's specification", spec.experiment());
}

absl::StatusOr<std::vector<int>> TestLengthsOfSweep(const v1::SweepSpec& spec) {
  const experiments::Kind* kind = experiments::FindKind(spec.experiment());
  if (kind == nullptr) return absl::DataLossError(fmt::format("unknown experiment kind '{}'", spec.experiment()));
  std::set<int> lengths;
  const auto& said = spec.evaluation().lengths();
  const auto& of_sweep = said.empty() ? kind->Defaults().evaluation().lengths() : said;
  // A system's list takes the place of the sweep's.
  const auto add = [&](const v1::SweepSpec& with) {
    const auto& own = with.evaluation().lengths();
    const auto& of_jobs = own.empty() ? of_sweep : own;
    lengths.insert(of_jobs.begin(), of_jobs.end());
  };
  if (spec.systems().empty()) add(spec);
  for (const v1::System& system : spec.systems()) add(system.with());
  return std::vector<int>(lengths.begin(), lengths.end());
}

absl::Status RefusePageToken(std::string_view token) {
  return absl::InvalidArgumentError(fmt::format("page_token: '{}' is of no answer; start without one, then take next_page_token", token));
}

absl::Status AddSystems(sql::Connection& db, int64_t num, v1::Job& job) {
  ASSIGN_OR_RETURN(const std::vector<store::SweepRow> sweeps, store::SweepsOfJob(db, num));
  std::set<std::string> names;
  for (const store::SweepRow& sweep : sweeps) {
    ASSIGN_OR_RETURN(const std::optional<int64_t> position, store::PositionInSweep(db, sweep.num, num));
    if (!position.has_value()) continue;
    ASSIGN_OR_RETURN(const v1::SweepSpec spec, SpecOf(sweep));
    if (std::string name = experiments::SystemAt(experiments::SystemRanges(spec), *position); !name.empty()) names.insert(std::move(name));
  }
  for (const std::string& name : names) job.add_systems(name);
  return absl::OkStatus();
}

}  // namespace longreach::service
