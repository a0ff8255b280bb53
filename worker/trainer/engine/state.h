// What a pack is at a point of its training: all that a checkpoint holds, and little more.
#pragma once

#include <cstdint>
#include <vector>

#include "worker/trainer/engine/member_state.h"
#include "worker/trainer/parameters.h"

namespace longreach::trainer {

// Flat buffers, float32.
struct PackState {
  Tensor parameters;  // [E, stride], each where the layout says.
  // Adam's, of the last floats of a member: [E, trained]. What lies before them, or all where nothing is trained, has none.
  Tensor moment1;
  Tensor moment2;
  std::vector<MemberState> members;
  int step = 0;           // Updates done.
  int loss_updates = 0;   // Updates behind loss_sum, the same for all members.
  int curve_tests = 0;    // Lengths evaluated on the way, at all points of the curve of scores together.
  int lengths_done = 0;   // Test lengths evaluated, once all updates are done.
  int cells_done = 0;     // After them: cells of passkey retrieval.
  int samples_done = 0;   // After them: samples of LongBench.
  // Some member began with another job's weights, not just with its scales of attention heads. No checkpoint holds this.
  bool others_weights = false;

  // Its buffers, where an engine wants them (StepEngine::device).
  void MoveTo(at::Device device) {
    for (Tensor* buffer : {&parameters, &moment1, &moment2}) *buffer = buffer->to(device);
  }
  int64_t size() const { return static_cast<int64_t>(members.size()); }
  bool AnyLive() const {
    for (const MemberState& member : members) {
      if (member.live) return true;
    }
    return false;
  }
};

}  // namespace longreach::trainer
