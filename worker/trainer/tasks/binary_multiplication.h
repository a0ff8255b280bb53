// Binary Multiplication: two numbers, the lowest bit first, with a 2 between them; their product, the lowest bit first,
// without leading zeros, then a 2 and zeros. Below length 3 there is no second number, and the target is the end of "0".
// Source: tasks/cs/binary_multiplication.py of google-deepmind/randomized_positional_encodings.
#pragma once

#include "worker/trainer/tasks/support/binary.h"
#include "worker/trainer/tasks/support/task.h"

namespace longreach::trainer::tasks::binary_multiplication {

LONGREACH_HD inline int InputLength(int requested_length) { return requested_length; }
LONGREACH_HD inline int OutputLength(int input_length) { return input_length; }

LONGREACH_HD inline void Sample(Draws& draws, std::span<uint8_t> input) { SampleTwoNumbers(draws, input); }

LONGREACH_HD inline int Solve(std::span<const uint8_t> input, std::span<uint8_t> target) {
  if (input.size() < 3) {
    target[0] = 0;
    return EndTarget(target, input.size() - 1);
  }
  const TwoNumbers numbers(input);
  uint32_t x[kMaxLimbs] = {};
  uint32_t y[kMaxLimbs] = {};
  uint32_t product[kMaxLimbs] = {};
  const size_t limbs_x = PackBits(numbers.x, x);
  const size_t limbs_y = PackBits(numbers.y, y);
  for (size_t i = 0; i < limbs_x; ++i) {
    uint64_t carry = 0;
    for (size_t j = 0; j < limbs_y; ++j) {
      carry += uint64_t{x[i]} * y[j] + product[i + j];
      product[i + j] = static_cast<uint32_t>(carry);
      carry >>= 32;
    }
    product[i + limbs_y] = static_cast<uint32_t>(carry);
  }
  const size_t digits = numbers.x.size() + numbers.y.size();
  for (size_t i = 0; i < digits; ++i) target[i] = static_cast<uint8_t>(product[i / 32] >> (i % 32) & 1);
  return EndTarget(target, WithoutLeadingZeros(target, digits));
}

}  // namespace longreach::trainer::tasks::binary_multiplication
