// Every scenario again and again, with its first call failing, then its second, ... until it passes undisturbed.
#pragma once

#include <cstdint>
#include <string>

#include "tests/faults/storage/injector.h"

namespace longreach::faults {

struct LoopOptions {
  Layer layer = Layer::kCalls;
  // Every so many-th call of each scenario, from call `from` on: less than all, for a short form.
  int64_t every = 1;
  int64_t from = 1;
  // Only this scenario, harm ("io", "full", "memory", "kill"), way ("once", "on") and call; empty, 0: all. What repeats a failure.
  std::string scenario = {};
  std::string harm = {};
  std::string way = {};
  int64_t nth = 0;
};

struct LoopReport {
  int64_t scenarios = 0;
  int64_t calls = 0;     // That all scenarios make together when nothing fails.
  int64_t points = 0;    // Runs in which a call failed.
  int64_t refused = 0;   // Of those: the request was answered with an error.
  int64_t failures = 0;  // Promises broken; each was printed with the command that repeats it.
};

LoopReport RunFailLoop(const LoopOptions& options);

}  // namespace longreach::faults
