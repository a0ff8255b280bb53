// What every task's header needs. A task is a namespace longreach::trainer::tasks::<name> with four functions, iterative
// and without heap, compiled for the CPU and for CUDA:
//
//   int InputLength(int requested_length)    tokens of the input; requested lengths begin at 1
//   int OutputLength(int input_length)       tokens of the target
//   void Sample(Draws&, std::span<uint8_t> input)
//       fills an input of InputLength() tokens; the draws are the only source of randomness
//   int Solve(std::span<const uint8_t> input, std::span<uint8_t> target)
//       fills a target of OutputLength() tokens for an input of the task's vocabulary; returns how many of them, from the
//       first on, count for accuracy
//
// Its line in proto/catalog/tasks.def says the same of vocabularies and lengths; TaskContractTest compares the two.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "worker/trainer/random/host_device.h"
#include "worker/trainer/random/random_stream.h"

namespace longreach::trainer::tasks {

// Longest input; the work arrays of tasks are made for it.
inline constexpr int kMaxInputLength = 2048;

LONGREACH_HD inline void SampleBits(Draws& draws, std::span<uint8_t> bits) {
  for (uint8_t& bit : bits) bit = draws.Bit();
}

// Closes a target of varying length: after its first `size` tokens comes a 2, then zeros. Returns the number of tokens up
// to and including the 2, which are those that count for accuracy.
LONGREACH_HD inline int EndTarget(std::span<uint8_t> target, size_t size) {
  constexpr uint8_t kEnd = 2;
  target[size] = kEnd;
  for (size_t i = size + 1; i < target.size(); ++i) target[i] = 0;
  return static_cast<int>(size) + 1;
}

}  // namespace longreach::trainer::tasks
