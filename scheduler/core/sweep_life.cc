#include "scheduler/core/sweep_life.h"

#include <fmt/format.h>

#include <algorithm>

namespace longreach::core {

absl::StatusOr<SweepState> Pause(SweepState before) {
  if (before == SweepState::kCancelled) return absl::FailedPreconditionError("the sweep is cancelled, so there is nothing to pause");
  return SweepState::kPaused;
}

absl::StatusOr<SweepState> Resume(SweepState before) {
  if (before == SweepState::kCancelled) {
    return absl::FailedPreconditionError("the sweep is cancelled; submit it again to revive its jobs");
  }
  return SweepState::kLive;
}

absl::Status CheckRetry(SweepState state) {
  if (state != SweepState::kCancelled) return absl::OkStatus();
  return absl::FailedPreconditionError("the sweep is cancelled; submit it again first, then retry its failed jobs");
}

absl::Status CheckCancelJobs(SweepState state, int64_t to_come) {
  if (state == SweepState::kCancelled) return absl::FailedPreconditionError("the sweep is cancelled, and all of its jobs that no other sweep wants with it");
  return CheckAllAreThere(to_come);
}

absl::Status CheckAllAreThere(int64_t to_come) {
  if (to_come == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      fmt::format("{} of its jobs {} to come yet, some of which may be meant; ask again once all are there", to_come, to_come == 1 ? "is" : "are"));
}

Demand DemandOf(std::span<const Claim> claims) {
  Demand demand;
  bool paused = false;
  for (const Claim& claim : claims) {
    if (claim.state == SweepState::kLive) {
      demand.priority = demand.wanted ? std::max(demand.priority, claim.priority) : claim.priority;
      demand.wanted = true;
    }
    paused |= claim.state == SweepState::kPaused;
  }
  demand.held = paused && !demand.wanted;
  return demand;
}

}  // namespace longreach::core
