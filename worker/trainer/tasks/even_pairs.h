// Even Pairs: is the number of neighbours that differ even (0) or odd (1)? That is: do first and last bit differ?
// Source: tasks/regular/even_pairs.py of google-deepmind/randomized_positional_encodings.
#pragma once

#include "worker/trainer/tasks/support/task.h"

namespace longreach::trainer::tasks::even_pairs {

LONGREACH_HD inline int InputLength(int requested_length) { return requested_length; }
LONGREACH_HD inline int OutputLength(int /*input_length*/) { return 1; }

LONGREACH_HD inline void Sample(Draws& draws, std::span<uint8_t> input) { SampleBits(draws, input); }

LONGREACH_HD inline int Solve(std::span<const uint8_t> input, std::span<uint8_t> target) {
  target[0] = input.front() ^ input.back();
  return 1;
}

}  // namespace longreach::trainer::tasks::even_pairs
