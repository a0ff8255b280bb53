// The CUDA plugin once LoadCudaPlugin() (worker/trainer/train.h) has loaded it.
#pragma once

#include <functional>
#include <string>

#include "proto/base/status.h"
#include "worker/trainer/kernels/plugin_interface.h"

namespace longreach::trainer {

// nullptr before LoadCudaPlugin() has returned OK.
const LongreachCudaPlugin* LoadedCudaPlugin();

// 0 where none is loaded.
int CountCudaDevices();

struct CudaDevice {
  std::string name;
  double memory_bytes = 0;
  std::string id;  // As plugin_interface.h says.
};

// FAILED_PRECONDITION when no plugin is loaded, INTERNAL when the device does not answer.
absl::StatusOr<CudaDevice> DescribeCudaDevice(int device);

// Draws dropout's factors on the device. Only where a plugin is loaded; throws std::runtime_error with the device's words when it refuses.
std::function<void(const DropFactors&)> CudaDropFactors();

}  // namespace longreach::trainer
