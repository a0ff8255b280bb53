// `longreach-worker data`: the data sets of this machine.
#pragma once

#include <CLI/CLI.hpp>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "worker/trainer/train.h"

namespace longreach {

// What only the trainer's program can tell of data sets.
struct DataChecks {
  std::function<absl::StatusOr<trainer::ModelFolder>(const std::filesystem::path& folder)> model;                                     // trainer::CheckModelFolder().
  std::function<int(const std::filesystem::path& folder, const std::vector<std::string>& jobs, bool json)> fit;  // SayWhichFit().
};

// The subcommand's options and what it does.
class DataCommand {
 public:
  // Adds `data` to the program. The object must outlive the parsing. `checks` are there in the trainer's program.
  explicit DataCommand(CLI::App& app, DataChecks checks = {});
  ~DataCommand();

  // It was asked for.
  bool chosen() const;
  // In JSON.
  bool json() const;
  // What was asked for needs DataChecks.
  bool asks_trainer() const;
  // Runs it and returns the process's exit code: 0 done, 1 refused or failed, 2 a usage that parsing cannot see, 4 no such data
  // set or folder.
  int Run() const;

 private:
  void AddOfModels();
  void AddOfPairs();

  struct Options;
  std::unique_ptr<Options> options_;
};

// Adds --data-folder to a command, with LONGREACH_DATA and the default.
CLI::Option* AddDataFolder(CLI::App& app, std::filesystem::path& folder);

}  // namespace longreach
