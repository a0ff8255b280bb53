// The resident kernels, for the files that compile it: with the operands that they are compiled for.
#pragma once

#include <atomic>

#include "worker/trainer/kernels/train_members.h"
#include "worker/trainer/resident/step.h"

namespace longreach::trainer::resident {

inline namespace LONGREACH_RESIDENT_OPERANDS {

template <Positional kPositional, class Part>
__global__ void __launch_bounds__(kThreads, 1) TrainMembers(const __grid_constant__ StepArguments arguments, Part part) {
  extern __shared__ __align__(1024) char shared[];
  RunPart<kPositional>(part, arguments, static_cast<int>(blockIdx.x), shared);
}

template <Positional kPositional, class Part>
cudaError_t Launch(const StepArguments& arguments, const Part& part, cudaStream_t stream) {
  // More than a kernel has without asking. A refusal is not remembered: it may be for want of memory that others had.
  static std::atomic<bool> allowed = false;
  if (!allowed) {
    const cudaError_t status =
        cudaFuncSetAttribute(TrainMembers<kPositional, Part>, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(Part::kSharedBytes));
    if (status != cudaSuccess) {
      (void)cudaGetLastError();  // Else the next launch of this thread would be taken for refused.
      return status;
    }
    allowed = true;
  }
  TrainMembers<kPositional><<<arguments.members * arguments.slices, kThreads, Part::kSharedBytes, stream>>>(arguments, part);
  return cudaGetLastError();
}

}  // inline namespace LONGREACH_RESIDENT_OPERANDS

template <Operands kOfFile, Positional kPositional>
cudaError_t LaunchTrainMembers(const StepArguments& arguments, cudaStream_t stream) {
  static_assert(kOfFile == kOperands);
  cudaError_t status = cudaSuccess;
  InOrder(arguments, [&](const auto& part) {
    if (status == cudaSuccess) status = Launch<kPositional>(arguments, part, stream);
  });
  return status;
}

}  // namespace longreach::trainer::resident
