// `longreach-worker data`: the data sets of this machine.
#pragma once

#include <CLI/CLI.hpp>

#include <filesystem>
#include <memory>

namespace longreach {

// The subcommand's options and what it does.
class DataCommand {
 public:
  // Adds `data` to the program. The object must outlive the parsing.
  explicit DataCommand(CLI::App& app);
  ~DataCommand();

  // It was asked for.
  bool chosen() const;
  // Runs it and returns the process's exit code: 0 done, 1 refused or failed, 2 a usage that parsing cannot see, 4 no such data
  // set or folder.
  int Run() const;

 private:
  void AddOfModels();

  struct Options;
  std::unique_ptr<Options> options_;
};

// Adds --data-folder to a command, with LONGREACH_DATA and the default.
CLI::Option* AddDataFolder(CLI::App& app, std::filesystem::path& folder);

}  // namespace longreach
