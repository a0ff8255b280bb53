#include "scheduler/service/query_sweeps.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <span>
#include <vector>

#include "proto/types/words.h"
#include "scheduler/core/time_left.h"
#include "scheduler/service/kept_table.h"
#include "scheduler/service/range_of_sweep.h"
#include "scheduler/service/references.h"
#include "scheduler/service/replies.h"
#include "scheduler/service/stalled_sweep.h"
#include "store/reading.h"
#include "store/sweeps.h"

namespace longreach::service {
namespace {

AttemptPhase PhaseOf(const store::RunningPart& part, const LiveBoard::State& live) {
  const auto now = live.attempts.find(part.attempt);
  return now == live.attempts.end() ? AttemptPhase::kStarting : now->second.phase.value_or(AttemptPhase::kStarting);
}

// Whether its worker has called this process: of a store that nobody works on what ran last is still there, and runs no more.
bool IsHeardOf(const store::RunningPart& part, const LiveBoard::State& live) {
  const auto now = live.attempts.find(part.attempt);
  return now != live.attempts.end() && now->second.phase.has_value();
}

// A part of a pack as the sweep's owner sees it: the newest that the worker or the store tells.
v1::RunningAttempt ToRunningAttempt(const store::RunningPart& part, const LiveBoard::State& live) {
  v1::RunningAttempt running;
  running.set_attempt(static_cast<uint32_t>(part.attempt));
  running.set_worker_name(part.worker_name);
  running.set_task(part.task);
  running.set_encoding(ToText(EncodingName{part.encoding, part.randomized}));
  running.set_members(part.members);
  running.set_step(part.step);
  running.set_steps(part.steps);
  running.set_phase(std::string(Word(PhaseOf(part, live))));
  const auto now = live.attempts.find(part.attempt);
  if (now != live.attempts.end()) {
    running.set_step(std::max(part.step, now->second.step));
    running.set_steps_per_second(now->second.steps_per_second);
  }
  return running;
}

}  // namespace

absl::StatusOr<v1::ListSweepsResponse> ListSweeps(sql::Connection& db) {
  ASSIGN_OR_RETURN(std::vector<store::SweepRow> rows, store::ListSweeps(db));
  v1::ListSweepsResponse response;
  for (const store::SweepRow& row : rows) *response.add_sweeps() = ToSweep(row);
  return response;
}

absl::StatusOr<v1::Sweep> GetSweep(sql::Connection& db, const v1::GetSweepRequest& request) {
  ASSIGN_OR_RETURN(store::SweepRow row, ResolveSweep(db, request.sweep()));
  v1::Sweep sweep = ToSweep(row);
  ASSIGN_OR_RETURN(*sweep.mutable_spec(), SpecOf(row));
  ASSIGN_OR_RETURN(const std::string table, store::TableOfSweep(db, row.num));
  AddKeptTable(table, sweep);
  return sweep;
}

namespace {

// Of more jobs it would take longer than a watcher's pace to add up what each has, or to read all of their seeds; then all count as the first does, and
// nobody knows which are of one system.
constexpr int64_t kMostJobsAddedUp = 100'000;

absl::StatusOr<std::optional<v1::SweepSpec>> SpecOfFew(const store::SweepRow& row) {
  if (row.counts.jobs() > kMostJobsAddedUp) return std::nullopt;
  return SpecOf(row);
}

absl::StatusOr<store::StepsOfJobs> StepsOf(sql::Connection& db, const store::SweepRow& row, const std::optional<v1::SweepSpec>& spec) {
  // Steps are no axis, but systems may differ in them.
  if (spec && !spec->systems().empty()) return store::StepsOfAllJobs(db, row.num);
  ASSIGN_OR_RETURN(const int steps, store::StepsOfFirstJob(db, row.num));
  return store::StepsOfJobs{.all = static_cast<double>(steps) * row.counts.jobs(),
                            .succeeded = static_cast<double>(steps) * row.counts.succeeded,
                            .open = static_cast<double>(steps) * row.counts.open()};
}

// From its submission on; nothing where that says nothing of what it asks for.
absl::StatusOr<std::optional<double>> SecondsTaken(sql::Connection& db, const store::SweepRow& row) {
  if (!row.is_over() || row.counts.cancelled > 0 || row.counts.jobs() > kMostJobsAddedUp) return std::nullopt;
  ASSIGN_OR_RETURN(const std::optional<WallTime> end, store::LastEndInSweep(db, row.num));
  if (!end || *end <= row.submitted_at) return std::nullopt;  // It was all there before.
  return std::chrono::duration<double>(*end - row.submitted_at).count();
}

void AddAnotherWorker(const core::TimeRange& range, std::span<const store::RunningPart> parts, v1::SweepUpdate& update) {
  const auto like = std::ranges::find(parts, range.fastest, &store::RunningPart::worker);
  if (like == parts.end() || range.usual_with_another >= range.usual) return;
  update.mutable_another_worker()->set_like(like->worker_name);
  update.mutable_another_worker()->set_seconds_saved(range.usual - range.usual_with_another);
}

}  // namespace

absl::StatusOr<v1::SweepUpdate> GetSweepUpdate(sql::Connection& db, const v1::GetSweepRequest& request,
                                               const LiveBoard::State& live) {
  ASSIGN_OR_RETURN(store::SweepRow row, ResolveSweep(db, request.sweep()));
  ASSIGN_OR_RETURN(std::vector<store::RunningPart> parts, store::RunningInSweep(db, row.num));
  ASSIGN_OR_RETURN(store::StepsBegun begun, store::StepsBegunInSweep(db, row.num));
  ASSIGN_OR_RETURN(const std::optional<v1::SweepSpec> spec, SpecOfFew(row));
  ASSIGN_OR_RETURN(const store::StepsOfJobs steps, StepsOf(db, row, spec));

  v1::SweepUpdate update;
  *update.mutable_sweep() = ToSweep(row);
  double done_running = 0;
  double rate = 0;
  std::vector<core::Pace> paces;
  std::vector<RunningNow> now;
  for (const store::RunningPart& part : parts) {
    v1::RunningAttempt running = ToRunningAttempt(part, live);
    done_running += static_cast<double>(running.step()) * running.members();
    paces.push_back({.members = running.members(), .phase = PhaseOf(part, live), .steps_per_second = running.steps_per_second()});
    rate += paces.back().JobStepsPerSecond();
    now.push_back({.part = part, .phase = paces.back().phase, .step = running.step(), .steps_per_second = running.steps_per_second()});
    *update.add_running() = std::move(running);
  }
  const double open_left = steps.open - begun.open - done_running;
  update.set_job_steps_total(steps.all);
  update.set_job_steps_done(steps.succeeded + begun.open + begun.closed + done_running);
  update.set_job_steps_per_second(rate);
  // What still runs of a paused sweep stops, or is another's as well.
  const bool goes_on = row.state == SweepState::kLive;
  if (goes_on) {
    core::TimeRange range;
    if (spec && std::ranges::all_of(parts, [&live](const store::RunningPart& part) { return IsHeardOf(part, live); })) {
      ASSIGN_OR_RETURN(range, RangeOfSweep(db, row, *spec, now, begun.open));
    }
    // What has ended knows of tests too, and of workers that have nothing to do at the end.
    update.set_seconds_left(range.usual > 0 ? range.usual : core::SecondsLeft(open_left, paces));
    if (range.usual > 0) {
      update.set_seconds_left_low(range.low);
      update.set_seconds_left_high(range.high);
      // One that came now would be given nothing.
      if (live.store_trouble.empty()) AddAnotherWorker(range, parts, update);
    }
  }
  update.set_finished(row.is_over());
  ASSIGN_OR_RETURN(const std::optional<double> taken, SecondsTaken(db, row));
  if (taken) update.mutable_sweep()->set_seconds_taken(*taken);
  update.set_store_trouble(live.trouble());
  update.set_stalled(StalledSweep(row, live));
  return update;
}

}  // namespace longreach::service
