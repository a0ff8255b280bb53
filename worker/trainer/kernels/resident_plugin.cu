// Launches of the resident kernels.
#include "worker/trainer/kernels/resident_plugin.h"

#include <cuda_runtime.h>

#include <cstdio>

#include "worker/trainer/kernels/current_stream.h"
#include "worker/trainer/kernels/sampling.h"
#include "worker/trainer/kernels/train_members.h"
#include "worker/trainer/resident/keep_bits.h"
#include "worker/trainer/resident/step.h"

namespace longreach::trainer::resident {

namespace {

__global__ void FillKeep(KeepArguments keep) {
  const int word = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (word < keep.places * keep.tokens) FillKeepWord(keep, word);
}

template <Operands kOperands>
cudaError_t Train(const StepArguments& arguments) {
  switch (PositionalOf(arguments)) {
    case Positional::kNone: return LaunchTrainMembers<kOperands, Positional::kNone>(arguments, CurrentStream());
    case Positional::kBias: return LaunchTrainMembers<kOperands, Positional::kBias>(arguments, CurrentStream());
    case Positional::kTrainedBias: return LaunchTrainMembers<kOperands, Positional::kTrainedBias>(arguments, CurrentStream());
    case Positional::kRotary: return LaunchTrainMembers<kOperands, Positional::kRotary>(arguments, CurrentStream());
  }
  return cudaErrorInvalidValue;
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
  if (status == cudaSuccess && static_cast<size_t>(available) < kMostSharedBytes) {
    std::snprintf(error, error_size, "a block has at most %d bytes of shared memory there, and %zu are needed", available, kMostSharedBytes);
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
  FillKeep<<<(words + kWordsPerBlock - 1) / kWordsPerBlock, kWordsPerBlock, 0, CurrentStream()>>>(*keep);
  return Answer(cudaGetLastError(), error, error_size);
}

int TrainStepOnDevice(const StepArguments* arguments, char* error, size_t error_size) {
  const bool float16 = arguments->operands == Operands::kFloat16;
  const cudaError_t status = float16 ? Train<Operands::kFloat16>(*arguments) : Train<Operands::kBfloat16>(*arguments);
  return Answer(status, error, error_size);
}

}  // namespace longreach::trainer::resident
