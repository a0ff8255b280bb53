// Why no scheduler could be reached, in words that tell one that is not there from one that has no room.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "proto/access/turned_away.h"
#include "proto/base/status.h"

namespace longreach::client {

// What is known of a scheduler that could not be reached.
struct Unreached {
  std::string address;
  bool tls = false;        // It was spoken to in TLS.
  bool timed_out = false;  // The last try to connect had not ended.
  access::ConnectEnd end = access::ConnectEnd::kOther;
  std::optional<uint64_t> connections = std::nullopt;  // That a scheduler has which said that it takes no more.
  std::string grpc_text = {};
};

// UNAVAILABLE, with what to do. Pure.
absl::Status NoAnswer(const Unreached& unreached);

// gRPC does not pass on what a scheduler says that has as many connections as it takes: asks for it once more, and waits for a second at
// most. `address` is of this machine, without TLS. nullopt: it does not say so (any more).
std::optional<uint64_t> ConnectionsOfFullScheduler(const std::string& address);

}  // namespace longreach::client
