// Steering a sweep: live, paused or cancelled; and what a sweep's states mean for its jobs. Any sweep can be cancelled, and submitting it (again)
// makes it live, whatever it was. Some of its jobs can be cancelled alone: then the sweep has no claim to them.
#pragma once

#include <cstdint>
#include <span>

#include "proto/base/status.h"
#include "proto/types/words.h"

namespace longreach::core {

// FAILED_PRECONDITION, with the next step, when the state does not admit it. Repeating is OK.
absl::StatusOr<SweepState> Pause(SweepState before);
absl::StatusOr<SweepState> Resume(SweepState before);
// Whether failed jobs may be retried: not in a cancelled sweep, which nobody waits for.
absl::Status CheckRetry(SweepState state);
// Whether some of its jobs may be cancelled alone: not of a cancelled sweep, and not while jobs of it are to come, some of which may be meant.
absl::Status CheckCancelJobs(SweepState state, int64_t to_come);
// Where jobs that are named may be among those that are to come.
absl::Status CheckAllAreThere(int64_t to_come);

// One sweep that has a job.
struct Claim {
  SweepState state = SweepState::kLive;
  int priority = 0;
};
// What follows for the job.
struct Demand {
  bool wanted = false;   // A live sweep has it.
  bool held = false;     // All sweeps that still want it are paused.
  int priority = 0;      // The highest among the live ones; 0 when there is none.
  bool operator==(const Demand&) const = default;
};
Demand DemandOf(std::span<const Claim> claims);

}  // namespace longreach::core
