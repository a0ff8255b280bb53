// Solve Equation: an expression in brackets with + and -, one digit of which is x, then = and its value modulo 5; which
// digit is x? Tokens: digits 0-4, + 5, - 6, ( 7, ) 8, x 9, = 10. Below length 3 all tokens and the answer are 0.
//
// As in the source, x is the first digit at or (cyclically) after a uniform place: a digit that follows a long run of
// symbols is chosen more often.
// Source: tasks/dcf/solve_equation.py of google-deepmind/randomized_positional_encodings.
#pragma once

#include "worker/trainer/tasks/support/expression.h"
#include "worker/trainer/tasks/support/task.h"

namespace longreach::trainer::tasks::solve_equation {

struct Symbols {
  static constexpr uint8_t kPlus = 5;
  static constexpr uint32_t kOperators = 2;
  static constexpr uint8_t kOpen = 7;
  static constexpr uint8_t kClose = 8;
  static constexpr uint8_t kUnknown = 9;
  static constexpr uint8_t kEquals = 10;
};

LONGREACH_HD inline int InputLength(int requested_length) { return requested_length; }
LONGREACH_HD inline int OutputLength(int /*input_length*/) { return 1; }

LONGREACH_HD inline void Sample(Draws& draws, std::span<uint8_t> input) {
  if (input.size() < 3) {
    for (uint8_t& token : input) token = 0;
    return;
  }
  const std::span<uint8_t> expression = input.first(input.size() - 2);
  SampleExpression<Symbols>(draws, expression);
  input[input.size() - 2] = Symbols::kEquals;
  input[input.size() - 1] = EvaluateExpression<Symbols>(expression, 0);
  size_t place = draws.Below(static_cast<uint32_t>(expression.size()));
  while (expression[place] >= kModulus) place = (place + 1) % expression.size();  // Every expression has a digit.
  expression[place] = Symbols::kUnknown;
}

LONGREACH_HD inline int Solve(std::span<const uint8_t> input, std::span<uint8_t> target) {
  target[0] = 0;
  if (input.size() < 3) return 1;
  // The value is constant + slope x with slope 1 or -1, which is its own inverse.
  const std::span<const uint8_t> expression = input.first(input.size() - 2);
  const uint32_t constant = EvaluateExpression<Symbols>(expression, 0);
  const uint32_t slope = EvaluateExpression<Symbols>(expression, 1) + kModulus - constant;
  target[0] = static_cast<uint8_t>((input.back() + kModulus - constant) * slope % kModulus);
  return 1;
}

}  // namespace longreach::trainer::tasks::solve_equation
