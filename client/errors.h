// How the client ends: exit codes, and messages that say what was refused, the value and the next step.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "proto/base/status.h"

namespace longreach::client {

// Part of the client's contract: scripts act on them.
enum ExitCode : int {
  kDone = 0,
  kFailed = 1,  // A job failed, or what was asked for was refused.
  kUsage = 2,
  kUnreachable = 3,
  kNotFound = 4,
  kNotAllowed = 5,
  kWaitTimedOut = 6,
  kInterrupted = 130,
  kReaderGone = 141,  // Nobody reads on, as SIGPIPE ends a program: no failure of the command.
};

ExitCode ExitCodeOf(const absl::Status& status);

// A status whose text is `message`, and `hint` (may be empty, may have several lines) below it.
absl::Status Error(absl::StatusCode code, std::string_view message, std::string_view hint = {});

// What the user typed is wrong: exit code 2.
inline absl::Status UsageError(std::string_view message, std::string_view hint = {}) {
  return Error(absl::StatusCode::kInvalidArgument, message, hint);
}

// The first line of a status's text, and the rest without indentation.
struct ErrorText {
  std::string message;
  std::string hint;
};
ErrorText SplitError(const absl::Status& status);

// "error: MESSAGE", and each line of the hint indented by two.
std::string FormatError(const absl::Status& status);

// {"error":{"code":"NOT_FOUND","message":...,"hint":...}} on one line.
std::string FormatErrorAsJson(const absl::Status& status);

// "did you mean 'rope'?", or "" when nothing in `known` is near.
std::string DidYouMean(std::string_view word, const std::vector<std::string>& known);

// Hints on one line: those that are not empty, with a blank between them.
std::string JoinHints(std::string_view first, std::string_view second);

}  // namespace longreach::client
