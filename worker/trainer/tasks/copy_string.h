// Copy: the bits again. Of two tokens only, as "copy with repeats" of arXiv:2310.16028: the harder form, because a place to copy from is not found by the
// tokens before it, and the one whose tests can be of any length.
// Source: arXiv:2305.19466 and arXiv:2310.16028. duplicate_string of DeepMind's tasks writes the copy twice.
#pragma once

#include "worker/trainer/tasks/support/task.h"

namespace longreach::trainer::tasks::copy_string {

LONGREACH_HD inline int InputLength(int requested_length) { return requested_length; }
LONGREACH_HD inline int OutputLength(int input_length) { return input_length; }

LONGREACH_HD inline void Sample(Draws& draws, std::span<uint8_t> input) { SampleBits(draws, input); }

LONGREACH_HD inline int Solve(std::span<const uint8_t> input, std::span<uint8_t> target) {
  for (size_t i = 0; i < input.size(); ++i) target[i] = input[i];
  return static_cast<int>(target.size());
}

}  // namespace longreach::trainer::tasks::copy_string
