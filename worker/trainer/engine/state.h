// What a pack is at a point of its training: all that a checkpoint holds.
#pragma once

#include <cstdint>
#include <vector>

#include "worker/trainer/parameters.h"

namespace longreach::trainer {

struct MemberState {
  // Takes part in updates: neither dropped nor diverged.
  bool live = true;
  bool dropped = false;
  bool diverged = false;
  int diverged_at = 0;   // Updates done when loss or gradient was not finite.
  double loss_sum = 0;   // Of the updates since the last point of the loss curve.
  std::vector<double> curve;  // All points so far.
  // By test length, as far as evaluated.
  std::vector<double> accuracy;
  std::vector<double> loss;
};

// Flat buffers [E, stride], float32, the parameters where the layout says.
struct PackState {
  Tensor parameters;
  Tensor moment1;
  Tensor moment2;
  std::vector<MemberState> members;
  int step = 0;           // Updates done.
  int loss_updates = 0;   // Updates behind loss_sum, the same for all members.
  int lengths_done = 0;   // Test lengths evaluated.

  int64_t size() const { return static_cast<int64_t>(members.size()); }
  bool AnyLive() const {
    for (const MemberState& member : members) {
      if (member.live) return true;
    }
    return false;
  }
};

}  // namespace longreach::trainer
