// `longreach-worker bench`: the benchmark's options.
#pragma once

#include <CLI/CLI.hpp>

#include <string>

#include "worker/agent/bench.h"

namespace longreach {

// The subcommand's options and what it does.
class BenchCommand {
 public:
  // Adds `bench` to the program. The object must outlive the parsing.
  explicit BenchCommand(CLI::App& app);

  // It was asked for.
  bool chosen() const { return command_->parsed(); }
  // In JSON.
  bool json() const { return output_ == "json"; }
  // Runs it and returns the process's exit code: that of agent::RunBench.
  int Run() const;

 private:
  CLI::App* command_;
  agent::BenchOptions options_;
  std::string device_ = "cpu";
  std::string output_ = "table";
};

}  // namespace longreach
