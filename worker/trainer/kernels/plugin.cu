// The CUDA plugin: the functions behind plugin_interface.h. No torch header here; nvcc would need minutes for one.
#include <cuda_runtime.h>

#include <cstdio>

#include "worker/trainer/kernels/dropout.h"
#include "worker/trainer/kernels/plugin_interface.h"
#include "worker/trainer/kernels/resident_plugin.h"

namespace longreach::trainer {

namespace {

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

int HaveWaitingSleep(char* error, size_t error_size) {
  const cudaError_t status = cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync);
  return status == cudaSuccess ? 0 : Fail(cudaGetErrorString(status), error, error_size);
}

// As nvidia-smi writes it: "GPU-" and 16 bytes with four '-' between them.
void WriteId(const cudaUUID_t& uuid, char* id, size_t id_size) {
  int at = std::snprintf(id, id_size, "GPU");
  for (int byte = 0; byte < 16; ++byte) {
    const bool begins_group = byte == 0 || byte == 4 || byte == 6 || byte == 8 || byte == 10;
    if (at < 0 || static_cast<size_t>(at) + 4 > id_size) return;
    at += std::snprintf(id + at, id_size - static_cast<size_t>(at), "%s%02x", begins_group ? "-" : "", static_cast<unsigned>(static_cast<unsigned char>(uuid.bytes[byte])));
  }
}

int DescribeDevice(int device, char* name, size_t name_size, char* id, size_t id_size, double* memory_bytes, char* error, size_t error_size) {
  cudaDeviceProp properties;
  const cudaError_t status = cudaGetDeviceProperties(&properties, device);
  if (status != cudaSuccess) return Fail(cudaGetErrorString(status), error, error_size);
  std::snprintf(name, name_size, "%s", properties.name);
  WriteId(properties.uuid, id, id_size);
  *memory_bytes = static_cast<double>(properties.totalGlobalMem);
  return 0;
}

int FillDropFactors(const DropFactors* factors, char* error, size_t error_size) {
  const cudaError_t status = LaunchDropFactors(*factors);
  return status == cudaSuccess ? 0 : Fail(cudaGetErrorString(status), error, error_size);
}

}  // namespace

}  // namespace longreach::trainer

extern "C" const LongreachCudaPlugin* longreach_cuda_plugin() {
  namespace trainer = longreach::trainer;
  static const LongreachCudaPlugin plugin = {LONGREACH_CUDA_PLUGIN_VERSION, trainer::CountDevices, trainer::HaveWaitingSleep, trainer::DescribeDevice,
                                             trainer::FillDropFactors, trainer::resident::CheckResident, trainer::resident::SampleOnDevice,
                                             trainer::resident::FillKeepOnDevice, trainer::resident::TrainStepOnDevice};
  return &plugin;
}
