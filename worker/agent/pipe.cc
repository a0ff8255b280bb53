#include "worker/agent/pipe.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace longreach::agent {
namespace {

constexpr size_t kLengthBytes = 4;

}  // namespace

std::string Frame(const google::protobuf::MessageLite& message) {
  const std::string content = message.SerializeAsString();
  std::string frame;
  frame.reserve(kLengthBytes + content.size());
  for (size_t i = 0; i < kLengthBytes; ++i) frame += static_cast<char>(content.size() >> (8 * i));
  return frame + content;
}

absl::StatusOr<std::optional<std::string>> FrameReader::Next() {
  const size_t there = buffer_.size() - read_;
  if (there < kLengthBytes) return std::nullopt;
  uint32_t length = 0;
  for (size_t i = 0; i < kLengthBytes; ++i) {
    length |= static_cast<uint32_t>(static_cast<unsigned char>(buffer_[read_ + i])) << (8 * i);
  }
  if (length > kMaxFrameBytes) {
    return absl::DataLossError(fmt::format("a message of {} bytes on the trainer's pipe; at most {} are sent", length,
                                           kMaxFrameBytes));
  }
  if (there < kLengthBytes + length) return std::nullopt;
  std::string content = buffer_.substr(read_ + kLengthBytes, length);
  read_ += kLengthBytes + length;
  if (read_ == buffer_.size() || read_ > (1u << 20)) {
    buffer_.erase(0, read_);
    read_ = 0;
  }
  return content;
}

absl::Status ChildPipe::Send(const v1::FromTrainer& message) {
  const std::string frame = Frame(message);
  std::string_view rest = frame;
  while (!rest.empty()) {
    const ssize_t sent = send(fd_, rest.data(), rest.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return absl::CancelledError(fmt::format("the agent is gone: {}", std::strerror(errno)));
    rest.remove_prefix(static_cast<size_t>(sent));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<v1::ToTrainer>> ChildPipe::Receive(bool wait) {
  while (true) {
    ASSIGN_OR_RETURN(const std::optional<std::string> content, reader_.Next());
    if (content.has_value()) {
      v1::ToTrainer message;
      if (!message.ParseFromString(*content)) return absl::DataLossError("a message that cannot be read on the pipe");
      return message;
    }
    char bytes[16384];
    const ssize_t received = recv(fd_, bytes, sizeof bytes, wait ? 0 : MSG_DONTWAIT);
    if (received > 0) {
      reader_.Append({bytes, static_cast<size_t>(received)});
    } else if (received < 0 && errno == EINTR) {
      continue;
    } else if (received < 0 && !wait && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      return std::nullopt;
    } else {
      return absl::CancelledError("the agent is gone");
    }
  }
}

}  // namespace longreach::agent
