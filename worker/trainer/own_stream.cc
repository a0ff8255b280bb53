#include "worker/trainer/own_stream.h"

#include <utility>

#include "worker/trainer/device.h"

namespace longreach::trainer {

namespace {

thread_local std::optional<c10::Stream> of_thread;

// LibTorch deals them out in turn, so a thread keeps the one that it was given.
c10::Stream StreamOfThread(at::Device device) {
  thread_local const c10::Stream stream = c10::impl::VirtualGuardImpl(device.type()).getStreamFromGlobalPool(device);
  return stream;
}

}  // namespace

OwnStream::OwnStream(bool cuda) : OwnStream(cuda ? std::optional(StreamOfThread(DeviceOf(cuda))) : std::nullopt) {}

OwnStream::OwnStream(std::optional<c10::Stream> of_other) : before_(std::exchange(of_thread, of_other)) {
  if (of_other.has_value()) guard_.emplace(*of_other);
}

OwnStream::~OwnStream() { of_thread = before_; }

std::optional<c10::Stream> OwnStream::OfThread() { return of_thread; }

void WaitForDevice(at::Device device) {
  if (!device.is_cpu()) c10::impl::VirtualGuardImpl(device.type()).getStream(device).synchronize();
}

}  // namespace longreach::trainer
