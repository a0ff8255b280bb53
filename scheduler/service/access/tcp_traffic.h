// Apart from the listener: the header that has the counters contradicts glibc's, which Asio includes.
#pragma once

#include <cstdint>
#include <optional>

namespace longreach::service {

struct TcpTraffic {
  uint64_t taken = 0;    // Bytes that came over the socket and were read, whoever read them.
  uint64_t written = 0;  // Changes with every byte that is written to it.
};

// nullopt where the kernel does not say.
std::optional<TcpTraffic> TrafficOf(int socket);

}  // namespace longreach::service
