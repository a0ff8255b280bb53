// Bucket Sort: tokens 0 to 4 in ascending order.
// Source: tasks/cs/bucket_sort.py of google-deepmind/randomized_positional_encodings.
#pragma once

#include "worker/trainer/tasks/support/task.h"

namespace longreach::trainer::tasks::bucket_sort {

LONGREACH_HD inline int InputLength(int requested_length) { return requested_length; }
LONGREACH_HD inline int OutputLength(int input_length) { return input_length; }

LONGREACH_HD inline void Sample(Draws& draws, std::span<uint8_t> input) {
  for (uint8_t& token : input) token = static_cast<uint8_t>(draws.Below(5));
}

LONGREACH_HD inline int Solve(std::span<const uint8_t> input, std::span<uint8_t> target) {
  size_t counts[5] = {};
  for (const uint8_t token : input) ++counts[token];
  size_t written = 0;
  for (uint8_t value = 0; value < 5; ++value) {
    for (size_t i = 0; i < counts[value]; ++i) target[written++] = value;
  }
  return static_cast<int>(written);
}

}  // namespace longreach::trainer::tasks::bucket_sort
