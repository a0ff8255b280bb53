// The launch of the kernel that draws dropout's factors.
#pragma once

#include <cuda_runtime.h>

#include "worker/trainer/random/drop_factors.h"

namespace longreach::trainer {

// A thread for each run, in CurrentStream().
cudaError_t LaunchDropFactors(const DropFactors& factors);

}  // namespace longreach::trainer
