// `longreach-worker export`: a job's parameters as a folder that transformers loads.
#pragma once

#include <CLI/CLI.hpp>

#include <filesystem>
#include <string>

#include "worker/trainer/train.h"

namespace longreach {

// The subcommand's options and what it does.
class ExportCommand {
 public:
  // Adds `export` to the program. The object must outlive the parsing.
  explicit ExportCommand(CLI::App& app);

  // It was asked for.
  bool chosen() const { return command_->parsed(); }
  // In JSON.
  bool json() const { return output_ == "json"; }
  // Runs it and returns the process's exit code: 0 done, 1 refused or failed, 2 what cannot be meant, 4 something is not there.
  int Run() const;

 private:
  absl::StatusOr<trainer::ExportedModel> Export() const;

  CLI::App* command_;
  std::filesystem::path job_;
  trainer::ExportRequest request_;
  std::string output_ = "table";
};

}  // namespace longreach
