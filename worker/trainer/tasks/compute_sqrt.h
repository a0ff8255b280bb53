// Compute Sqrt: a positive number, the highest bit first; the integer part of its square root, the highest bit first, in
// half as many bits (rounded up). The paper calls it "Compute Sort".
// Source: tasks/cs/compute_sqrt.py of google-deepmind/randomized_positional_encodings.
#pragma once

#include "worker/trainer/tasks/support/binary.h"
#include "worker/trainer/tasks/support/task.h"

namespace longreach::trainer::tasks::compute_sqrt {

LONGREACH_HD inline int InputLength(int requested_length) { return requested_length; }
LONGREACH_HD inline int OutputLength(int input_length) { return (input_length + 1) / 2; }

LONGREACH_HD inline void Sample(Draws& draws, std::span<uint8_t> input) { SamplePositive(draws, input); }

// By hand as in school: two bits of the number give one of the root.
LONGREACH_HD inline int Solve(std::span<const uint8_t> input, std::span<uint8_t> target) {
  uint32_t remainder[kMaxLimbs] = {};  // The lowest limb first.
  uint32_t root[kMaxLimbs] = {};
  uint32_t difference[kMaxLimbs] = {};
  size_t read = 0;
  for (size_t step = 0; step < target.size(); ++step) {
    // An odd length begins with half a pair.
    uint32_t pair = step == 0 && input.size() % 2 == 1 ? 0 : input[read++];
    pair = 2 * pair + input[read++];
    // Before this step root < 2^step and remainder <= 2 root.
    const size_t limbs = (step + 4) / 32 + 1;
    ShiftLeft(remainder, limbs, 2, pair);
    ShiftLeft(root, limbs, 2, 1);
    int64_t borrow = 0;
    for (size_t i = 0; i < limbs; ++i) {
      borrow += int64_t{remainder[i]} - root[i];
      difference[i] = static_cast<uint32_t>(borrow);
      borrow >>= 32;
    }
    const bool fits = borrow == 0;
    for (size_t i = 0; fits && i < limbs; ++i) remainder[i] = difference[i];
    // 4 root + 1 becomes 2 root + bit.
    for (size_t i = 0; i < limbs; ++i) root[i] = root[i] >> 1 | (i + 1 < limbs ? root[i + 1] << 31 : 0);
    root[0] |= fits;
    target[step] = fits;
  }
  return static_cast<int>(target.size());
}

}  // namespace longreach::trainer::tasks::compute_sqrt
