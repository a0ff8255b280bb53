// Which scheduler, which store, which output: flag, else LONGREACH_*, else ~/.config/longreach/config.yaml,
// else default.
#pragma once

#include <optional>
#include <string>

#include "client/environment.h"
#include "client/output/grid.h"
#include "proto/access/credentials.h"
#include "proto/base/status.h"

namespace longreach::client {

inline constexpr const char* kDefaultScheduler = "localhost:7070";
inline constexpr const char* kDefaultStore = "longreach.db";

// As given on the command line.
struct GlobalFlags {
  std::optional<std::string> scheduler;
  std::optional<std::string> store;
  std::optional<std::string> output;
  std::optional<std::string> color;
  std::optional<std::string> ca;
  std::optional<std::string> certificate;
  std::optional<std::string> key;
  std::optional<std::string> token_file;
  bool quiet = false;
};

struct Settings {
  // host:port or unix:PATH.
  std::string scheduler = kDefaultScheduler;
  // Somebody named a scheduler (or a store); otherwise `run` and `plan` bring their own.
  bool scheduler_named = false;
  // A file, for an embedded scheduler; empty: none named. Never set together with scheduler_named.
  std::string store;
  // It was named on the command line, for this one command.
  bool place_by_flag = false;
  // Paths, and the token of the environment.
  access::CredentialFiles credentials{};
  Format format = Format::kTable;
  // The format was asked for on the command line, so a command that lacks it refuses.
  bool format_by_flag = false;
  bool color_out = false;
  bool color_err = false;
  bool quiet = false;
};

// INVALID_ARGUMENT: a value that is not admitted, with where it came from; --scheduler together with
// --store; a config file that cannot be read.
absl::StatusOr<Settings> ResolveSettings(const GlobalFlags& flags, const Environment& environment);

}  // namespace longreach::client
