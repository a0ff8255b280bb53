// The resident kernels, for the files that compile it: with the operands that they are compiled for.
#pragma once

#include <atomic>

#include "worker/trainer/kernels/train_members.h"
#include "worker/trainer/resident/step.h"

namespace longreach::trainer::resident {

inline namespace LONGREACH_RESIDENT_OPERANDS {

// All of them are templates so that each file that compiles one has its own.
template <Positional kPositional>
__global__ void __launch_bounds__(kThreads, 1) PrepareMembers(const __grid_constant__ StepArguments arguments) {
  PrepareMember(arguments, static_cast<int>(blockIdx.x));
}
template <Positional kPositional>
__global__ void __launch_bounds__(kThreads, 1) TrainSlices(const __grid_constant__ StepArguments arguments) {
  extern __shared__ __align__(128) char shared[];
  TrainSlice<kPositional>(arguments, static_cast<int>(blockIdx.x), shared);
}
template <Positional kPositional>
__global__ void __launch_bounds__(kThreads, 1) AddAllSlices(const __grid_constant__ StepArguments arguments) {
  __shared__ __align__(128) char shared[SquaredNormSharedBytes()];
  AddSlices(arguments, static_cast<int>(blockIdx.x), shared);
}
template <Positional kPositional>
__global__ void __launch_bounds__(kThreads, 1) UpdateMembers(const __grid_constant__ StepArguments arguments) {
  UpdateMember(arguments, static_cast<int>(blockIdx.x));
}

}  // inline namespace LONGREACH_RESIDENT_OPERANDS

template <Operands kOfFile, Positional kPositional>
cudaError_t LaunchTrainMembers(const StepArguments& arguments, cudaStream_t stream) {
  static_assert(kOfFile == kOperands);
  // More than a kernel has without asking. A refusal is not remembered: it may be for want of memory that others had.
  static std::atomic<bool> allowed = false;
  if (!allowed) {
    const cudaError_t status = cudaFuncSetAttribute(TrainSlices<kPositional>, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(kSharedBytes));
    if (status != cudaSuccess) return status;
    allowed = true;
  }
  const int blocks = arguments.members * arguments.slices;
  if (arguments.make_gradients) {
    PrepareMembers<kPositional><<<blocks, kThreads, 0, stream>>>(arguments);
    TrainSlices<kPositional><<<blocks, kThreads, kSharedBytes, stream>>>(arguments);
  }
  AddAllSlices<kPositional><<<blocks, kThreads, 0, stream>>>(arguments);
  if (arguments.update) UpdateMembers<kPositional><<<blocks, kThreads, 0, stream>>>(arguments);
  return cudaGetLastError();
}

}  // namespace longreach::trainer::resident
