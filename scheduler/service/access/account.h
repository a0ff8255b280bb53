// Makes of successive readings of a connection what it has sent, and since when without getting on.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "scheduler/service/access/call_counts.h"
#include "scheduler/service/access/excess.h"
#include "scheduler/service/access/tcp_traffic.h"

namespace longreach::service {

class Account {
 public:
  // Calls are counted anew after so many bytes: 64 KiB hold the headers of some thousand at most.
  static constexpr uint64_t kBytesUncounted = 64 << 10;

  // nullopt: nothing is known of its calls, because it has sent little or gRPC does not know it. Then nothing can be held against it.
  std::optional<Sent> Read(const TcpTraffic& traffic, bool admitted, const std::function<std::optional<CallCount>()>& count_calls);

 private:
  uint64_t written_ = 0;
  uint64_t taken_at_progress_ = 0;
  uint64_t taken_at_count_ = 0;
  std::optional<CallCount> calls_;
  uint64_t calls_at_most_ = 0;
};

}  // namespace longreach::service
