// Time as an argument: everything that waits or stamps takes a Clock, so that tests and the simulator own it.
#pragma once

#include <chrono>

namespace longreach {

// Microseconds since 1970, UTC: what is stored and shown. May jump; nothing is decided by it.
using WallTime = std::chrono::sys_time<std::chrono::microseconds>;

// A point on this process's steady clock: what leases and time-outs are measured by.
using SteadyTime = std::chrono::time_point<std::chrono::steady_clock, std::chrono::microseconds>;

class Clock {
 public:
  virtual ~Clock() = default;
  virtual WallTime Wall() const = 0;
  virtual SteadyTime Steady() const = 0;
};

// The machine's clocks.
class SystemClock final : public Clock {
 public:
  WallTime Wall() const override {
    return std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now());
  }
  SteadyTime Steady() const override {
    return std::chrono::floor<std::chrono::microseconds>(std::chrono::steady_clock::now());
  }
};

}  // namespace longreach
