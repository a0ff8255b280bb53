// Modular Arithmetic (Simple): digits 0 to 4 with +, - and * between them, `*` first, modulo 5. The length is odd: an
// even one is made one shorter. Tokens: digits 0-4, + 5, - 6, * 7; 8 is a blank that never occurs.
//
// The source multiplies in 32 bits and would wrap after about 15 consecutive `*`; here all is modulo 5.
// Source: tasks/regular/modular_arithmetic.py of google-deepmind/randomized_positional_encodings.
#pragma once

#include "worker/trainer/tasks/support/task.h"

namespace longreach::trainer::tasks::modular_arithmetic {

LONGREACH_HD inline int InputLength(int requested_length) { return requested_length - (requested_length + 1) % 2; }
LONGREACH_HD inline int OutputLength(int /*input_length*/) { return 1; }

LONGREACH_HD inline void Sample(Draws& draws, std::span<uint8_t> input) {
  for (size_t i = 0; i < input.size(); ++i) {
    input[i] = static_cast<uint8_t>(i % 2 == 0 ? draws.Below(5) : 5 + draws.Below(3));
  }
}

LONGREACH_HD inline int Solve(std::span<const uint8_t> input, std::span<uint8_t> target) {
  constexpr uint8_t kMinus = 6;
  constexpr uint8_t kTimes = 7;
  uint32_t sum = 0;             // Of the finished products.
  uint32_t product = input[0];  // With its sign.
  for (size_t i = 2; i < input.size(); i += 2) {
    const uint8_t operation = input[i - 1];
    const uint32_t digit = input[i];
    if (operation == kTimes) {
      product = product * digit % 5;
    } else {
      sum += product;
      product = operation == kMinus ? 5 - digit : digit;
    }
  }
  target[0] = static_cast<uint8_t>((sum + product) % 5);
  return 1;
}

}  // namespace longreach::trainer::tasks::modular_arithmetic
