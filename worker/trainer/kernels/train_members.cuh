// The resident kernel, for the files that compile it: with the operands that they are compiled for.
#pragma once

#include <atomic>

#include "worker/trainer/kernels/train_members.h"
#include "worker/trainer/resident/step.h"

namespace longreach::trainer::resident {

inline namespace LONGREACH_RESIDENT_OPERANDS {

template <Positional kPositional>
__global__ void __launch_bounds__(kThreads, 1) TrainMembers(const __grid_constant__ StepArguments arguments) {
  extern __shared__ __align__(128) char shared[];
  TrainMember<kPositional>(arguments, static_cast<int>(blockIdx.x), shared);
}

}  // inline namespace LONGREACH_RESIDENT_OPERANDS

template <Operands kOfFile, Positional kPositional>
cudaError_t LaunchTrainMembers(const StepArguments& arguments) {
  static_assert(kOfFile == kOperands);
  // More than a kernel has without asking. A refusal is not remembered: it may be for want of memory that others had.
  static std::atomic<bool> allowed = false;
  if (!allowed) {
    const cudaError_t status = cudaFuncSetAttribute(TrainMembers<kPositional>, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(kSharedBytes));
    if (status != cudaSuccess) return status;
    allowed = true;
  }
  TrainMembers<kPositional><<<arguments.members, kThreads, kSharedBytes>>>(arguments);
  return cudaGetLastError();
}

}  // namespace longreach::trainer::resident
