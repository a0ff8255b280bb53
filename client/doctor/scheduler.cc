#include "client/doctor/scheduler.h"

#include <fmt/format.h>

#include <cmath>

#include "client/doctor/programs.h"
#include "client/errors.h"
#include "client/output/text.h"
#include "proto/access/certificates.h"
#include "proto/access/roles.h"
#include "proto/base/text.h"

namespace longreach::client {
namespace {

constexpr const char* kScheduler = "scheduler";
constexpr const char* kSchedulerBuild = "scheduler_build";
// A call that only looks takes a millisecond or two, and the way there and back.
constexpr double kSlow = 2;
constexpr const char* kClock = "clock";
// In seconds: what people overlook in a table's times.
constexpr double kMuchApart = 30;

Check JudgeReach(const SchedulerSeen& seen) {
  Findings findings(kScheduler);
  if (!seen.answered.ok()) {
    const ErrorText text = SplitError(seen.answered);
    // Whatever listens at the default place need not be a scheduler.
    findings.Add(seen.named ? CheckState::kFailed : CheckState::kWarning, text.message, text.hint);
  } else if (seen.seconds >= kSlow) {
    findings.Add(CheckState::kWarning, fmt::format("{} answers, a call takes {:.1f} s", seen.address, seen.seconds), "see what keeps its machine busy, or the line there");
  } else {
    findings.Add(CheckState::kOk, fmt::format("{} answers, a call takes {:.1f} ms", seen.address, 1000 * seen.seconds));
  }
  return findings.check();
}

Check JudgeBuild(const SchedulerSeen& seen, const std::string& own, int protocol) {
  Findings findings(kSchedulerBuild);
  const std::string build = Printable(seen.info.build());
  if (seen.info.protocol() != protocol) {
    findings.Add(CheckState::kFailed, fmt::format("it speaks protocol {} ({}), and this client {} ({})", seen.info.protocol(), build, protocol, own),
                 "install the same version here and there (docs/OPERATIONS.md, Upgrade)");
  } else if (VersionOfBuild(seen.info.build()) != VersionOfBuild(own)) {
    findings.Add(CheckState::kWarning, fmt::format("it is of another version: {}; the client is {}", build, own),
                 "both speak the same protocol; what one knows and the other does not is refused: install the same version when you can");
  } else {
    findings.Add(CheckState::kOk, fmt::format("{}, protocol {}, store version {}{}", build, seen.info.protocol(), seen.info.store_version(),
                                              seen.info.build() == own ? "" : fmt::format("; the client is {}", own)));
  }
  return findings.check();
}

Check JudgeClock(const SchedulerSeen& seen) {
  if (seen.address.starts_with("unix:")) return NotAsked(kClock, "it is this machine's, by a Unix socket");
  if (!seen.info.has_now()) return NotAsked(kClock, "a scheduler of this version does not tell its time");
  // In seconds as numbers: whatever an answer says is one.
  const double theirs = static_cast<double>(seen.info.now().seconds()) + seen.info.now().nanos() / 1e9;
  const double ours = std::chrono::duration<double>(seen.asked_at.time_since_epoch()).count();
  // It looked at its clock somewhere within the call.
  const double either_way = seen.seconds / 2, ahead = theirs - (ours + either_way), apart = std::abs(ahead);
  Findings findings(kClock);
  if (apart - either_way < kMuchApart) {
    findings.Add(CheckState::kOk, fmt::format("the scheduler's and this machine's are less than {:.0f} s apart", std::floor(apart + either_way) + 1));
  } else {
    findings.Add(CheckState::kWarning, fmt::format("the scheduler's is {} {} this machine's", HumanDuration(apart), ahead > 0 ? "ahead of" : "behind"),
                 "set the one that is wrong, best by NTP ('timedatectl' says whether it does that): no lease depends on them, but the times in lists and logs do, and from when "
                 "until when a certificate is valid");
  }
  return findings.check();
}

}  // namespace

std::vector<Check> JudgeScheduler(const SchedulerSeen& seen, const std::string& own, int protocol) {
  if (!seen.named && absl::IsUnavailable(seen.answered)) {
    const std::string why = fmt::format("no scheduler is named, and none answers at {}; 'longreach run' brings its own", seen.address);
    return {NotAsked(kScheduler, why), NotAsked(kSchedulerBuild, why), NotAsked(kClock, why)};
  }
  constexpr const char* kSilent = "the scheduler does not answer";
  if (!seen.answered.ok()) return {JudgeReach(seen), NotAsked(kSchedulerBuild, kSilent), NotAsked(kClock, kSilent)};
  return {JudgeReach(seen), JudgeBuild(seen, own, protocol), JudgeClock(seen)};
}

Check JudgeCertificate(const CertificateSeen& seen, std::chrono::sys_seconds now) {
  Findings findings(seen.check);
  if (!seen.text.ok()) {
    findings.Add(CheckState::kFailed, std::string(seen.text.status().message()), "name the file that it is in");
    return findings.check();
  }
  const absl::StatusOr<access::CertificateInfo> info = access::ReadCertificate(*seen.text);
  if (!info.ok()) {
    findings.Add(CheckState::kFailed, fmt::format("{}: {}", seen.what, std::string(info.status().message())), "name a file that has one ('longreach certs show FILE')");
    return findings.check();
  }
  const std::string role = info->role ? fmt::format(", role {}", access::RoleName(*info->role)) : "";
  const std::string is = fmt::format("{} is of '{}'{}", seen.what, Printable(info->name), role);
  if (now < info->from) {
    findings.Add(CheckState::kFailed, fmt::format("{}, and valid from {} on only", is, access::Day(info->from)), "is this machine's clock right?");
  } else if (const std::string end = access::EndOfCertificate(*seen.text, seen.what, now); !end.empty()) {
    // What it says is what is seen, and behind it what to do.
    const size_t cut = end.rfind("; ");
    findings.Add(now > info->until ? CheckState::kFailed : CheckState::kWarning, end.substr(0, cut), cut == std::string::npos ? "" : end.substr(cut + 2));
  } else {
    findings.Add(CheckState::kOk, fmt::format("{}, valid until {}", is, access::Day(info->until)));
  }
  return findings.check();
}

Check JudgeCredentials(const access::CredentialFiles& files, const absl::Status& read) {
  constexpr const char* kCredentials = "credentials";
  std::vector<std::string> shown;
  if (!files.certificate.empty() || !files.key.empty()) shown.emplace_back("a certificate and its key");
  if (!files.token.empty() || !files.token_file.empty()) shown.emplace_back("a token");
  if (files.ca.empty() && shown.empty()) return NotAsked(kCredentials, "no certificate, token or authority is named");
  Findings findings(kCredentials);
  if (!read.ok()) {
    findings.Add(CheckState::kFailed, std::string(read.message()), "docs/OPERATIONS.md, Certificates and tokens");
  } else {
    findings.Add(CheckState::kOk, shown.empty() ? "an authority alone: no certificate and no token is shown" : fmt::format("{} can be shown", Join(shown, " and ")));
  }
  return findings.check();
}

}  // namespace longreach::client
