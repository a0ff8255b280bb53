// `longreach-worker run`: an agent with the process's signals and standard input.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "proto/base/status.h"
#include "worker/agent/agent.h"

namespace longreach::agent {

// Works until asked to leave, and returns the process's exit code: 0 left as asked, 1 cannot start or go on (with a line
// on standard error), 130 interrupted twice.
//
// SIGTERM, SIGINT and, with `until_stdin_closes`, the end of standard input ask it to leave, and AgentOptions say when it does so by
// itself. A second SIGINT ends it at once: what it held is lost and will be leased again.
int RunWorker(AgentOptions options, bool until_stdin_closes);

// Whether RunWorker() would come to have its device: looks at credentials and at where the state folder is or is to be, and has `open_device` open the device and say
// what it is. Nothing is written and nobody called; whether another worker has the state folder is not looked at. 0, with a line on standard output that names the device; or 1 with the line of RunWorker().
int CheckWorker(const AgentOptions& options, const std::function<absl::StatusOr<std::string>()>& open_device);

// $XDG_STATE_HOME/longreach/worker, ~/.local/state/longreach/worker, or ./longreach-worker.state.
std::filesystem::path DefaultStateFolder();

}  // namespace longreach::agent
