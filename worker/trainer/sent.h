// Tensors on their way to a device.
#pragma once

#include "worker/trainer/torch.h"

namespace longreach::trainer {

// The same on `device`, where the work that follows there finds it; the host does not wait for work before. Undefined stays undefined.
inline Tensor Sent(const Tensor& tensor, at::Device device) {
  if (!tensor.defined() || tensor.device() == device) return tensor;
  // A GPU fetches by itself only what lies in pinned memory.
  return (at::isAccelerator(device.type()) ? tensor.pin_memory() : tensor).to(device, /*non_blocking=*/true);
}

}  // namespace longreach::trainer
