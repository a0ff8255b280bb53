// What a client or worker shows a scheduler, and by what it knows it: files, read when a channel is opened. Who runs for long reads them again when they have
// changed (current_credentials.h).
#pragma once

#include <chrono>
#include <filesystem>
#include <string>

#include "proto/base/status.h"

namespace longreach::access {

// Paths; empty: none.
struct CredentialFiles {
  std::string ca{};           // The authority that the scheduler's certificate must be of. Given: TLS is spoken.
  std::string certificate{};  // One's own, which carries the role; with its key.
  std::string key{};
  std::string token_file{};   // A bearer token.
  std::string token{};        // The same from the environment; wins over the file.
};

// The same, read: PEM texts and the token.
struct Credentials {
  std::string ca{};
  std::string certificate{};
  std::string key{};
  std::string token{};

  bool operator==(const Credentials&) const = default;
};

// Errors name the file and what to do: unreadable, open to everybody, not PEM, a pair that does not belong together, expired.
absl::StatusOr<Credentials> ReadCredentials(const CredentialFiles& files);

// A small file. FAILED_PRECONDITION with the path: it cannot be read, is no file, or has more than 1 MiB.
absl::StatusOr<std::string> ReadSmallFile(const std::filesystem::path& path);

// The same for a secret: also refuses one that everybody on the machine could read.
absl::StatusOr<std::string> ReadSecretFile(const std::filesystem::path& path);

// FAILED_PRECONDITION: not certificates, not yet valid or expired. `what` names them: "certificate FILE".
absl::Status CheckValidNow(const std::string& pem, const std::string& what);

// What whoever keeps a certificate should know by then: that it has expired, or is about to. Empty as long as there are 30 days left, or a fifth
// of its time where that is less; also where `pem` is none. `what` names it, as above.
std::string EndOfCertificate(const std::string& pem, const std::string& what, std::chrono::sys_seconds now);

}  // namespace longreach::access
