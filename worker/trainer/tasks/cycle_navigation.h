// Cycle Navigation: steps of -1 (token 0), 0 (1) or +1 (2) on a cycle of 5; where does the walk from 0 end?
// Source: tasks/regular/cycle_navigation.py of google-deepmind/randomized_positional_encodings.
#pragma once

#include "worker/trainer/tasks/support/task.h"

namespace longreach::trainer::tasks::cycle_navigation {

LONGREACH_HD inline int InputLength(int requested_length) { return requested_length; }
LONGREACH_HD inline int OutputLength(int /*input_length*/) { return 1; }

LONGREACH_HD inline void Sample(Draws& draws, std::span<uint8_t> input) {
  for (uint8_t& token : input) token = static_cast<uint8_t>(draws.Below(3));
}

LONGREACH_HD inline int Solve(std::span<const uint8_t> input, std::span<uint8_t> target) {
  uint32_t place = 0;
  for (const uint8_t token : input) place += token + 4u;  // A step of token - 1, modulo 5.
  target[0] = static_cast<uint8_t>(place % 5);
  return 1;
}

}  // namespace longreach::trainer::tasks::cycle_navigation
