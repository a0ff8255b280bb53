#include <exception>
#include <fstream>
#include <string>

#include "proto/base/instruction_sets.h"
#include "proto/base/resources.h"
#include "proto/base/text.h"
#include "worker/trainer/caught.h"
#include "worker/trainer/device.h"
#include "worker/trainer/kernels/cuda_plugin.h"
#include "worker/trainer/problems/kinds.h"
#include "worker/trainer/sent.h"
#include "worker/trainer/train.h"

namespace longreach::trainer {

namespace {

std::string CpuModel() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    const size_t colon = line.find(':');
    if (line.starts_with("model name") && colon != std::string::npos) {
      return std::string(Trim(std::string_view(line).substr(colon + 1)));
    }
  }
  return "CPU";
}

std::string WidestRegisters() {
#if defined(__x86_64__)
  if (RunsHere(InstructionSet::kAvx512)) return "AVX-512";
  if (RunsHere(InstructionSet::kAvx2)) return "AVX2";
  return "SSE2";
#elif defined(__aarch64__)
  return "NEON";
#else
  return "scalar";
#endif
}

}  // namespace

absl::StatusOr<Capabilities> DescribeMachine(bool cuda) {
  Capabilities capabilities;
  for (const ExperimentKind& kind : ExperimentKinds()) capabilities.experiments.emplace_back(kind.name);
  capabilities.threads = AvailableThreads();
  capabilities.memory_bytes = AvailableMemory();
  capabilities.device = CpuModel() + ", " + WidestRegisters();
  if (cuda) {
    ASSIGN_OR_RETURN(const CudaDevice device, DescribeCudaDevice(0));
    capabilities.device = device.name;
    capabilities.memory_bytes = device.memory_bytes;
  }
  return capabilities;
}

bool GpuAnswers() {
  try {
    return Received(at::ones({1}, at::TensorOptions(at::kFloat).device(DeviceOf(true))) + 1).item<float>() == 2;
  } catch (const std::exception& error) {
    return SaysOutOfMemory(error.what());  // Others have it, who compute.
  }
}

}  // namespace longreach::trainer
