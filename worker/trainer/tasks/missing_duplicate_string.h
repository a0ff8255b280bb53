// Missing Duplicate: a string of bits twice, one of them hidden by a 2; which bit is it? A 3 fills up an odd length.
// Length 1 is always the input 1 with the answer 1.
// Source: tasks/cs/missing_duplicate_string.py of google-deepmind/randomized_positional_encodings.
#pragma once

#include "worker/trainer/tasks/support/task.h"

namespace longreach::trainer::tasks::missing_duplicate_string {

LONGREACH_HD inline int InputLength(int requested_length) { return requested_length; }
LONGREACH_HD inline int OutputLength(int /*input_length*/) { return 1; }

LONGREACH_HD inline void Sample(Draws& draws, std::span<uint8_t> input) {
  constexpr uint8_t kHidden = 2;
  constexpr uint8_t kFiller = 3;
  if (input.size() == 1) {
    input[0] = 1;
    return;
  }
  const size_t half = input.size() / 2;
  SampleBits(draws, input.first(half));
  for (size_t i = 0; i < half; ++i) input[half + i] = input[i];
  input[draws.Below(static_cast<uint32_t>(2 * half))] = kHidden;
  if (input.size() % 2 == 1) input.back() = kFiller;
}

LONGREACH_HD inline int Solve(std::span<const uint8_t> input, std::span<uint8_t> target) {
  constexpr uint8_t kHidden = 2;
  const size_t half = input.size() / 2;
  target[0] = input[0];
  for (size_t i = 0; i < 2 * half; ++i) {
    if (input[i] == kHidden) target[0] = input[(i + half) % (2 * half)];
  }
  return 1;
}

}  // namespace longreach::trainer::tasks::missing_duplicate_string
