// Another's program that must not outlive the worker, which it knows nothing of: as prctl(PR_SET_PDEATHSIG) has it, also when the worker is
// killed. (The trainer child sees to that itself: child.h.)
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "proto/base/status.h"

namespace longreach::agent {

class TiedProcess {
 public:
  // `arguments` without the program's name; `more` environment as EnvironmentWith() takes it. `in` becomes its standard input, `out` its
  // standard output and error; both stay the caller's. It gets SIGTERM when the calling thread ends, and nothing that is sent to the process
  // group of the worker, such as a Ctrl-C. UNAVAILABLE: no process can be made; a program that cannot be run ends with exit code 127.
  static absl::StatusOr<TiedProcess> Start(const std::filesystem::path& program, std::vector<std::string> arguments,
                                           const std::vector<std::string>& more, int in, int out);

  TiedProcess(TiedProcess&& other) noexcept : pid_(std::exchange(other.pid_, -1)), how_(std::move(other.how_)) {}
  TiedProcess& operator=(TiedProcess&&) = delete;
  // Kills it if it lives, and waits up to 5 s for its end.
  ~TiedProcess();

  // Waits for its end; false: it lives.
  bool EndsWithin(std::chrono::milliseconds patience);
  // Once it has ended: as HowItEnded().
  const std::string& how() const { return how_; }
  void Signal(int signal) const;
  // -1: it has ended.
  pid_t pid() const { return pid_; }

 private:
  explicit TiedProcess(pid_t pid) : pid_(pid) {}

  pid_t pid_;
  std::string how_;
};

}  // namespace longreach::agent
