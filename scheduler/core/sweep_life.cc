#include "scheduler/core/sweep_life.h"

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
