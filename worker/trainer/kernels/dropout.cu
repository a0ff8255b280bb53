// Draws dropout's factors on the device, for LibTorch's operations.
#include "worker/trainer/kernels/dropout.h"

#include "worker/trainer/kernels/current_stream.h"

namespace longreach::trainer {

namespace {

__global__ void FillDropFactors(DropFactors factors) {
  const int64_t run = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (run < RunsOf(factors)) FillFactorRun(factors, run);
}

}  // namespace

cudaError_t LaunchDropFactors(const DropFactors& factors) {
  constexpr int kRunsPerBlock = 256;
  const int64_t runs = RunsOf(factors);
  if (runs == 0) return cudaSuccess;
  FillDropFactors<<<static_cast<unsigned>((runs + kRunsPerBlock - 1) / kRunsPerBlock), kRunsPerBlock, 0, CurrentStream()>>>(factors);
  return cudaGetLastError();
}

}  // namespace longreach::trainer
