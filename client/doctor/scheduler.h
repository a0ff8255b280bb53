// The scheduler that commands ask, and what this client shows it.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "client/doctor/check.h"
#include "longreach/v1/api.pb.h"
#include "proto/access/credentials.h"
#include "proto/base/clock.h"
#include "proto/base/status.h"

namespace longreach::client {

struct SchedulerSeen {
  std::string address;
  bool named = false;      // Else it is the default, where none need be.
  absl::Status answered;   // To GetInfo; an error: the first that was in the way.
  v1::GetInfoResponse info = {};
  double seconds = 0;      // That the call took, over a connection that was there.
  WallTime asked_at{};     // When it began, by this machine's clock.
};

// The checks "scheduler", "scheduler_build" and "clock". `own`: the client's build, as BuildDescription() has it.
std::vector<Check> JudgeScheduler(const SchedulerSeen& seen, const std::string& own, int protocol);

// A file that a certificate should be in, read. `text`: an error, why it could not be.
struct CertificateSeen {
  std::string check;  // "authority".
  std::string what;   // "the authority FILE", as its messages name it.
  absl::StatusOr<std::string> text;
};
Check JudgeCertificate(const CertificateSeen& seen, std::chrono::sys_seconds now);

// The check "credentials": `read` is what ReadCredentials() says of all of them together.
Check JudgeCredentials(const access::CredentialFiles& files, const absl::Status& read);

}  // namespace longreach::client
