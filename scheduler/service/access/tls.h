// TLS on the scheduler's side: version 1.2 or later, gRPC's own list of ciphers. A caller without a certificate may show a token
// instead; one with a certificate must have it from the given authority.
#pragma once

#include <grpcpp/security/server_credentials.h>

#include <memory>
#include <string>

#include "scheduler/service/access/checked_tls_files.h"

namespace longreach::service {

// A renewed certificate serves new connections without a restart, within two of CheckedTlsFiles::kEvery. `files` outlive the server.
std::shared_ptr<grpc::ServerCredentials> TlsServer(const CheckedTlsFiles& files);

// What gRPC said last about a TLS handshake that failed, if it was since `since`; it does not say whose it was.
std::string TlsFailureSince(std::chrono::steady_clock::time_point since);

// From now on what gRPC has to say goes to our log. Once a process.
void HearGrpc();

}  // namespace longreach::service
