// Reverse String: the bits in reverse order.
// Source: tasks/dcf/reverse_string.py of google-deepmind/randomized_positional_encodings.
#pragma once

#include "worker/trainer/tasks/support/task.h"

namespace longreach::trainer::tasks::reverse_string {

LONGREACH_HD inline int InputLength(int requested_length) { return requested_length; }
LONGREACH_HD inline int OutputLength(int input_length) { return input_length; }

LONGREACH_HD inline void Sample(Draws& draws, std::span<uint8_t> input) { SampleBits(draws, input); }

LONGREACH_HD inline int Solve(std::span<const uint8_t> input, std::span<uint8_t> target) {
  for (size_t i = 0; i < input.size(); ++i) target[i] = input[input.size() - 1 - i];
  return static_cast<int>(target.size());
}

}  // namespace longreach::trainer::tasks::reverse_string
