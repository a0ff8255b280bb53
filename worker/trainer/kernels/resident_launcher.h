// The resident kernels on a GPU, by way of the CUDA plugin.
#pragma once

#include <string>

#include "worker/trainer/resident/launcher.h"

namespace longreach::trainer {

// Why this machine's GPU cannot run them: "the CUDA plugin is not loaded". Empty: it can.
std::string WhyNoResidentLauncher();

// Only where WhyNoResidentLauncher() is empty.
resident::Launcher CudaResidentLauncher(resident::Operands operands);

}  // namespace longreach::trainer
