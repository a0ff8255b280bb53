// Modular Arithmetic: the value modulo 5 of an expression in brackets with +, - and *. Tokens: digits 0-4, + 5, - 6, * 7,
// ( 8, ) 9. The vocabulary counts 11: the source shares it with solve_equation, whose x never occurs here.
// Source: tasks/dcf/modular_arithmetic_brackets.py of google-deepmind/randomized_positional_encodings.
#pragma once

#include "worker/trainer/tasks/support/expression.h"
#include "worker/trainer/tasks/support/task.h"

namespace longreach::trainer::tasks::modular_arithmetic_brackets {

struct Symbols {
  static constexpr uint8_t kPlus = 5;
  static constexpr uint32_t kOperators = 3;
  static constexpr uint8_t kOpen = 8;
  static constexpr uint8_t kClose = 9;
  static constexpr uint8_t kUnknown = 10;
};

LONGREACH_HD inline int InputLength(int requested_length) { return requested_length; }
LONGREACH_HD inline int OutputLength(int /*input_length*/) { return 1; }

LONGREACH_HD inline void Sample(Draws& draws, std::span<uint8_t> input) { SampleExpression<Symbols>(draws, input); }

LONGREACH_HD inline int Solve(std::span<const uint8_t> input, std::span<uint8_t> target) {
  target[0] = EvaluateExpression<Symbols>(input, 0);
  return 1;
}

}  // namespace longreach::trainer::tasks::modular_arithmetic_brackets
