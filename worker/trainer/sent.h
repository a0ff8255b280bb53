// Tensors on their way to a device, and from it.
#pragma once

#include "worker/trainer/own_stream.h"
#include "worker/trainer/torch.h"

namespace longreach::trainer {

// The same on `device`, where the work that follows there finds it; the host does not wait for work before. Undefined stays undefined.
inline Tensor Sent(const Tensor& tensor, at::Device device) {
  if (!tensor.defined() || tensor.device() == device) return tensor;
  // A GPU fetches by itself only what lies in pinned memory.
  return (at::isAccelerator(device.type()) ? tensor.pin_memory() : tensor).to(device, /*non_blocking=*/true);
}

// The same on the host, which waits for all that its thread has asked of the device.
inline Tensor Received(const Tensor& tensor) {
  if (tensor.device().is_cpu()) return tensor;
  // Where the device writes by itself: of a copy elsewhere CUDA waits for the end with locks held that other threads need.
  const Tensor host = at::empty(tensor.sizes(), tensor.options().device(at::kCPU).pinned_memory(true));
  host.copy_(tensor, /*non_blocking=*/true);
  WaitForDevice(tensor.device());
  return host;
}

}  // namespace longreach::trainer
