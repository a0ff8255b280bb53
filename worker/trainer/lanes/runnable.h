// Which of the lanes' kernels this machine can run. Without torch.
#pragma once

#include <vector>

#include "worker/trainer/lanes/kernels.h"

namespace longreach::trainer {

// Those of such operands that this machine can run, the fastest first.
std::vector<const lanes::Kernels*> RunnableKernels(lanes::Operands operands);

}  // namespace longreach::trainer
