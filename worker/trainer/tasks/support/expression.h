// Arithmetic expressions in brackets, modulo 5: their random grammar and their value. `Symbols` names the tokens: digits
// are 0 to 4, the operators are kOperators tokens from kPlus on, in the order +, -, *.
#pragma once

#include "worker/trainer/tasks/support/task.h"

namespace longreach::trainer::tasks {

inline constexpr uint8_t kModulus = 5;

// Fills `text` with a random expression of exactly its length: d, -d, (d), (-d), and from 5 on (left operator right),
// where the length of the left one is uniform.
template <typename Symbols>
LONGREACH_HD void SampleExpression(Draws& draws, std::span<uint8_t> text) {
  // Parts yet to write: one right-hand side for each bracket around the part at hand, and a bracket takes 4 more tokens.
  struct Part {
    uint16_t begin;
    uint16_t length;
  };
  Part waiting[kMaxInputLength / 4 + 1];
  int count = 0;
  Part part{0, static_cast<uint16_t>(text.size())};
  while (true) {
    while (part.length >= 5) {
      const uint32_t left = 1 + draws.Below(part.length - 4u);
      const uint32_t middle = part.begin + 1 + left;
      text[part.begin] = Symbols::kOpen;
      text[middle] = static_cast<uint8_t>(Symbols::kPlus + draws.Below(Symbols::kOperators));
      text[part.begin + part.length - 1u] = Symbols::kClose;
      waiting[count++] = {static_cast<uint16_t>(middle + 1), static_cast<uint16_t>(part.length - 3 - left)};
      part = {static_cast<uint16_t>(part.begin + 1), static_cast<uint16_t>(left)};
    }
    size_t place = part.begin;
    if (part.length >= 3) {
      text[place++] = Symbols::kOpen;
      text[part.begin + part.length - 1u] = Symbols::kClose;
    }
    if (part.length % 2 == 0) text[place++] = Symbols::kPlus + 1;
    text[place] = static_cast<uint8_t>(draws.Below(kModulus));
    if (count == 0) return;
    part = waiting[--count];
  }
}

// The value in 0..4 of such an expression, with `unknown` for the token kUnknown. Any other text gets some value too.
template <typename Symbols>
LONGREACH_HD uint8_t EvaluateExpression(std::span<const uint8_t> text, uint32_t unknown) {
  // What is known of the bracket at hand: the value so far, and what to do with the next operand.
  struct Bracket {
    uint8_t value = 0;
    uint8_t operation = 0;  // 0 +, 1 -, 2 *.
    bool wants_operand = true;
    bool negate = false;

    LONGREACH_HD void Take(uint32_t operand) {
      if (negate) operand = kModulus - operand;
      const uint32_t result = operation == 0   ? value + operand
                              : operation == 1 ? value + kModulus + kModulus - operand
                                               : value * operand;
      *this = {static_cast<uint8_t>(result % kModulus), 0, false, false};
    }
  };
  uint8_t outer[kMaxInputLength];  // The brackets around it, a byte each.
  size_t depth = 0;
  Bracket bracket;
  for (const uint8_t token : text) {
    if (token == Symbols::kOpen) {
      outer[depth++] = static_cast<uint8_t>(bracket.value | bracket.operation << 3 | bracket.wants_operand << 5 |
                                            bracket.negate << 6);
      bracket = {};
    } else if (token == Symbols::kClose) {
      if (depth == 0) continue;
      const uint8_t value = bracket.value;
      const uint8_t packed = outer[--depth];
      bracket = {static_cast<uint8_t>(packed & 7), static_cast<uint8_t>(packed >> 3 & 3), (packed >> 5 & 1) != 0,
                 (packed >> 6 & 1) != 0};
      bracket.Take(value);
    } else if (token < kModulus) {
      bracket.Take(token);
    } else if (token == Symbols::kUnknown) {
      bracket.Take(unknown);
    } else if (bracket.wants_operand) {
      bracket.negate = !bracket.negate;
    } else {
      bracket.operation = static_cast<uint8_t>(token - Symbols::kPlus);
      bracket.wants_operand = true;
    }
  }
  return bracket.value;
}

}  // namespace longreach::trainer::tasks
