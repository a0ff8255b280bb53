// What every command of `longreach` is: a name in registry.cc, options, and a run that ends with an exit
// code.
#pragma once

#include <CLI/CLI.hpp>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "client/output/grid.h"
#include "client/session.h"
#include "proto/base/status.h"

namespace longreach::client {

struct CommandInfo {
  // Heading in the overview.
  std::string_view group;
  // One line, without a full stop.
  std::string_view summary;
  // Below the options: what one must know. May be empty.
  std::string_view details;
  // One command a line.
  std::string_view examples;
  // Output formats besides table and JSON.
  std::vector<Format> more_formats = {};
  // Not in the overview.
  bool hidden = false;
};

class Command {
 public:
  virtual ~Command() = default;
  virtual CommandInfo Info() const = 0;
  // Options and arguments; values go into members.
  virtual void AddOptions(CLI::App&) {}
  // An exit code, or an error that is reported and becomes one.
  virtual absl::StatusOr<int> Run(Session& session) = 0;
};

struct CommandEntry {
  std::string_view name;
  std::unique_ptr<Command> (*make)();
};

// All commands, ascending by name.
std::span<const CommandEntry> Commands();

inline constexpr std::string_view kGroupRun = "Run";
inline constexpr std::string_view kGroupLook = "Look";
inline constexpr std::string_view kGroupSteer = "Steer";
inline constexpr std::string_view kGroupMaintain = "Maintain";
inline const std::vector<Format> kAllFormats = {Format::kCsv, Format::kMarkdown, Format::kLatex};

}  // namespace longreach::client
