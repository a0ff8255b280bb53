// Parity Check: the number of ones modulo 2.
// Source: tasks/regular/parity_check.py of google-deepmind/randomized_positional_encodings.
#pragma once

#include "worker/trainer/tasks/support/task.h"

namespace longreach::trainer::tasks::parity_check {

LONGREACH_HD inline int InputLength(int requested_length) { return requested_length; }
LONGREACH_HD inline int OutputLength(int /*input_length*/) { return 1; }

LONGREACH_HD inline void Sample(Draws& draws, std::span<uint8_t> input) { SampleBits(draws, input); }

LONGREACH_HD inline int Solve(std::span<const uint8_t> input, std::span<uint8_t> target) {
  target[0] = 0;
  for (const uint8_t bit : input) target[0] ^= bit;
  return 1;
}

}  // namespace longreach::trainer::tasks::parity_check
