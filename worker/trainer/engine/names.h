// Which engines there are, by name. Without torch: also for who only looks whether a name is one (train.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "worker/trainer/lanes/kernels.h"
#include "worker/trainer/resident/step_arguments.h"

namespace longreach::trainer {

inline constexpr char kLibtorch[] = "libtorch";
inline constexpr char kLibtorchTf32[] = "libtorch-tf32";  // On a GPU.

// The names of all engines that this machine can run on its CPU and that compute in float32: they agree within its
// errors.
std::vector<std::string> EngineNames();
// Those that round the operands of their matrix products (lanes/operands.h): what training with 16-bit operands would
// be like. Only who asks for one by name gets it.
std::vector<std::string> RoundedEngineNames();

// What is taken on a CPU when nobody asks: "lanes", which stands for the machine's best, or "libtorch".
std::string DefaultOnCpu();

// What an engine's name says of the resident kernels.
struct OwnKernels {
  std::string name;  // In full: "spread-fp16".
  bool on_gpu = false;
  resident::Operands operands = resident::Operands::kBfloat16;
  int slices = 1;
};
// Nothing: the name is no such engine's.
std::optional<OwnKernels> FindOwnKernels(const std::string& name);

// Of the lanes, by a full name or one that stands for the best; null: this machine runs none of that name.
const lanes::Kernels* FindKernels(const std::string& name);

// Why a name that is none of all these is refused.
std::string WhyNoEngine(const std::string& name);

}  // namespace longreach::trainer
