#include "scheduler/service/access/excess.h"

#include <fmt/format.h>

#include "proto/types/wire_limits.h"
#include "scheduler/service/limits.h"

namespace longreach::service {
namespace {

// A message, and what frames and TLS add.
constexpr uint64_t kBytesOfCall = kMaxMessageBytes + (1 << 20);
// What may be under way for calls that have ended, and what gRPC has read and not yet understood. Not more: of header fields without end
// gRPC keeps fourteen times what came, and up to fifty times when the connection ends.
constexpr uint64_t kBytesOfConnection = 4 << 20;

}  // namespace

std::string Excess(const Sent& sent) {
  if (sent.calls_open > (sent.admitted ? kMaxCallsOpen : kMaxCallsOpenOfStranger)) {
    return fmt::format("{} calls open at the same time, and a connection may have {}", sent.calls_open, kMaxCallsOfConnection);
  }
  // However many uploads there are: each has a message complete, and with it progress, after its largest message.
  if (sent.bytes_without_progress > sent.calls_at_most * kBytesOfCall + kBytesOfConnection) {
    return fmt::format("{} bytes, and no message or call complete", sent.bytes_without_progress);
  }
  return "";
}

}  // namespace longreach::service
