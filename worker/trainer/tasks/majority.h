// Majority: are more than half of the bits 1?
// The bits are uniform, so the numbers of ones and zeros are close. Of an even length half is not more than half.
// Source: the language MAJORITY, as in arXiv:2106.16213.
#pragma once

#include "worker/trainer/tasks/support/task.h"

namespace longreach::trainer::tasks::majority {

LONGREACH_HD inline int InputLength(int requested_length) { return requested_length; }
LONGREACH_HD inline int OutputLength(int /*input_length*/) { return 1; }

LONGREACH_HD inline void Sample(Draws& draws, std::span<uint8_t> input) { SampleBits(draws, input); }

LONGREACH_HD inline int Solve(std::span<const uint8_t> input, std::span<uint8_t> target) {
  size_t ones = 0;
  for (const uint8_t bit : input) ones += bit;
  target[0] = 2 * ones > input.size();
  return 1;
}

}  // namespace longreach::trainer::tasks::majority
