#include "proto/access/current_credentials.h"

#include <system_error>
#include <utility>

namespace longreach::access {
namespace {

using Time = std::chrono::steady_clock::time_point;

// Where no file is named there is never anything to look at.
Time FirstLook(const CredentialFiles& files) {
  const bool none = files.ca.empty() && files.certificate.empty() && files.key.empty() && files.token_file.empty();
  return none ? Time::max() : std::chrono::steady_clock::now() + CurrentCredentials::kEvery;
}

}  // namespace

CurrentCredentials::CurrentCredentials(CredentialFiles files, Told told)
    : files_(std::move(files)),
      told_(std::move(told)),
      changed_(ChangedFiles({files_.ca, files_.certificate, files_.key, files_.token_file})),
      looks_(Looks{.due = FirstLook(files_), .last = {}}) {}

absl::StatusOr<std::unique_ptr<CurrentCredentials>> CurrentCredentials::Open(CredentialFiles files, Told told) {
  auto current = std::unique_ptr<CurrentCredentials>(new CurrentCredentials(std::move(files), std::move(told)));
  RETURN_IF_ERROR(current->changed_.Lock()->Begin([&current] { return current->Take(); }));
  return current;
}

absl::Status CurrentCredentials::Take() {
  ASSIGN_OR_RETURN(Credentials read, ReadCredentials(files_));
  std::shared_ptr<const Credentials> before = Now();
  // Only its time or mode has changed: what is shown is the same, and so are the connections.
  if (before != nullptr && *before == read) return absl::OkStatus();
  const auto after = std::make_shared<const Credentials>(std::move(read));
  *now_.Lock() = after;
  if (before != nullptr) told_.renewed(*before, *after);
  return absl::OkStatus();
}

void CurrentCredentials::Look() {
  const std::string wrong = changed_.Lock()->Look([this] { return Take(); });
  if (!wrong.empty()) told_.wrong(wrong);
}

void CurrentCredentials::LookIfDue() {
  std::shared_future<void> look;
  {
    auto looks = looks_.Lock();
    const auto now = std::chrono::steady_clock::now();
    const bool looking = looks->last.valid() && looks->last.wait_for(std::chrono::seconds(0)) != std::future_status::ready;
    if (looking || now < looks->due) return;
    looks->due = now + kEvery;
    try {
      looks->last = std::async(std::launch::async, [this] { Look(); }).share();
    } catch (const std::system_error&) {
      return;  // The system has no thread left, which ends nobody's work: a later call looks.
    }
    look = looks->last;
  }
  look.wait_for(kPatience);
}

std::shared_ptr<const Credentials> CurrentCredentials::Now() { return *now_.Lock(); }

}  // namespace longreach::access
