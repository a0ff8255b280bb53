// Permutation Composition: the word problem of the group S5. Five items lie at five places; a token is the identity (0) or exchanges the items at two
// places (1 to 10: places 01, 02, 03, 04, 12, 13, 14, 23, 24, 34); which item lies at each place after all of them? Item i lies at place i at first.
// Source: arXiv:2404.08819, whose tokens and answers are the 120 elements of S5. Here the tokens are the identity and its ten transpositions, which make
// all others, and the answer is written out as five tokens: kernels of GPUs take 31 input tokens and 32 classes (resident/step_arguments.h), and groups
// that are no larger can be composed without the depth that this one asks for.
#pragma once

#include "worker/trainer/tasks/support/task.h"

namespace longreach::trainer::tasks::permutation_composition {

LONGREACH_HD inline int InputLength(int requested_length) { return requested_length; }
LONGREACH_HD inline int OutputLength(int /*input_length*/) { return 5; }

LONGREACH_HD inline void Sample(Draws& draws, std::span<uint8_t> input) {
  for (uint8_t& token : input) token = static_cast<uint8_t>(draws.Below(11));
}

LONGREACH_HD inline int Solve(std::span<const uint8_t> input, std::span<uint8_t> target) {
  constexpr uint8_t kLeft[] = {0, 0, 0, 0, 0, 1, 1, 1, 2, 2, 3};
  constexpr uint8_t kRight[] = {0, 1, 2, 3, 4, 2, 3, 4, 3, 4, 4};
  for (uint8_t item = 0; item < 5; ++item) target[item] = item;
  for (const uint8_t token : input) {
    const uint8_t item = target[kLeft[token]];
    target[kLeft[token]] = target[kRight[token]];
    target[kRight[token]] = item;
  }
  return 5;
}

}  // namespace longreach::trainer::tasks::permutation_composition
