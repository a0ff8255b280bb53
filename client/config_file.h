// ~/.config/longreach/config.yaml: settings, and contexts, which are settings under a name.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "client/environment.h"
#include "proto/base/status.h"

namespace longreach::client {

struct SettingValue {
  std::string text;
  // Who says so: "--scheduler", "LONGREACH_SCHEDULER", "PATH:2:3", "PATH:7:5 (context cluster)".
  std::string origin;
};

// By the setting's name.
using SettingValues = std::map<std::string, SettingValue>;

// Which context holds, where settings are named.
inline constexpr const char* kContextSetting = "context";

// What a context may say, and the file beside its `context` and `contexts`.
const std::vector<std::string>& SettingNames();

struct ConfigFile {
  std::string path;     // Empty: neither XDG_CONFIG_HOME nor HOME says where it would be.
  bool exists = false;  // Or may do so, where its folder cannot be looked into.
  bool read = false;
  SettingValues settings = {};
  std::vector<std::pair<std::string, SettingValues>> contexts = {};  // As they come in the file.

  std::vector<std::string> ContextNames() const;
};

// One that is not there, or cannot be read, says nothing.
// INVALID_ARGUMENT, with its place in the file: what is no setting or no value, or a context's name that is none. Whether a value is admitted is
// not looked at here.
absl::StatusOr<ConfigFile> ReadConfigFile(const Environment& environment);

}  // namespace longreach::client
