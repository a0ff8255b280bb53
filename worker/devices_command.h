// `longreach-worker devices`: what this machine has to compute with.
#pragma once

#include <CLI/CLI.hpp>

#include <string>

namespace longreach {

// The subcommand's options and what it does.
class DevicesCommand {
 public:
  // Adds `devices` to the program. The object must outlive the parsing.
  explicit DevicesCommand(CLI::App& app);

  // It was asked for.
  bool chosen() const { return command_->parsed(); }
  // In JSON.
  bool json() const { return output_ == "json"; }
  // Looks and prints. Returns the process's exit code: 0, or 1 where a device that is there does not compute.
  int Run() const;

 private:
  CLI::App* command_;
  std::string output_ = "table";
};

}  // namespace longreach
