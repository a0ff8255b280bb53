// Associative Recall: pairs of a key (tokens 10 to 29) and a value (0 to 9), then one of the keys: what is its value? An even length begins with a 30,
// which means nothing. Lengths 1 and 2 have room for no pair; a value stands in the key's place and is the answer.
// The key that is asked for stands in one pair only, any of them. The other 19 come in random order, and in another one when all have been used: up to
// length 42 no key occurs twice, and the pair to be found is at any distance in longer ones, too.
// Source: arXiv:1610.06258, section 4.1, and arXiv:2312.04927, where keys are letters and words of a larger vocabulary: kernels of GPUs take 31 tokens.
#pragma once

#include "worker/trainer/tasks/support/task.h"

namespace longreach::trainer::tasks::associative_recall {

inline constexpr uint8_t kValues = 10;

LONGREACH_HD inline int InputLength(int requested_length) { return requested_length; }
LONGREACH_HD inline int OutputLength(int /*input_length*/) { return 1; }

LONGREACH_HD inline void Sample(Draws& draws, std::span<uint8_t> input) {
  constexpr uint32_t kKeys = 20;
  constexpr uint8_t kFiller = kValues + kKeys;
  const size_t first = input.size() % 2 == 0 ? 1 : 0;
  if (first == 1) input[0] = kFiller;
  const uint32_t pairs = static_cast<uint32_t>((input.size() - 1) / 2);
  if (pairs == 0) {
    input.back() = static_cast<uint8_t>(draws.Below(kValues));
    return;
  }
  uint8_t others[kKeys];
  for (uint32_t i = 0; i < kKeys; ++i) others[i] = static_cast<uint8_t>(kValues + i);
  const uint32_t asked_key = draws.Below(kKeys);
  input.back() = others[asked_key];
  others[asked_key] = others[kKeys - 1];
  const uint32_t asked = draws.Below(pairs);
  uint32_t used = 0;  // Of the others, which are the first kKeys - 1; these stand in front.
  for (uint32_t pair = 0; pair < pairs; ++pair) {
    uint8_t key = input.back();
    if (pair != asked) {
      if (used == kKeys - 1) used = 0;
      const uint32_t next = used + draws.Below(kKeys - 1 - used);
      key = others[next];
      others[next] = others[used];
      others[used++] = key;
    }
    input[first + 2 * pair] = key;
    input[first + 2 * pair + 1] = static_cast<uint8_t>(draws.Below(kValues));
  }
}

LONGREACH_HD inline int Solve(std::span<const uint8_t> input, std::span<uint8_t> target) {
  const uint8_t asked = input.back();
  target[0] = asked < kValues ? asked : 0;
  for (size_t i = 0; i + 2 < input.size(); ++i) {
    if (input[i] == asked && asked >= kValues && input[i + 1] < kValues) target[0] = input[i + 1];
  }
  return 1;
}

}  // namespace longreach::trainer::tasks::associative_recall
