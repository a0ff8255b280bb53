// Binary numbers of any length, a bit per token.
#pragma once

#include "worker/trainer/tasks/support/task.h"

namespace longreach::trainer::tasks {

// 32-bit limbs of the largest number that a task computes, and some to spare.
inline constexpr size_t kMaxLimbs = kMaxInputLength / 32 + 4;

// A uniform number but 0, in bits.size() bits.
LONGREACH_HD inline void SamplePositive(Draws& draws, std::span<uint8_t> bits) {
  // One bit needs two tries on the average; 64 fail once in 2^64 cases.
  for (int tries = 0; tries < 64; ++tries) {
    uint8_t any = 0;
    for (uint8_t& bit : bits) any |= bit = draws.Bit();
    if (any != 0) return;
  }
  bits[0] = 1;
}

// Two positive numbers, the lowest bit first, with a 2 between them; how many bits are the first one's is uniform. Lengths 1
// and 2 have room for one number only, which is below 2^length - 1: as in the source.
LONGREACH_HD inline void SampleTwoNumbers(Draws& draws, std::span<uint8_t> input) {
  constexpr uint8_t kSeparator = 2;
  const uint32_t length = static_cast<uint32_t>(input.size());
  if (length <= 2) {
    const uint32_t value = draws.Below((1u << length) - 1);
    for (uint32_t i = 0; i < length; ++i) input[i] = static_cast<uint8_t>(value >> i & 1);
    return;
  }
  const uint32_t length_x = 1 + draws.Below(length - 2);
  SamplePositive(draws, input.first(length_x));
  input[length_x] = kSeparator;
  SamplePositive(draws, input.subspan(length_x + 1));
}

// The two numbers of such an input; y is empty where there is only one.
struct TwoNumbers {
  std::span<const uint8_t> x;
  std::span<const uint8_t> y;

  LONGREACH_HD explicit TwoNumbers(std::span<const uint8_t> input) {
    size_t separator = 0;
    while (separator < input.size() && input[separator] != 2) ++separator;
    x = input.first(separator);
    if (separator < input.size()) y = input.subspan(separator + 1);
  }
};

// How many of `digits` digits, the lowest first, are left without leading zeros; the number 0 keeps one.
LONGREACH_HD inline size_t WithoutLeadingZeros(std::span<const uint8_t> number, size_t digits) {
  while (digits > 1 && number[digits - 1] == 0) --digits;
  return digits;
}

// Bits, the lowest first, into zeroed limbs, the lowest first. Returns the number of limbs.
LONGREACH_HD inline size_t PackBits(std::span<const uint8_t> bits, uint32_t* limbs) {
  for (size_t i = 0; i < bits.size(); ++i) limbs[i / 32] |= uint32_t{bits[i]} << (i % 32);
  return (bits.size() + 31) / 32;
}

// number = number * 2^bits + low, in place; bits is 1 to 31.
LONGREACH_HD inline void ShiftLeft(uint32_t* number, size_t limbs, int bits, uint32_t low) {
  for (size_t i = 0; i < limbs; ++i) {
    const uint32_t high = number[i] >> (32 - bits);
    number[i] = number[i] << bits | low;
    low = high;
  }
}

}  // namespace longreach::trainer::tasks
