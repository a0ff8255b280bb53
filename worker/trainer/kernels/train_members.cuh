// The resident kernel, for the files that compile it.
#pragma once

#include "worker/trainer/kernels/train_members.h"

namespace longreach::trainer::resident {

template <Positional kPositional>
__global__ void __launch_bounds__(kThreads, 1) TrainMembers(const __grid_constant__ StepArguments arguments) {
  extern __shared__ __align__(128) char shared[];
  TrainMember<kPositional>(arguments, static_cast<int>(blockIdx.x), shared);
}

template <Positional kPositional>
cudaError_t LaunchTrainMembers(const StepArguments& arguments) {
  // More than a kernel has without asking.
  static const cudaError_t allowed =
      cudaFuncSetAttribute(TrainMembers<kPositional>, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(kSharedBytes));
  if (allowed != cudaSuccess) return allowed;
  TrainMembers<kPositional><<<arguments.members, kThreads, kSharedBytes>>>(arguments);
  return cudaGetLastError();
}

}  // namespace longreach::trainer::resident
