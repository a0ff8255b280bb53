#include "client/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <utility>
#include <vector>

#include "client/errors.h"
#include "client/output/text.h"
#include "client/spec/yaml_tree.h"
#include "proto/base/text.h"

namespace longreach::client {
namespace {

struct Value {
  std::string text;
  // "--scheduler", "LONGREACH_SCHEDULER", "config.yaml:2:3".
  std::string origin;
};

using Level = std::map<std::string, Value>;
// Flags, environment, config file: the strongest first.
using Levels = std::array<Level, 3>;

constexpr const char* kTokenVariable = "LONGREACH_TOKEN";

const std::vector<std::string>& SettingNames() {
  static const std::vector<std::string> names = {"scheduler", "store", "output", "color",
                                                 "ca", "certificate", "key", "token_file"};
  return names;
}

Level FromFlags(const GlobalFlags& flags) {
  Level level;
  const auto add = [&level](const char* name, const std::optional<std::string>& value) {
    if (!value.has_value()) return;
    std::string flag = fmt::format("--{}", name);
    std::ranges::replace(flag, '_', '-');
    level[name] = {*value, flag};
  };
  add("scheduler", flags.scheduler);
  add("store", flags.store);
  add("output", flags.output);
  add("color", flags.color);
  add("ca", flags.ca);
  add("certificate", flags.certificate);
  add("key", flags.key);
  add("token_file", flags.token_file);
  return level;
}

Level FromVariables(const Environment& environment) {
  Level level;
  for (const std::string& name : SettingNames()) {
    std::string variable = "LONGREACH_";
    for (const char c : name) variable += c == '_' ? c : static_cast<char>(c - 'a' + 'A');
    if (const std::string value = environment.variable(variable.c_str()); !value.empty()) {
      level[name] = {value, variable};
    }
  }
  return level;
}

// Nothing but blanks and comments.
bool IsBlank(const std::string& text) {
  for (const std::string& line : Split(text, '\n')) {
    if (const std::string_view words = Trim(line); !words.empty() && words.front() != '#') return false;
  }
  return true;
}

std::filesystem::path PathOfConfigFile(const Environment& environment) {
  const std::filesystem::path folder = environment.variable("XDG_CONFIG_HOME");
  const std::filesystem::path home = environment.variable("HOME");
  if (folder.empty() && home.empty()) return {};
  return (folder.empty() ? home / ".config" : folder) / "longreach" / "config.yaml";
}

// `found` becomes what there is of the file.
absl::StatusOr<Level> FromFile(const Environment& environment, ConfigFile& found) {
  const std::filesystem::path path = PathOfConfigFile(environment);
  if (path.empty()) return Level{};
  std::ifstream file(path, std::ios::binary);
  std::error_code error;
  found = {.path = path.string(), .exists = std::filesystem::exists(path, error) || error, .read = file.is_open()};
  if (!file) return Level{};
  std::ostringstream text;
  text << file.rdbuf();
  if (IsBlank(text.str())) return Level{};
  ASSIGN_OR_RETURN(const YamlTree tree, YamlTree::Parse(text.str(), path.string()));
  Level level;
  for (const YamlNode::Entry& entry : tree.root().entries) {
    const YamlNode& value = tree.node(entry.value);
    if (std::find(SettingNames().begin(), SettingNames().end(), entry.key) == SettingNames().end()) {
      return tree.ErrorAt(entry.key_place, fmt::format("unknown setting '{}'", Printable(entry.key)),
                          JoinHints(DidYouMean(entry.key, SettingNames()),
                                    fmt::format("there are: {}", Join(SettingNames(), ", "))));
    }
    if (value.kind != YamlNode::Kind::kScalar) {
      return tree.ErrorAt(value.place, fmt::format("{}: expected one value", entry.key));
    }
    level[entry.key] = {value.text, fmt::format("{}:{}:{}", path.string(), value.place.line, value.place.column)};
  }
  return level;
}

std::optional<Value> StrongestOf(const Levels& levels, const std::string& name) {
  for (const Level& level : levels) {
    if (const auto at = level.find(name); at != level.end()) return at->second;
  }
  return std::nullopt;
}

// Of all that say something of it, the strongest first.
std::vector<std::string> OriginsOf(const Levels& levels, const std::string& name) {
  std::vector<std::string> origins;
  for (const Level& level : levels) {
    if (const auto at = level.find(name); at != level.end()) origins.push_back(at->second.origin);
  }
  return origins;
}

SettingInForce InForce(const Levels& levels, const std::string& name, std::string value) {
  SettingInForce setting{.name = name, .value = std::move(value), .source = kDefaultSource};
  const std::vector<std::string> origins = OriginsOf(levels, name);
  if (origins.empty()) return setting;
  setting.source = origins.front();
  setting.passed_over.assign(std::next(origins.begin()), origins.end());
  return setting;
}

// What has no value, as `source` says something that excludes it.
SettingInForce Excluded(const Levels& levels, const std::string& name, const std::string& source) {
  return {.name = name, .value = "", .source = source, .passed_over = OriginsOf(levels, name)};
}

absl::StatusOr<std::string> NormalAddress(const Value& value) {
  const std::string& text = value.text;
  if (text.starts_with("unix:") && text.size() > 5) return text;
  const size_t colon = text.rfind(':');
  if (text.empty() || text.find_first_of(" \t\r\n/") != std::string::npos || colon == 0) {
    return UsageError(fmt::format("{}: '{}' is not an address", value.origin, Printable(text)),
                      "write HOST:PORT or unix:PATH");
  }
  // [::1] has colons and no port.
  if (colon == std::string::npos || text.ends_with(']')) return text + ":7070";
  const std::optional<int64_t> port = ParseInteger(std::string_view(text).substr(colon + 1));
  if (!port.has_value() || *port < 1 || *port > 65535) {
    return UsageError(fmt::format("{}: '{}' has no port from 1 to 65535", value.origin, Printable(text)),
                      "write HOST:PORT or unix:PATH");
  }
  return text;
}

// "~/ca.crt", which in a config file no shell has seen.
std::string FromHome(const std::string& path, const Environment& environment) {
  return path.starts_with("~/") ? environment.variable("HOME") + path.substr(1) : path;
}

absl::StatusOr<Format> FormatOf(const Value& value) {
  std::vector<std::string> names;
  for (const Format format :
       {Format::kTable, Format::kCsv, Format::kJson, Format::kMarkdown, Format::kLatex}) {
    if (value.text == FormatName(format)) return format;
    names.emplace_back(FormatName(format));
  }
  if (value.text == "md") return Format::kMarkdown;
  if (value.text == "tex") return Format::kLatex;
  if (value.text == "jsonl") return Format::kJson;
  return UsageError(
      fmt::format("{}: unknown output format '{}'", value.origin, Printable(value.text)),
      JoinHints(DidYouMean(value.text, names), fmt::format("there are: {}", Join(names, ", "))));
}

// A store and a scheduler are two answers to one question: the strongest level that has one of them decides.
absl::Status ApplyPlace(const Levels& levels, const Environment& environment, Settings& settings) {
  for (const Level& level : levels) {
    const auto scheduler = level.find("scheduler");
    const auto store = level.find("store");
    if (scheduler != level.end() && store != level.end()) {
      return UsageError(
          fmt::format("{} and {} exclude each other", scheduler->second.origin, store->second.origin),
          fmt::format("a store is opened by a scheduler of its own; name one of the two{}",
                      scheduler->second.origin.starts_with("LONGREACH_") ? fmt::format(": unset {}", store->second.origin) : ""));
    }
    if (scheduler != level.end()) {
      ASSIGN_OR_RETURN(settings.scheduler, NormalAddress(scheduler->second));
      settings.scheduler_named = true;
      settings.in_force.push_back(InForce(levels, "scheduler", settings.scheduler));
      settings.in_force.push_back(Excluded(levels, "store", scheduler->second.origin));
      return absl::OkStatus();
    }
    if (store != level.end()) {
      if (store->second.text.empty()) {
        return UsageError(fmt::format("{}: no file named", store->second.origin));
      }
      settings.store = FromHome(store->second.text, environment);
      settings.in_force.push_back(Excluded(levels, "scheduler", store->second.origin));
      settings.in_force.push_back(InForce(levels, "store", settings.store));
      return absl::OkStatus();
    }
  }
  settings.in_force.push_back(InForce(levels, "scheduler", settings.scheduler));
  settings.in_force.push_back(InForce(levels, "store", ""));
  return absl::OkStatus();
}

absl::Status ApplyColor(const Levels& levels, const Environment& environment, Settings& settings) {
  const std::optional<Value> value = StrongestOf(levels, "color");
  const std::string choice = value.has_value() ? value->text : "auto";
  if (choice != "auto" && choice != "always" && choice != "never") {
    return UsageError(fmt::format("{}: unknown choice '{}'", value->origin, Printable(choice)),
                      "write auto, always or never");
  }
  const bool no_color = !environment.variable("NO_COLOR").empty();
  const bool plain = no_color || environment.variable("TERM") == "dumb";
  settings.color_out = choice == "always" || (choice == "auto" && environment.out_is_terminal && !plain);
  settings.color_err = choice == "always" || (choice == "auto" && environment.err_is_terminal && !plain);
  settings.in_force.push_back(InForce(levels, "color", choice));
  // With auto the terminal decides, and these two before it.
  if (choice == "auto" && plain) {
    settings.in_force.back() = {.name = "color", .value = "never", .source = no_color ? "NO_COLOR" : "TERM", .passed_over = OriginsOf(levels, "color")};
  }
  return absl::OkStatus();
}

// A token and a file of one are two answers to one question, too.
void ApplyCredentials(const Levels& levels, const Environment& environment, Settings& settings) {
  access::CredentialFiles& files = settings.credentials;
  for (const auto& [name, path] : {std::pair("ca", &files.ca), std::pair("certificate", &files.certificate), std::pair("key", &files.key),
                                   std::pair("token_file", &files.token_file)}) {
    if (const std::optional<Value> value = StrongestOf(levels, name); value.has_value()) *path = FromHome(value->text, environment);
    settings.in_force.push_back(InForce(levels, name, *path));
  }
  SettingInForce shown{.name = "token", .value = "", .source = settings.in_force.back().source};  // That of token_file, which excludes it.
  // The token itself has no flag, which every process could see, and no line in a file that is not its own.
  if (const std::string token = environment.variable(kTokenVariable); !token.empty()) {
    if (levels.front().contains("token_file")) {
      shown.passed_over = {kTokenVariable};
    } else {
      files.token = token;
      shown.value = kSecretIsSet;
      shown.source = kTokenVariable;
      settings.in_force.back() = Excluded(levels, "token_file", kTokenVariable);
    }
  }
  settings.in_force.push_back(std::move(shown));
}

// What has no place in the config file.
void NoteOthers(const GlobalFlags& flags, const Environment& environment, Settings& settings) {
  settings.in_force.push_back({.name = "quiet", .value = flags.quiet ? "true" : "false", .source = flags.quiet ? "--quiet" : kDefaultSource});
  const std::string python = environment.variable(kPythonVariable);
  settings.in_force.push_back({.name = "python", .value = python, .source = python.empty() ? kDefaultSource : kPythonVariable});
}

}  // namespace

absl::StatusOr<Settings> ResolveSettings(const GlobalFlags& flags, const Environment& environment) {
  Settings settings;
  ASSIGN_OR_RETURN(Level from_file, FromFile(environment, settings.config_file));
  const Levels levels = {FromFlags(flags), FromVariables(environment), std::move(from_file)};
  settings.quiet = flags.quiet;
  settings.place_by_flag = flags.scheduler.has_value() || flags.store.has_value();
  RETURN_IF_ERROR(ApplyPlace(levels, environment, settings));
  if (const std::optional<Value> output = StrongestOf(levels, "output"); output.has_value()) {
    ASSIGN_OR_RETURN(settings.format, FormatOf(*output));
    settings.format_by_flag = flags.output.has_value();
  }
  settings.in_force.push_back(InForce(levels, "output", std::string(FormatName(settings.format))));
  RETURN_IF_ERROR(ApplyColor(levels, environment, settings));
  ApplyCredentials(levels, environment, settings);
  NoteOthers(flags, environment, settings);
  return settings;
}

}  // namespace longreach::client
