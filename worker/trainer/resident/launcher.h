// Where the resident kernels run: on a GPU, or lane by lane on the CPU. The engine knows nothing else of it.
#pragma once

#include <functional>
#include <string>

#include "worker/trainer/resident/step_arguments.h"

namespace longreach::trainer::resident {

// Work is done in the order in which it is asked for; a call may return before.
struct Launcher {
  bool cuda = false;
  Operands operands = Operands::kBfloat16;  // For StepArguments.
  // Throw std::runtime_error with the device's words when it refuses.
  std::function<void(const SampleArguments&)> sample;
  std::function<void(const KeepArguments&)> fill_keep;
  std::function<void(const StepArguments&)> train;

  // Of the engine, which the registry knows: "resident-bf16", and for StepArguments.
  std::string name = {};
  int slices = 1;
};

// Every thread of a GPU's block is a fiber of the calling thread: for tests, thousands of times slower than anything else.
Launcher EmulatedLauncher(Operands operands);

// Bytes of memory that a member of so many layers works in, and each of its slices of so many tokens.
size_t WorkBytes(int layers);
size_t SliceBytes(int layers, int tokens);

}  // namespace longreach::trainer::resident
