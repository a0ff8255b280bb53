// Stack Manipulation: a stack of bits, bottom to top, then actions: pop (token 2), push 0 (3), push 1 (4); what is on
// the stack, top to bottom? Popping the empty stack does nothing. The target ends with a 2; after it there are zeros.
// Source: tasks/dcf/stack_manipulation.py of google-deepmind/randomized_positional_encodings.
#pragma once

#include "worker/trainer/tasks/support/task.h"

namespace longreach::trainer::tasks::stack_manipulation {

LONGREACH_HD inline int InputLength(int requested_length) { return requested_length; }
LONGREACH_HD inline int OutputLength(int input_length) { return input_length + 1; }

LONGREACH_HD inline void Sample(Draws& draws, std::span<uint8_t> input) {
  const uint32_t length = static_cast<uint32_t>(input.size());
  const uint32_t stack_size = length == 1 ? 1 : 1 + draws.Below(length - 1);
  SampleBits(draws, input.first(stack_size));
  for (uint8_t& action : input.subspan(stack_size)) action = static_cast<uint8_t>(2 + draws.Below(3));
}

LONGREACH_HD inline int Solve(std::span<const uint8_t> input, std::span<uint8_t> target) {
  constexpr uint8_t kPop = 2;
  constexpr uint8_t kPush0 = 3;
  size_t size = 0;  // The stack lies in `target`, bottom first.
  for (const uint8_t token : input) {
    if (token == kPop) {
      if (size > 0) --size;
    } else {
      target[size++] = token < kPop ? token : static_cast<uint8_t>(token - kPush0);
    }
  }
  for (size_t low = 0; low < size / 2; ++low) {
    const uint8_t bit = target[low];
    target[low] = target[size - 1 - low];
    target[size - 1 - low] = bit;
  }
  return EndTarget(target, size);
}

}  // namespace longreach::trainer::tasks::stack_manipulation
