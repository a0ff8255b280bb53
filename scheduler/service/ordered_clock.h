// Wall times that never go back within a process, whatever is done to the machine's clock: the store's rows stay in order.
//
// If the clock is set forward, these times follow. If it is set back, they go on by the steady clock from where they were, so that
// durations stay right, until the machine's clock has come up to them or the process starts anew.
#pragma once

#include <algorithm>

#include "proto/base/clock.h"
#include "proto/base/synchronized.h"

namespace longreach::service {

class OrderedClock final : public Clock {
 public:
  explicit OrderedClock(const Clock& machine) : machine_(machine), ahead_(machine.Wall().time_since_epoch() - machine.Steady().time_since_epoch()) {}

  WallTime Wall() const override {
    const WallTime wall = machine_.Wall();
    const SteadyTime steady = machine_.Steady();
    auto ahead = ahead_.Lock();
    *ahead = std::max(*ahead, wall.time_since_epoch() - steady.time_since_epoch());
    return WallTime(steady.time_since_epoch() + *ahead);
  }
  SteadyTime Steady() const override { return machine_.Steady(); }

 private:
  const Clock& machine_;
  // The most that the wall clock was ever seen ahead of the steady one.
  mutable Synchronized<std::chrono::microseconds> ahead_;
};

}  // namespace longreach::service
