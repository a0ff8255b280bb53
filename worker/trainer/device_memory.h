// What LibTorch keeps of a GPU's memory between two pieces of work.
#pragma once

#include "worker/trainer/torch.h"

namespace longreach::trainer {

// Gives it back to the device: other programs may need it, and packs of this process that are trained beside.
inline void ReleaseDeviceMemory(bool cuda) {
  if (!cuda) return;
  try {
    at::accelerator::emptyCache();
  } catch (const std::exception&) {
    // There is nothing to give back on a device that was never used, and one that does not answer has been told of already.
  }
}

}  // namespace longreach::trainer
