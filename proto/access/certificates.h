// X.509 certificates as Longreach makes and reads them: P-256 keys, one authority of one's own, and below it a server, clients,
// workers and readers. Any other authority's serve as well, if they carry the role (RoleUri).
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "longreach/v1/options.pb.h"
#include "proto/base/status.h"

namespace longreach::access {

// Both in PEM. The key is a secret.
struct KeyAndCertificate {
  std::string key;
  std::string certificate;
};

struct CertificateWish {
  std::string name{};                       // The subject's common name.
  v1::Role role = v1::ROLE_UNSPECIFIED;     // Of a caller; none: a server's certificate.
  std::vector<std::string> hosts{};         // Of a server: names and addresses by which it is reached.
  int days = 365;
};

// Makes a certificate authority that may sign others but no further authorities.
absl::StatusOr<KeyAndCertificate> MakeAuthority(const std::string& name, int days);

// A new key with its certificate, signed by `authority`. Valid from an hour ago, for machines whose clocks are late.
// INVALID_ARGUMENT: what there is of the authority is no key with its certificate.
absl::StatusOr<KeyAndCertificate> Issue(const KeyAndCertificate& authority, const CertificateWish& wish);

struct CertificateInfo {
  std::string name;
  std::optional<v1::Role> role;
  std::vector<std::string> hosts;
  bool authority = false;
  std::chrono::sys_seconds from;
  std::chrono::sys_seconds until;
};

// Of the first certificate in a PEM text. INVALID_ARGUMENT: there is none.
absl::StatusOr<CertificateInfo> ReadCertificate(const std::string& pem);

// INVALID_ARGUMENT: one of them is not what it should be, or the key belongs to another certificate.
absl::Status CheckPair(const std::string& certificate, const std::string& key);

// "2027-11-21".
std::string Day(std::chrono::sys_seconds time);

}  // namespace longreach::access
