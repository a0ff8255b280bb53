// Binary Addition: two numbers, the lowest bit first, with a 2 between them; their sum, the lowest bit first, without
// leading zeros, then a 2 and zeros.
// Source: tasks/cs/binary_addition.py of google-deepmind/randomized_positional_encodings.
#pragma once

#include "worker/trainer/tasks/support/binary.h"
#include "worker/trainer/tasks/support/task.h"

namespace longreach::trainer::tasks::binary_addition {

LONGREACH_HD inline int InputLength(int requested_length) { return requested_length; }
LONGREACH_HD inline int OutputLength(int input_length) { return input_length + 1; }

LONGREACH_HD inline void Sample(Draws& draws, std::span<uint8_t> input) { SampleTwoNumbers(draws, input); }

LONGREACH_HD inline int Solve(std::span<const uint8_t> input, std::span<uint8_t> target) {
  const TwoNumbers numbers(input);
  size_t digits = numbers.x.size() > numbers.y.size() ? numbers.x.size() : numbers.y.size();
  uint32_t carry = 0;
  for (size_t i = 0; i < digits; ++i) {
    const uint32_t x = i < numbers.x.size() ? numbers.x[i] : 0;
    const uint32_t y = i < numbers.y.size() ? numbers.y[i] : 0;
    target[i] = static_cast<uint8_t>((x + y + carry) & 1);
    carry = (x + y + carry) >> 1;
  }
  if (carry != 0) target[digits++] = 1;
  return EndTarget(target, WithoutLeadingZeros(target, digits));
}

}  // namespace longreach::trainer::tasks::binary_addition
