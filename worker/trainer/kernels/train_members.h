// The resident kernel's launches. Each way of telling tokens apart is a file of its own, because each takes nvcc a minute.
#pragma once

#include <cuda_runtime.h>

#include "worker/trainer/resident/step.h"

namespace longreach::trainer::resident {

// One block for each member, in the default stream.
template <Positional kPositional>
cudaError_t LaunchTrainMembers(const StepArguments& arguments);

}  // namespace longreach::trainer::resident
