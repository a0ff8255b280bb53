// The CUDA plugin once LoadCudaPlugin() (worker/trainer/train.h) has loaded it.
#pragma once

#include <string>

#include "proto/base/status.h"
#include "worker/trainer/kernels/plugin_interface.h"

namespace longreach::trainer {

// nullptr before LoadCudaPlugin() has returned OK.
const LongreachCudaPlugin* LoadedCudaPlugin();

struct CudaDevice {
  std::string name;
  double memory_bytes = 0;
};

// FAILED_PRECONDITION when no plugin is loaded, INTERNAL when the device does not answer.
absl::StatusOr<CudaDevice> DescribeCudaDevice(int device);

}  // namespace longreach::trainer
