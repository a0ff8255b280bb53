// A sequence of a batch, drawn where the kernels run: a thread makes one, from draws that are its own, so its bits are those of the CPU.
#pragma once

#include <span>

#include "worker/trainer/resident/step_arguments.h"
#include "worker/trainer/resident/warp.h"

namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS {

// `task` has Sample() and Solve(), as support/task.h of the tasks says.
template <typename Task>
LONGREACH_DEVICE void SampleSequence(const Task& task, const SampleArguments& a, int sequence) {
  Draws draws(a.stream, static_cast<uint32_t>(sequence));
  uint8_t* const tokens = a.tokens + int64_t{sequence} * a.tape;
  const std::span<uint8_t> input(tokens, static_cast<size_t>(a.tape - a.outputs));
  task.Sample(draws, input);
  task.Solve(input, std::span<uint8_t>(a.targets + int64_t{sequence} * a.outputs, static_cast<size_t>(a.outputs)));
  for (int t = a.tape - a.outputs; t < a.tape; ++t) tokens[t] = a.empty;
}

}  // namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS
