// Messages over the pipe between agent and trainer child: 4 bytes of length, little-endian, then the message.
#pragma once

#include <google/protobuf/message_lite.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "longreach/v1/trainer_pipe.pb.h"
#include "proto/base/status.h"

namespace longreach::agent {

// Larger ones are refused: a length that was never a length would otherwise ask for gigabytes.
inline constexpr uint32_t kMaxFrameBytes = 256u << 20;

std::string Frame(const google::protobuf::MessageLite& message);

// Cuts a stream of bytes into frames.
class FrameReader {
 public:
  void Append(std::string_view bytes) { buffer_.append(bytes); }
  // The next frame's content; nothing when more bytes are needed. DATA_LOSS: the length cannot be one; the stream is
  // useless from here on.
  absl::StatusOr<std::optional<std::string>> Next();
  // Bytes of a frame that has begun.
  bool mid_frame() const { return read_ < buffer_.size(); }

 private:
  std::string buffer_;
  size_t read_ = 0;
};

// The child's end. One thread only.
class ChildPipe {
 public:
  explicit ChildPipe(int fd) : fd_(fd) {}

  // Waits until the message is written. CANCELLED: the agent is gone.
  absl::Status Send(const v1::FromTrainer& message);
  // The next message; without `wait`, nothing when none is there. CANCELLED: the agent is gone. DATA_LOSS: garbage.
  absl::StatusOr<std::optional<v1::ToTrainer>> Receive(bool wait);

 private:
  int fd_;
  FrameReader reader_;
};

}  // namespace longreach::agent
