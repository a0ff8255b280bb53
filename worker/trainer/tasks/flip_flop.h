// Flip-Flop: a memory of one bit. Instructions write (token 2), read (3) and ignore (4) have a bit each: what is written, what was last written, or
// any. The first writes. The last is a read without its bit: which is it? An even length begins with a 5, which means nothing.
// Lengths 1 and 2 have room for the last read only; before anything is written the memory is 0.
// Source: arXiv:2306.00946, FFL(0.8): of the instructions between, eight in ten ignore, so that the last write is far away at times and the bits
// between mislead. It asks at all reads, here the last one is asked for.
#pragma once

#include "worker/trainer/tasks/support/task.h"

namespace longreach::trainer::tasks::flip_flop {

inline constexpr uint8_t kWrite = 2;
inline constexpr uint8_t kRead = 3;

LONGREACH_HD inline int InputLength(int requested_length) { return requested_length; }
LONGREACH_HD inline int OutputLength(int /*input_length*/) { return 1; }

LONGREACH_HD inline void Sample(Draws& draws, std::span<uint8_t> input) {
  constexpr uint8_t kIgnore = 4;
  constexpr uint8_t kFiller = 5;
  const size_t first = input.size() % 2 == 0 ? 1 : 0;
  if (first == 1) input[0] = kFiller;
  uint8_t memory = 0;
  for (size_t i = first; i + 1 < input.size(); i += 2) {
    const uint32_t tenth = i == first ? 0 : draws.Below(10);
    input[i] = tenth == 0 ? kWrite : tenth == 1 ? kRead : kIgnore;
    input[i + 1] = input[i] == kRead ? memory : draws.Bit();
    if (input[i] == kWrite) memory = input[i + 1];
  }
  input.back() = kRead;
}

LONGREACH_HD inline int Solve(std::span<const uint8_t> input, std::span<uint8_t> target) {
  target[0] = 0;
  for (size_t i = 0; i + 1 < input.size(); ++i) {
    if (input[i] == kWrite && input[i + 1] < 2) target[0] = input[i + 1];
  }
  return 1;
}

}  // namespace longreach::trainer::tasks::flip_flop
