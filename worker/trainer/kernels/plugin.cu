// The CUDA plugin: the functions behind plugin_interface.h. No torch header here; nvcc would need minutes for one.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>

#include "worker/trainer/kernels/plugin_interface.h"
#include "worker/trainer/kernels/resident_plugin.h"
#include "worker/trainer/tasks/all_tasks.h"  // Made of proto/catalog/tasks.def.
#include "worker/trainer/tasks/support/task.h"

namespace longreach::trainer::tasks {

namespace {

struct Shape {
  uint32_t first_sequence;
  int count;
  int input_length;
  int output_length;
};

// One thread makes one sequence, from draws that are its own: the bits do not depend on the shape of the grid.
template <typename Task>
__global__ void Fill(RandomStream stream, Shape shape, uint8_t* inputs, uint8_t* targets, int32_t* valid) {
  const int row = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (row >= shape.count) return;
  Draws draws(stream, shape.first_sequence + static_cast<uint32_t>(row));
  const std::span<uint8_t> input(inputs + size_t{static_cast<uint32_t>(row)} * shape.input_length,
                                 static_cast<size_t>(shape.input_length));
  const std::span<uint8_t> target(targets + size_t{static_cast<uint32_t>(row)} * shape.output_length,
                                  static_cast<size_t>(shape.output_length));
  Task::Sample(draws, input);
  valid[row] = Task::Solve(input, target);
}

#define X(task, ...)                                                                                  \
  struct Device_##task {                                                                              \
    __device__ static void Sample(Draws& draws, std::span<uint8_t> input) { task::Sample(draws, input); } \
    __device__ static int Solve(std::span<const uint8_t> input, std::span<uint8_t> target) {          \
      return task::Solve(input, target);                                                              \
    }                                                                                                 \
  };
#include "proto/catalog/tasks.def"
#undef X

struct Entry {
  const char* name;
  int (*InputLength)(int requested_length);
  int (*OutputLength)(int input_length);
  void (*Kernel)(RandomStream, Shape, uint8_t*, uint8_t*, int32_t*);
};

const Entry kEntries[] = {
#define X(task, ...) {#task, task::InputLength, task::OutputLength, Fill<Device_##task>},
#include "proto/catalog/tasks.def"
#undef X
};

// Device memory for the time of one call.
class DeviceBuffer {
 public:
  explicit DeviceBuffer(size_t bytes) : status_(cudaMalloc(&memory_, bytes)) {}
  ~DeviceBuffer() { cudaFree(memory_); }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  cudaError_t status() const { return status_; }
  template <typename T>
  T* As() const {
    return static_cast<T*>(memory_);
  }

 private:
  void* memory_ = nullptr;
  cudaError_t status_;
};

int Fail(const char* what, char* error, size_t error_size) {
  std::snprintf(error, error_size, "%s", what);
  return 1;
}

int CountDevices(char* error, size_t error_size) {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaSuccess) return count;
  // CUDA calls it an insufficient driver also when there is none.
  const bool no_driver = status == cudaErrorInsufficientDriver;
  Fail(no_driver ? "no NVIDIA driver, or one too old for this CUDA" : cudaGetErrorString(status), error, error_size);
  return 0;
}

int DescribeDevice(int device, char* name, size_t name_size, double* memory_bytes, char* error, size_t error_size) {
  cudaDeviceProp properties;
  const cudaError_t status = cudaGetDeviceProperties(&properties, device);
  if (status != cudaSuccess) return Fail(cudaGetErrorString(status), error, error_size);
  std::snprintf(name, name_size, "%s", properties.name);
  *memory_bytes = static_cast<double>(properties.totalGlobalMem);
  return 0;
}

int FillBatchOnDevice(const LongreachCudaBatch* batch, char* error, size_t error_size) {
  const Entry* entry = nullptr;
  for (const Entry& known : kEntries) {
    if (std::strcmp(known.name, batch->task) == 0) entry = &known;
  }
  if (entry == nullptr) return Fail("no such task in the CUDA plugin", error, error_size);
  if (batch->requested_length < 1 || batch->requested_length > kMaxInputLength) {
    return Fail("a length that no task has", error, error_size);
  }
  if (batch->count < 1 || batch->first_sequence >= Draws::kMaxSequences ||
      static_cast<uint32_t>(batch->count) > Draws::kMaxSequences - batch->first_sequence) {
    return Fail("a batch that is empty or too large", error, error_size);
  }
  const int input_length = entry->InputLength(batch->requested_length);
  const Shape shape = {batch->first_sequence, batch->count, input_length, entry->OutputLength(input_length)};
  const size_t rows = static_cast<size_t>(batch->count);
  const size_t input_bytes = rows * static_cast<size_t>(shape.input_length);
  const size_t target_bytes = rows * static_cast<size_t>(shape.output_length);
  const size_t valid_bytes = rows * sizeof(int32_t);
  const DeviceBuffer inputs(input_bytes);
  const DeviceBuffer targets(target_bytes);
  const DeviceBuffer valid(valid_bytes);
  for (const DeviceBuffer* buffer : {&inputs, &targets, &valid}) {
    if (buffer->status() != cudaSuccess) return Fail(cudaGetErrorString(buffer->status()), error, error_size);
  }
  const RandomStream stream = {batch->key, static_cast<Purpose>(batch->purpose), batch->layer, batch->step};
  constexpr int kThreads = 64;
  entry->Kernel<<<(batch->count + kThreads - 1) / kThreads, kThreads>>>(
      stream, shape, inputs.As<uint8_t>(), targets.As<uint8_t>(), valid.As<int32_t>());
  cudaError_t status = cudaGetLastError();
  const auto fetch = [&](void* to, const DeviceBuffer& from, size_t bytes) {
    if (status == cudaSuccess) status = cudaMemcpy(to, from.As<void>(), bytes, cudaMemcpyDeviceToHost);
  };
  fetch(batch->inputs, inputs, input_bytes);
  fetch(batch->targets, targets, target_bytes);
  fetch(batch->valid, valid, valid_bytes);
  return status == cudaSuccess ? 0 : Fail(cudaGetErrorString(status), error, error_size);
}

}  // namespace

}  // namespace longreach::trainer::tasks

extern "C" const LongreachCudaPlugin* longreach_cuda_plugin() {
  namespace tasks = longreach::trainer::tasks;
  namespace resident = longreach::trainer::resident;
  static const LongreachCudaPlugin plugin = {LONGREACH_CUDA_PLUGIN_VERSION, tasks::CountDevices, tasks::DescribeDevice,
                                             tasks::FillBatchOnDevice, resident::CheckResident, resident::FillKeepOnDevice,
                                             resident::TrainStepOnDevice};
  return &plugin;
}
