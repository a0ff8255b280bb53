// Where the resident kernels run: on a GPU, or lane by lane on the CPU. The engine knows nothing else of it.
#pragma once

#include <functional>
#include <string>

#include "worker/trainer/resident/step_arguments.h"

namespace longreach::trainer::resident {

// Work is done in the order in which it is asked for; a call may return before.
struct Launcher {
  std::string name;  // Of the engine: "resident-bf16".
  bool cuda = false;
  Operands operands = Operands::kBfloat16;  // For StepArguments, as the next one.
  int slices = 1;
  // Throw std::runtime_error with the device's words when it refuses.
  std::function<void(const SampleArguments&)> sample;
  std::function<void(const KeepArguments&)> fill_keep;
  std::function<void(const StepArguments&)> train;
};

// Every thread of a GPU's block is a fiber of the calling thread: for tests, thousands of times slower than anything else.
Launcher EmulatedLauncher(Operands operands, int slices = 1);

// Bytes of memory that a member of so many layers works in, and each of its slices of so many tokens.
size_t WorkBytes(int layers);
size_t SliceBytes(int layers, int tokens);

}  // namespace longreach::trainer::resident
