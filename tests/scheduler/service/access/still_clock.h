// A clock that stands still until a test moves it.
#pragma once

#include <chrono>

#include "proto/base/clock.h"

namespace longreach::service {

class StillClock final : public Clock {
 public:
  WallTime Wall() const override { return WallTime{}; }
  SteadyTime Steady() const override { return now; }
  SteadyTime now{std::chrono::seconds(100)};
};

}  // namespace longreach::service
