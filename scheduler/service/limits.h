// What the scheduler takes at most, in one place. Each refusal says which limit it was and what to do; docs/OPERATIONS.md lists
// them for people.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace longreach::service {

// Names and values of a call's headers.
inline constexpr int kMaxHeaderBytes = 16 << 10;
// Calls at the same time on a connection; a client waits with the next. Each worker has one open that is held.
inline constexpr int kMaxCallsOfConnection = 2'000;
// A call that its caller gave up takes memory until its handler has heard of it, so there may be more for a moment. A connection is
// cut at the first number before its first admitted call, and then, since a disk that stands still holds handlers up, at the second.
inline constexpr uint64_t kMaxCallsOpenOfStranger = 4'000;
inline constexpr uint64_t kMaxCallsOpen = 20'000;
// Connections over TCP. Each takes two file descriptors, so the process's limit may be reached before.
inline constexpr size_t kMaxConnections = 20'000;
// What gRPC may hold in memory for connections and messages under way.
inline constexpr size_t kMaxNetworkBytes = size_t{512} << 20;
// From the first byte of a connection to the end of its TLS handshake.
inline constexpr std::chrono::seconds kHandshakePatience{15};

struct ArtifactLimits {
  // One file.
  double file_bytes = 64.0 * (int64_t{1} << 30);
  // All that is kept of a job at a time; of a file that several jobs share, each bears its part.
  double job_bytes = 256.0 * (int64_t{1} << 30);
  // All files together, but for uploads under way; 0: as much as the disk has.
  double all_bytes = 0;
};

// Others lie where they belong: those of messages and sweeps in proto/types/wire_limits.h; jobs of sweeps with inputs or systems in
// scheduler/experiments/expansion.h; workers (and so held calls), no-op jobs and jobs of a transaction in EngineOptions (engine.h); cells of
// a table in results_table.cc; logs that are followed in log_board.h; bytes of a table that is kept in kept_table.cc; parts of uploads that broke off in upload_parts.h; values of an answer in query_measurements.h; tokens in proto/access; files that a worker keeps in worker/agent.

}  // namespace longreach::service
