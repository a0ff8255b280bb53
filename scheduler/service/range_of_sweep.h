// The range of the time that a sweep still takes, from what the store knows of it.
#pragma once

#include <span>
#include <vector>

#include "longreach/v1/spec.pb.h"
#include "scheduler/core/time_range.h"
#include "store/reading.h"
#include "store/sweeps.h"

namespace longreach::service {

// A part of a pack that runs, with the newest that is known of it.
struct RunningNow {
  store::RunningPart part{};
  AttemptPhase phase = AttemptPhase::kStarting;
  int step = 0;
  double steps_per_second = 0;
};

// Of a live sweep. `steps_begun`: that jobs which do not run have in their checkpoints. All 0: not known, as where jobs wait for others, of which nobody knows when they will be
// there, or make no steps, by which they would be measured.
absl::StatusOr<core::TimeRange> RangeOfSweep(sql::Connection& db, const store::SweepRow& sweep, const v1::SweepSpec& spec, std::span<const RunningNow> running, double steps_begun);

}  // namespace longreach::service
