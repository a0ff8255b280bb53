// The launch of the kernels that sample. A file of its own, because all tasks take nvcc long.
#pragma once

#include <cuda_runtime.h>

#include "worker/trainer/resident/step_arguments.h"

namespace longreach::trainer::resident {

// A thread for each sequence, in CurrentStream().
cudaError_t LaunchSampleBatch(const SampleArguments& sample);

}  // namespace longreach::trainer::resident
