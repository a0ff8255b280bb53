// Launches of the resident kernels.
#include "worker/trainer/kernels/resident_plugin.h"

#include <cuda_runtime.h>

#include <cstdio>

#include "worker/trainer/kernels/sampling.h"
#include "worker/trainer/kernels/train_members.h"
#include "worker/trainer/resident/keep_bits.h"

namespace longreach::trainer::resident {

namespace {

__global__ void FillKeep(KeepArguments keep) {
  const int word = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (word < keep.places * keep.tokens) FillKeepWord(keep, word);
}

int Answer(cudaError_t status, char* error, size_t error_size) {
  if (status == cudaSuccess) return 0;
  std::snprintf(error, error_size, "%s", cudaGetErrorString(status));
  return 1;
}

}  // namespace

int CheckResident(char* error, size_t error_size) {
  int device = 0, available = 0;
  cudaError_t status = cudaGetDevice(&device);
  if (status == cudaSuccess) status = cudaDeviceGetAttribute(&available, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  if (status == cudaSuccess && static_cast<size_t>(available) < kSharedBytes) {
    std::snprintf(error, error_size, "a block has at most %d bytes of shared memory there, and %zu are needed", available, kSharedBytes);
    return 1;
  }
  return Answer(status, error, error_size);
}

int SampleOnDevice(const SampleArguments* sample, char* error, size_t error_size) {
  return Answer(LaunchSampleBatch(*sample), error, error_size);
}

int FillKeepOnDevice(const KeepArguments* keep, char* error, size_t error_size) {
  constexpr int kWordsPerBlock = 128;
  const int words = keep->places * keep->tokens;
  FillKeep<<<(words + kWordsPerBlock - 1) / kWordsPerBlock, kWordsPerBlock>>>(*keep);
  return Answer(cudaGetLastError(), error, error_size);
}

int TrainStepOnDevice(const StepArguments* arguments, char* error, size_t error_size) {
  cudaError_t status = cudaErrorInvalidValue;
  switch (PositionalOf(*arguments)) {
    case Positional::kNone: status = LaunchTrainMembers<Positional::kNone>(*arguments); break;
    case Positional::kBias: status = LaunchTrainMembers<Positional::kBias>(*arguments); break;
    case Positional::kTrainedBias: status = LaunchTrainMembers<Positional::kTrainedBias>(*arguments); break;
    case Positional::kRotary: status = LaunchTrainMembers<Positional::kRotary>(*arguments); break;
  }
  return Answer(status, error, error_size);
}

}  // namespace longreach::trainer::resident
