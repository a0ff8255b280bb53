// Where a thread's work on a GPU goes.
#pragma once

#include <c10/core/StreamGuard.h>

#include <optional>

#include "worker/trainer/torch.h"

namespace longreach::trainer {

// While it lives, what the calling thread asks of the GPU goes into a stream of that thread's own: it is done in the order in which it is asked for, and
// at the same time as what other threads ask for. (LibTorch has 32: of more threads some share one, and take turns.) On a CPU nothing changes.
class OwnStream {
 public:
  explicit OwnStream(bool cuda);
  // For a thread that helps another one: into that one's stream, as OfThread() told it there.
  explicit OwnStream(std::optional<c10::Stream> of_other);
  ~OwnStream();
  OwnStream(const OwnStream&) = delete;

  // That of the calling thread's OwnStream; nothing where there is none, or no GPU.
  static std::optional<c10::Stream> OfThread();

 private:
  std::optional<c10::Stream> before_;
  std::optional<c10::StreamGuard> guard_;
};

// Waits for all that the calling thread has asked of a device.
void WaitForDevice(at::Device device);

}  // namespace longreach::trainer
