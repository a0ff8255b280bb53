// TLS on the scheduler's side: version 1.2 or later, gRPC's own list of ciphers. A caller without a certificate may show a token
// instead; one with a certificate must have it from the given authority.
#pragma once

#include <grpcpp/security/server_credentials.h>

#include <memory>
#include <string>

#include "proto/base/status.h"

namespace longreach::service {

// Paths; all empty: no TLS.
struct TlsFiles {
  std::string certificate;
  std::string key;
  std::string client_ca;  // The authority of callers' certificates; empty: no caller has one.
};

// FAILED_PRECONDITION with the file: unreadable, not PEM, not a pair, expired, or readable by everybody.
// The files are read again when they change, so that a renewed certificate serves new connections without a restart.
absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> TlsServer(const TlsFiles& files);

// What gRPC said last about a TLS handshake that failed, if it was since `since`; it does not say whose it was.
std::string TlsFailureSince(std::chrono::steady_clock::time_point since);

// From now on what gRPC has to say goes to our log. Once a process.
void HearGrpc();

}  // namespace longreach::service
