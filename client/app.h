// The command line as a tree, and one run of it.
#pragma once

#include <CLI/CLI.hpp>

#include <memory>
#include <string>
#include <vector>

#include "client/commands/command.h"
#include "client/environment.h"
#include "client/settings.h"

namespace longreach::client {

// All commands with their options. Completions and the reference are made by walking `root`.
struct AppTree {
  AppTree()
      : root("Runs length-generalization sweeps: task x encoding x learning rate x seed.", "longreach") {}

  struct Entry {
    CLI::App* app;
    std::unique_ptr<Command> command;
  };

  CLI::App root;
  GlobalFlags flags;
  std::vector<Entry> commands;
};

std::unique_ptr<AppTree> BuildApp();

// Runs one command line (without the program's name) and returns the exit code.
int RunClient(std::vector<std::string> arguments, const Environment& environment);

}  // namespace longreach::client
