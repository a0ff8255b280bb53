// What a caller that runs for long shows a scheduler, and by what it knows it: as the files last were whole. A renewed certificate with its key, another authority
// or another token is taken up without a restart; what is half written, or does not fit together, changes nothing.
#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>

#include "proto/access/changed_files.h"
#include "proto/access/credentials.h"
#include "proto/base/status.h"
#include "proto/base/synchronized.h"

namespace longreach::access {

// All functions are safe from any thread.
class CurrentCredentials {
 public:
  // What is told of the files, on whichever thread looks at them.
  struct Told {
    std::function<void(const Credentials& before, const Credentials& after)> renewed = [](const Credentials&, const Credentials&) {};
    // Once for each trouble: those of before stay in use.
    std::function<void(const std::string& why)> wrong = [](const std::string&) {};
  };

  // How long after a look the next one is due.
  static constexpr std::chrono::seconds kEvery{2};
  // Most files are read in less. A disk that stands still keeps no call waiting for longer; what is new there goes with a later one.
  static constexpr std::chrono::milliseconds kPatience{200};

  // Errors as ReadCredentials().
  static absl::StatusOr<std::unique_ptr<CurrentCredentials>> Open(CredentialFiles files, Told told);

  // Before a call: looks at the files if that is due, and waits for kPatience at most.
  void LookIfDue();
  // Looks at them now, however long that takes.
  void Look();
  // Another object once they have changed. Never waits for a disk.
  std::shared_ptr<const Credentials> Now();

 private:
  struct Looks {
    std::chrono::steady_clock::time_point due;
    std::shared_future<void> last;
  };

  CurrentCredentials(CredentialFiles files, Told told);
  absl::Status Take();

  const CredentialFiles files_;
  const Told told_;
  Synchronized<ChangedFiles> changed_;  // Locked while they are read.
  Synchronized<std::shared_ptr<const Credentials>> now_;
  Synchronized<Looks> looks_;  // Last, so that a look has ended before the rest goes.
};

}  // namespace longreach::access
