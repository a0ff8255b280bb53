#include "scheduler/service/range_of_sweep.h"

#include <algorithm>
#include <string>

#include "proto/catalog/encoding_name.h"
#include "proto/types/words.h"
#include "scheduler/experiments/expansion.h"
#include "store/paces.h"

namespace longreach::service {
namespace {

// Whoever watches a sweep has this read every second.
constexpr int kAttemptsLookedAt = 500;
constexpr int kJobsLookedAt = 200;

template <typename Part>
core::PackKind KindOf(const Part& part, std::span<const experiments::SystemRange> systems) {
  return {.task = part.task, .encoding = ToText(EncodingName{part.encoding, part.randomized}), .system = experiments::SystemAt(systems, part.position)};
}

// The queued jobs, of which `some` were looked at; those that have been trained in part have fewer steps to make, and each counts as if it had its share of that.
std::vector<core::OpenJobs> OpenOf(std::span<const store::QueuedJob> some, int queued, double steps_begun, std::span<const experiments::SystemRange> systems) {
  const double each = static_cast<double>(queued) / static_cast<double>(some.size());
  double steps = 0;
  for (const store::QueuedJob& job : some) steps += job.steps * each;
  const double part_left = steps > 0 ? std::clamp(1 - steps_begun / steps, 0.0, 1.0) : 0;
  std::vector<core::OpenJobs> open;
  for (const store::QueuedJob& job : some) open.push_back({.kind = KindOf(job, systems), .steps = job.steps * part_left, .jobs = each});
  return open;
}

// By the number of its steps such a job would be done at once.
bool OneMakesNoSteps(std::span<const store::QueuedJob> jobs) { return std::ranges::any_of(jobs, [](const store::QueuedJob& job) { return job.steps <= 0; }); }

}  // namespace

absl::StatusOr<core::TimeRange> RangeOfSweep(sql::Connection& db, const store::SweepRow& sweep, const v1::SweepSpec& spec, std::span<const RunningNow> running, double steps_begun) {
  if (running.empty() || sweep.counts.waiting > 0) return core::TimeRange();
  const std::vector<experiments::SystemRange> systems = experiments::SystemRanges(spec);
  ASSIGN_OR_RETURN(const std::vector<store::EndedPart> parts, store::EndedInSweep(db, sweep.num, kAttemptsLookedAt));
  std::vector<core::EndedPack> ended;
  double members = 0;
  for (const store::EndedPart& part : parts) {
    ended.push_back({.kind = KindOf(part, systems), .worker = part.worker, .job_steps = static_cast<double>(part.steps) * part.members, .seconds = part.seconds});
    members += part.members;
  }
  if (ended.empty()) return core::TimeRange();

  std::vector<core::RunningPack> packs;
  std::vector<store::QueuedJob> like_those;
  for (const RunningNow& now : running) {
    const store::RunningPart& part = now.part;
    packs.push_back({.kind = KindOf(part, systems), .worker = part.worker, .members = part.members, .phase = now.phase, .step = now.step, .steps = part.steps,
                     .steps_per_second = now.steps_per_second});
    like_those.push_back({.task = part.task, .encoding = part.encoding, .randomized = part.randomized, .steps = part.steps, .position = part.position});
  }
  if (OneMakesNoSteps(like_those)) return core::TimeRange();
  std::vector<core::OpenJobs> open;
  if (sweep.counts.queued > 0) {
    ASSIGN_OR_RETURN(std::vector<store::QueuedJob> some, store::SomeQueuedJobs(db, sweep.num, sweep.counts.jobs(), kJobsLookedAt));
    // The few that are between those that were looked at are neighbours of what runs.
    if (some.empty()) some = std::move(like_those);
    if (OneMakesNoSteps(some)) return core::TimeRange();
    open = OpenOf(some, sweep.counts.queued, steps_begun, systems);
  }
  return core::TimeRangeOf(ended, packs, open, members / static_cast<double>(ended.size()));
}

}  // namespace longreach::service
