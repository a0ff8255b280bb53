// Where tensors are computed with.
#pragma once

#include "worker/trainer/torch.h"

namespace longreach::trainer {

// The host's processor, or the GPU that LibTorch was given by the plugin (LoadCudaPlugin): CUDA's. Throws where it was given none.
inline at::Device DeviceOf(bool cuda) {
  return cuda ? at::Device(at::getAccelerator(/*checked=*/true).value(), 0) : at::Device(at::kCPU);
}

}  // namespace longreach::trainer
