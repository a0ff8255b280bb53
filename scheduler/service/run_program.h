// A program of whoever keeps the scheduler: run without a shell, to its end or to its limit.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "proto/base/status.h"

namespace longreach::service {

struct ProgramCall {
  std::filesystem::path program;
  std::vector<std::string> environment;  // "NAME=value": all that it has.
  std::string input;                     // What it reads on standard input, to its end.
};

// FAILED_PRECONDITION with the reason: there is no such file, or this user may not execute it.
absl::Status CheckCallable(const std::filesystem::path& program);

// Returns when the program has ended. It has no arguments, a process group of its own, none of this process's descriptors and no signal that is blocked
// or ignored. Its group is killed once it has run for `limit` or `give_up` says so, which is asked many times a second; what it leaves in the background
// is killed at its end, so that nothing piles up. Safe from any thread.
// Not OK: it could not be started, was killed, or ended with another code than 0. The message is one line that goes on from the program's name, and has
// the last line of what it wrote.
absl::Status RunProgram(const ProgramCall& call, std::chrono::milliseconds limit, const std::function<bool()>& give_up);

}  // namespace longreach::service
