// Samples batches on the device.
#include <cuda_runtime.h>

#include <iterator>

#include "worker/trainer/kernels/current_stream.h"
#include "worker/trainer/kernels/sampling.h"
#include "worker/trainer/resident/sample.h"
#include "worker/trainer/tasks/all_tasks.h"  // Made of proto/catalog/tasks.def.

namespace longreach::trainer::resident {

namespace {

template <typename Task>
__global__ void SampleBatch(SampleArguments a) {
  const int sequence = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (sequence < a.batch) SampleSequence(Task(), a, sequence);
}

#define X(task, ...)                                                                                                          \
  struct Device_##task {                                                                                                      \
    __device__ void Sample(Draws& draws, std::span<uint8_t> input) const { tasks::task::Sample(draws, input); }               \
    __device__ void Solve(std::span<const uint8_t> input, std::span<uint8_t> target) const { tasks::task::Solve(input, target); } \
  };
#include "proto/catalog/tasks.def"
#undef X

// In the order of tasks::Tasks().
constexpr void (*kKernels[])(SampleArguments) = {
#define X(task, ...) SampleBatch<Device_##task>,
#include "proto/catalog/tasks.def"
#undef X
};

}  // namespace

cudaError_t LaunchSampleBatch(const SampleArguments& sample) {
  if (sample.task < 0 || static_cast<size_t>(sample.task) >= std::size(kKernels)) return cudaErrorInvalidValue;
  constexpr int kSequencesPerBlock = 32;  // A sequence takes a thread long: they are spread over multiprocessors.
  kKernels[sample.task]<<<(sample.batch + kSequencesPerBlock - 1) / kSequencesPerBlock, kSequencesPerBlock, 0, CurrentStream()>>>(sample);
  return cudaGetLastError();
}

}  // namespace longreach::trainer::resident
