// Which scheduler, which store, which output: flag, else LONGREACH_*, else ~/.config/longreach/config.yaml, of which a context
// comes first, else default. A context that is named by its flag comes before the environment.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "client/config_file.h"
#include "client/environment.h"
#include "client/output/grid.h"
#include "proto/access/credentials.h"
#include "proto/base/status.h"

namespace longreach::client {

inline constexpr const char* kDefaultScheduler = "localhost:7070";
inline constexpr const char* kDefaultStore = "longreach.db";

// As given on the command line.
struct GlobalFlags {
  std::optional<std::string> context;
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

// A setting as it holds, and who says so.
struct SettingInForce {
  std::string name;   // As the config file has it.
  std::string value;  // As commands take it; empty: none. Of a token, only that there is one.
  // "--scheduler", "LONGREACH_SCHEDULER", or a place in the config file, PATH:LINE:COLUMN, and behind it " (context NAME)" within one. Nobody: kDefaultSource. What has no value because something
  // that excludes it is set has that one's.
  std::string source = {};
  std::vector<std::string> passed_over = {};  // The others that say something of it, which do not count; the strongest first.
};

inline constexpr const char* kDefaultSource = "default";
inline constexpr const char* kSecretIsSet = "set";

struct Settings {
  std::string context;  // Empty: none.
  bool context_by_flag = false;
  // Of one that was typed: the flags that would say what it says, where that holds. Its name finds it again.
  std::set<std::string> said_by_context = {};
  // host:port or unix:PATH.
  std::string scheduler = kDefaultScheduler;
  // Somebody named a scheduler (or a store); otherwise `run` and `plan` bring their own.
  bool scheduler_named = false;
  // A file, for an embedded scheduler; empty: none named. Never set together with scheduler_named.
  std::string store;
  // Either was named on the command line, by itself or by a context, for this one command.
  bool place_by_flag = false;
  // Paths, and the token of the environment.
  access::CredentialFiles credentials{};
  Format format = Format::kTable;
  // The format was asked for on the command line, so a command that lacks it refuses.
  bool format_by_flag = false;
  bool color_out = false;
  bool color_err = false;
  bool dumb_terminal = false;  // It knows no way back to a line that is written.
  bool quiet = false;
  // The same for people ('longreach config show'), each that there is.
  std::vector<SettingInForce> in_force;
  ConfigFile config_file;
};

// INVALID_ARGUMENT: a value that is not admitted, with where it came from; --scheduler together with --store; a context that is not
// there; what ReadConfigFile() refuses.
absl::StatusOr<Settings> ResolveSettings(const GlobalFlags& flags, const Environment& environment);

}  // namespace longreach::client
