// Where the plugin's work goes.
#pragma once

#include <cuda_runtime.h>

namespace longreach::trainer {

// LibTorch's current stream of the calling thread on the current device, so that kernels and LibTorch's operations take turns as they are asked for.
cudaStream_t CurrentStream();

}  // namespace longreach::trainer
