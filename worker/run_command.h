// `longreach-worker run`: the agent's options.
#pragma once

#include <CLI/CLI.hpp>

#include <functional>
#include <string>

#include "proto/base/status.h"
#include "worker/agent/run.h"

namespace longreach {

// The subcommand's options and what it does.
class RunCommand {
 public:
  // Adds `run` to the program. The object must outlive the parsing.
  explicit RunCommand(CLI::App& app);

  // It was asked for.
  bool chosen() const { return command_->parsed(); }
  // What was asked for is to look at a GPU, which the trainer's program does.
  bool asks_trainer() const { return check_ && !OnCpu(); }
  // Works until told to leave, or only looks whether it could, and returns the process's exit code: that of agent::RunWorker or agent::CheckWorker, 2 for a
  // value that parsing cannot refuse. `open_gpu` opens the GPU of these options, for a look at one, and says what it is.
  int Run(const std::function<absl::StatusOr<std::string>(const agent::AgentOptions& options)>& open_gpu = {}) const;

 private:
  bool OnCpu() const;
  void AddConnection();
  void AddTraining();

  CLI::App* command_;
  agent::AgentOptions options_;
  std::string device_ = "cpu";
  std::string pack_limit_;
  CLI::Option* token_file_ = nullptr;
  bool until_stdin_closes_ = false;
  bool check_ = false;
};

}  // namespace longreach
