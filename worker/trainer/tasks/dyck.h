// Dyck-2: are brackets of two kinds, ( is token 0, ) 1, [ 2 and ] 3, balanced? An odd length begins with a 4, which means nothing; length 1 has nothing
// else and is balanced.
// Half of the inputs are drawn from all balanced ones, each as likely as another. The others are such a one with two of its brackets exchanged, any two
// whose exchange breaks it: they have as many of each bracket as balanced ones, so counting does not tell.
// Source: the language 2DYCK of arXiv:1906.06755. How to draw a balanced one: D. Arnold and M. R. Sleep, Uniform random generation of balanced
// parenthesis strings, 1980.
#pragma once

#include "worker/trainer/tasks/support/task.h"

namespace longreach::trainer::tasks::dyck {

inline constexpr uint8_t kFiller = 4;

LONGREACH_HD inline int InputLength(int requested_length) { return requested_length; }
LONGREACH_HD inline int OutputLength(int /*input_length*/) { return 1; }

LONGREACH_HD inline bool IsBalanced(std::span<const uint8_t> text) {
  uint8_t open[kMaxInputLength];
  size_t depth = 0;
  for (const uint8_t token : text) {
    if (token == kFiller) continue;
    if (token % 2 == 0) {
      open[depth++] = token;
    } else if (depth == 0 || open[--depth] != token - 1) {
      return false;
    }
  }
  return depth == 0;
}

// Of an even size.
LONGREACH_HD inline void SampleBalanced(Draws& draws, std::span<uint8_t> text) {
  uint8_t open[kMaxInputLength / 2];
  uint32_t depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    // Of the ways to go on, (depth + 2) (left - depth) in 2 left (depth + 1) begin with an opening bracket.
    const uint32_t left = static_cast<uint32_t>(text.size() - i);
    if (draws.Below(2 * left * (depth + 1)) < (depth + 2) * (left - depth)) {
      open[depth] = text[i] = static_cast<uint8_t>(2 * draws.Bit());
      ++depth;
    } else {
      text[i] = static_cast<uint8_t>(open[--depth] + 1);
    }
  }
}

LONGREACH_HD inline void Exchange(std::span<uint8_t> text, size_t a, size_t b) {
  const uint8_t token = text[a];
  text[a] = text[b];
  text[b] = token;
}

LONGREACH_HD inline void Break(Draws& draws, std::span<uint8_t> text) {
  const uint32_t size = static_cast<uint32_t>(text.size());
  // About half of the exchanges break a long text. Of short ones it is 7 in 32 at least, so 64 fail less often than once in 6 million cases.
  for (int tries = 0; tries < 64; ++tries) {
    const uint32_t a = draws.Below(size);
    const uint32_t b = draws.Below(size);
    Exchange(text, a, b);
    if (!IsBalanced(text)) return;
    Exchange(text, a, b);
  }
  Exchange(text, 0, size - 1);  // It begins with a closing bracket now.
}

LONGREACH_HD inline void Sample(Draws& draws, std::span<uint8_t> input) {
  std::span<uint8_t> text = input;
  if (input.size() % 2 == 1) {
    input[0] = kFiller;
    text = input.subspan(1);
  }
  if (text.empty()) return;
  const uint8_t broken = draws.Bit();
  SampleBalanced(draws, text);
  if (broken == 1) Break(draws, text);
}

LONGREACH_HD inline int Solve(std::span<const uint8_t> input, std::span<uint8_t> target) {
  target[0] = IsBalanced(input) ? 1 : 0;
  return 1;
}

}  // namespace longreach::trainer::tasks::dyck
