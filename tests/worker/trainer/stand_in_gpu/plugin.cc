// The table of functions of the CUDA plugin (worker/trainer/kernels/plugin_interface.h) for the stand-in: the same kernels, lane by lane.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>

#include "tests/worker/trainer/stand_in_gpu/memory.h"
#include "worker/trainer/kernels/plugin_interface.h"
#include "worker/trainer/resident/launcher.h"

namespace longreach::stand_in_gpu {

namespace {

using namespace trainer;

// Runs a kernel on a copy of its arguments, whose pointers it has Lead() replace.
template <typename Arguments, typename Kernel>
int Launch(const Arguments* arguments, char* error, size_t error_size, Kernel kernel) {
  try {
    kernel(*arguments);
    return 0;
  } catch (const std::exception& failure) {
    std::snprintf(error, error_size, "%s", failure.what());
    return 1;
  }
}

// What a kernel's argument leads to, which has to be on the device.
template <typename T>
T* There(T* address) {
  if (address != nullptr && !DeviceMemory::Ours().Has(address)) throw std::invalid_argument("an argument of a kernel lies on the host");
  return DeviceMemory::Ours().ForKernel(address);
}

template <typename... T>
void Lead(T*&... pointers) {
  ((pointers = There(pointers)), ...);
}

int CountDevices(char*, size_t) { return 1; }

int HaveWaitingSleep(char*, size_t) { return 0; }

int DescribeDevice(int, char* name, size_t name_size, char* id, size_t id_size, double* memory_bytes, char*, size_t) {
  // As CUDA would see it.
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  std::snprintf(name, name_size, "stand-in for a GPU%s%s", visible == nullptr ? "" : " ", visible == nullptr ? "" : visible);
  std::snprintf(id, id_size, "GPU-stand-in%s%s", visible == nullptr ? "" : "-", visible == nullptr ? "" : visible);
  *memory_bytes = static_cast<double>(DeviceMemory::kBytes);
  return 0;
}

int FillFactors(const DropFactors* factors, char* error, size_t error_size) {
  return Launch(factors, error, error_size, [](DropFactors there) {
    Lead(there.factors);
    for (int64_t run = 0; run < RunsOf(there); ++run) FillFactorRun(there, run);
  });
}

int CheckResident(char*, size_t) { return 0; }

const resident::Launcher& Lanes(resident::Operands operands) {
  // Of a thread: a launcher has one block's shared memory, and several threads launch at a time.
  thread_local const resident::Launcher bfloat16 = resident::EmulatedLauncher(resident::Operands::kBfloat16);
  thread_local const resident::Launcher float16 = resident::EmulatedLauncher(resident::Operands::kFloat16);
  return operands == resident::Operands::kFloat16 ? float16 : bfloat16;
}

int Sample(const resident::SampleArguments* sample, char* error, size_t error_size) {
  return Launch(sample, error, error_size, [](resident::SampleArguments there) {
    Lead(there.tokens, there.targets);
    Lanes(resident::Operands::kBfloat16).sample(there);
  });
}

int FillKeep(const resident::KeepArguments* keep, char* error, size_t error_size) {
  return Launch(keep, error, error_size, [](resident::KeepArguments there) {
    Lead(there.keep);
    Lanes(resident::Operands::kBfloat16).fill_keep(there);
  });
}

int TrainStep(const resident::StepArguments* step, char* error, size_t error_size) {
  return Launch(step, error, error_size, [](resident::StepArguments there) {
    Lead(there.tokens, there.targets, there.keep, there.addition, there.rotation, there.tables, there.distances, there.parameters,
         there.moment1, there.moment2, there.gradients, there.live, there.work, there.slice_work, there.parts, there.sums, there.learning_rates, there.outcomes,
         there.clocks);
    Lanes(there.operands).train(there);
  });
}

}  // namespace

}  // namespace longreach::stand_in_gpu

extern "C" const LongreachCudaPlugin* longreach_cuda_plugin() {
  using namespace longreach::stand_in_gpu;
  static const LongreachCudaPlugin plugin = {LONGREACH_CUDA_PLUGIN_VERSION, CountDevices, HaveWaitingSleep, DescribeDevice, FillFactors, CheckResident,
                                             Sample, FillKeep, TrainStep};
  return &plugin;
}
