// Odds First: the 2nd, 4th, ... bits, then the 1st, 3rd, ... (The text of the source says it the other way round; this is
// what its code does.)
// Source: tasks/cs/odds_first.py of google-deepmind/randomized_positional_encodings.
#pragma once

#include "worker/trainer/tasks/support/task.h"

namespace longreach::trainer::tasks::odds_first {

LONGREACH_HD inline int InputLength(int requested_length) { return requested_length; }
LONGREACH_HD inline int OutputLength(int input_length) { return input_length; }

LONGREACH_HD inline void Sample(Draws& draws, std::span<uint8_t> input) { SampleBits(draws, input); }

LONGREACH_HD inline int Solve(std::span<const uint8_t> input, std::span<uint8_t> target) {
  size_t written = 0;
  for (size_t i = 1; i < input.size(); i += 2) target[written++] = input[i];
  for (size_t i = 0; i < input.size(); i += 2) target[written++] = input[i];
  return static_cast<int>(written);
}

}  // namespace longreach::trainer::tasks::odds_first
