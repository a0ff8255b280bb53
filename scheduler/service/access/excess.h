// When a connection has sent more than whoever keeps to the rules would. gRPC holds callers to the limit of calls only once they
// acknowledge it, and what it keeps of a call's headers counts against no quota of its own.
#pragma once

#include <cstdint>
#include <string>

namespace longreach::service {

// What is known of a connection.
struct Sent {
  uint64_t calls_open = 0;      // Those that still take memory: of those that the caller gave up too.
  uint64_t calls_at_most = 0;   // So many were open at the same time once.
  bool admitted = false;        // A call of it came past the gate, with its message where it has one.
  // Since it last got on: gRPC wrote to it, a call began or ended, a message was complete.
  uint64_t bytes_without_progress = 0;
};

// Why the connection must be cut, for the log; empty: it need not. Pure.
std::string Excess(const Sent& sent);

}  // namespace longreach::service
