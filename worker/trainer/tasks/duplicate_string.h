// Duplicate String: the bits twice.
// Source: tasks/cs/duplicate_string.py of google-deepmind/randomized_positional_encodings.
#pragma once

#include "worker/trainer/tasks/support/task.h"

namespace longreach::trainer::tasks::duplicate_string {

LONGREACH_HD inline int InputLength(int requested_length) { return requested_length; }
LONGREACH_HD inline int OutputLength(int input_length) { return 2 * input_length; }

LONGREACH_HD inline void Sample(Draws& draws, std::span<uint8_t> input) { SampleBits(draws, input); }

LONGREACH_HD inline int Solve(std::span<const uint8_t> input, std::span<uint8_t> target) {
  for (size_t i = 0; i < input.size(); ++i) target[i] = target[input.size() + i] = input[i];
  return static_cast<int>(target.size());
}

}  // namespace longreach::trainer::tasks::duplicate_string
