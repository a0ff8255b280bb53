// `longreach-worker run`: the agent's options.
#pragma once

#include <CLI/CLI.hpp>

#include <string>

#include "worker/agent/run.h"

namespace longreach {

// The subcommand's options and what it does.
class RunCommand {
 public:
  // Adds `run` to the program. The object must outlive the parsing.
  explicit RunCommand(CLI::App& app);

  // It was asked for.
  bool chosen() const { return command_->parsed(); }
  // Works until told to leave, or only looks whether it could, and returns the process's exit code: that of agent::RunWorker or agent::CheckWorker, 2 for a
  // value that parsing cannot refuse.
  int Run() const;

 private:
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
