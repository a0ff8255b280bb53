#include <torch/headeronly/version.h>

#include <exception>
#include <string>

#include "proto/base/processors.h"
#include "proto/base/resources.h"
#include "proto/base/text.h"
#include "worker/trainer/caught.h"
#include "worker/trainer/device.h"
#include "worker/trainer/engine/engine.h"
#include "worker/trainer/kernels/cuda_plugin.h"
#include "worker/trainer/problems/kinds.h"
#include "worker/trainer/sent.h"
#include "worker/trainer/train.h"

namespace longreach::trainer {

namespace {

// What LibTorch says when it is to add one and one there; empty: it did.
std::string WhyItDoesNotCompute(at::Device device) {
  const absl::StatusOr<float> sum = Caught<float>([&]() -> absl::StatusOr<float> {
    return Received(at::ones({1}, at::TensorOptions(at::kFloat).device(device)) + 1).item<float>();
  });
  if (!sum.ok()) return std::string(sum.status().message());
  return *sum == 2 ? "" : Text("one and one are ", *sum, " there");
}

CpuDevice LookAtCpu() {
  const ProcessorKind processor = OwnProcessorKind();
  return {.model = processor.model,
          .registers = processor.registers,
          .threads = AvailableThreads(),
          .memory_bytes = AvailableMemory(),
          .engine = UsualEngine(/*cuda=*/false),
          .engines = EngineNames(),
          .problem = WhyItDoesNotCompute(at::kCPU)};
}

// Of CUDA's, and of no other device that a plugin may stand for.
std::string CudaVersion() {
  const absl::StatusOr<long> version = Caught<long>([]() -> absl::StatusOr<long> { return at::globalContext().versionCUDART(); });
  return version.ok() ? Text(*version / 1000, ".", *version % 1000 / 10) : "";  // 13000 is 13.0.
}

GpuDevice LookAtGpu(int number) {
  GpuDevice gpu;
  const absl::StatusOr<CudaDevice> described = DescribeCudaDevice(number);
  if (!described.ok()) {
    gpu.problem = std::string(described.status().message());
    return gpu;
  }
  gpu.name = described->name;
  gpu.memory_bytes = described->memory_bytes;
  const absl::StatusOr<std::string> engine = Caught<std::string>([&]() -> absl::StatusOr<std::string> {
    const at::Device device(DeviceOf(/*cuda=*/true).type(), static_cast<c10::DeviceIndex>(number));
    gpu.problem = WhyItDoesNotCompute(device);
    const c10::DeviceGuard current(device);
    return UsualEngine(/*cuda=*/true);
  });
  if (engine.ok()) gpu.engine = *engine;
  else gpu.problem = std::string(engine.status().message());
  // Not every allocator tells.
  const absl::StatusOr<double> free = Caught<double>(
      [&]() -> absl::StatusOr<double> { return static_cast<double>(at::accelerator::getMemoryInfo(static_cast<c10::DeviceIndex>(number)).first); });
  if (free.ok()) gpu.memory_free_bytes = *free;
  return gpu;
}

}  // namespace

absl::StatusOr<Capabilities> DescribeMachine(bool cuda) {
  Capabilities capabilities;
  for (const ExperimentKind& kind : ExperimentKinds()) capabilities.experiments.emplace_back(kind.name);
  capabilities.threads = AvailableThreads();
  capabilities.memory_bytes = AvailableMemory();
  capabilities.device = DescribeOwnProcessor();
  capabilities.device_id = OwnProcessors();
  if (cuda) {
    ASSIGN_OR_RETURN(const CudaDevice device, DescribeCudaDevice(0));
    capabilities.device = device.name;
    capabilities.memory_bytes = device.memory_bytes;
    capabilities.device_id = device.id;
  }
  return capabilities;
}

Devices LookAtDevices(const std::filesystem::path& cuda_plugin) {
  const absl::Status loaded = LoadCudaPlugin(cuda_plugin);  // Before LibTorch is asked for anything.
  Devices devices{.libtorch = TORCH_VERSION, .cpu = LookAtCpu(), .gpus = {}, .no_gpu = std::string(loaded.message()), .cuda = {}};
  if (!loaded.ok()) return devices;
  devices.cuda = CudaVersion();
  const int gpus = CountCudaDevices();
  for (int number = 0; number < gpus; ++number) devices.gpus.push_back(LookAtGpu(number));
  return devices;
}

bool GpuAnswers() {
  try {
    return Received(at::ones({1}, at::TensorOptions(at::kFloat).device(DeviceOf(true))) + 1).item<float>() == 2;
  } catch (const std::exception& error) {
    return SaysOutOfMemory(error.what());  // Others have it, who compute.
  }
}

}  // namespace longreach::trainer
