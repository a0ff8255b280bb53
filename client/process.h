// A child process that ends when its standard input closes.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "proto/base/status.h"

namespace longreach::client {

// Owns the child: the destructor closes its input and, if it does not end within seconds, kills it.
class Process {
 public:
  // Starts `program` with posix_spawn, in a process group of its own: Ctrl-C in a terminal reaches only the
  // client, which decides what the child should do. Its stdout is read with ReadLine(), its stderr is kept
  // for LogTail().
  // NOT_FOUND: there is no such program.
  static absl::StatusOr<Process> Start(const std::filesystem::path& program,
                                       const std::vector<std::string>& arguments);

  Process(Process&& other) noexcept;
  Process& operator=(Process&&) = delete;
  ~Process();

  // The next line of its stdout; nothing when it ended, or at the time-out.
  std::optional<std::string> ReadLine(std::chrono::milliseconds timeout);

  // Asks it to end.
  void CloseInput();
  // Waits for its end. True: it has ended.
  bool WaitFor(std::chrono::milliseconds timeout);
  bool Running() { return !WaitFor(std::chrono::milliseconds(0)); }
  void Terminate();  // SIGTERM.
  void Kill();       // SIGKILL.

  // After its end: exit code, or 128 plus the signal's number.
  int exit_code() const { return exit_code_; }

  // The last lines of its stderr, at most this many.
  std::vector<std::string> LogTail(size_t lines) const;

 private:
  Process() = default;

  pid_t pid_ = -1;
  int stdin_ = -1;
  int stdout_ = -1;
  int log_ = -1;
  bool ended_ = false;
  int exit_code_ = 0;
  std::string unread_;
};

// What becomes of what a program writes to its standard output.
enum class AttachedOutput {
  kOwn,     // It is this process's.
  kNobody,  // Nobody reads it, as this process has an answer of its own there.
};

// Runs a program with this process's own streams, to its end; SIGINT, SIGTERM and SIGHUP go on to it. Returns its exit code, or 128 plus the
// signal's number.
absl::StatusOr<int> RunAttached(const std::filesystem::path& program,
                                const std::vector<std::string>& arguments, AttachedOutput output = AttachedOutput::kOwn);

}  // namespace longreach::client
