// How far the calls of a connection are, from gRPC's own account of it (channelz), since nothing else sees calls before their message.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

namespace longreach::service {

struct CallCount {
  uint64_t begun = 0;
  uint64_t ended = 0;
  uint64_t messages = 0;  // That were received whole.

  uint64_t open() const { return begun > ended ? begun - ended : 0; }
  bool operator==(const CallCount&) const = default;
};

// Of one thread.
class CallCounts {
 public:
  // Of the connection from `peer`, as gRPC writes it; nullopt for one that gRPC does not know, as before the end of a handshake.
  std::optional<CallCount> Of(const std::string& peer);
  // The connection from `peer` has ended.
  void Forget(const std::string& peer) { ids_.erase(peer); }

 private:
  // Notes the numbers of all connections.
  void Look();

  std::unordered_map<std::string, intptr_t> ids_;
};

}  // namespace longreach::service
