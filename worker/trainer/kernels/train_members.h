// The resident kernels' launches. Each way of telling tokens apart, with each kind of operands, is a file of its own to nvcc, because each
// takes it a minute.
#pragma once

#include <cuda_runtime.h>

#include "worker/trainer/resident/step_arguments.h"

namespace longreach::trainer::resident {

// The parts of an update (step.h), with a block for each slice of each member. kPositional: PositionalOf(arguments).
template <Operands kOperands, Positional kPositional>
cudaError_t LaunchTrainMembers(const StepArguments& arguments, cudaStream_t stream);

}  // namespace longreach::trainer::resident
