#include "client/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
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

const std::vector<std::string>& SettingNames() {
  static const std::vector<std::string> names = {"scheduler", "store", "output", "color",
                                                 "ca", "certificate", "key", "token_file"};
  return names;
}

Level FromFlags(const GlobalFlags& flags) {
  Level level;
  const auto add = [&level](const char* name, const std::optional<std::string>& value) {
    if (value.has_value()) level[name] = {*value, fmt::format("--{}", name)};
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

absl::StatusOr<Level> FromFile(const Environment& environment) {
  const std::string folder = environment.variable("XDG_CONFIG_HOME");
  const std::string home = environment.variable("HOME");
  if (folder.empty() && home.empty()) return Level{};
  const std::filesystem::path path =
      (folder.empty() ? std::filesystem::path(home) / ".config" : std::filesystem::path(folder)) /
      "longreach" / "config.yaml";
  std::ifstream file(path, std::ios::binary);
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
    level[entry.key] = {value.text, fmt::format("{}:{}", path.string(), value.place.line)};
  }
  return level;
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

absl::Status ApplyColor(const std::optional<Value>& value, const Environment& environment,
                        Settings& settings) {
  const std::string choice = value.has_value() ? value->text : "auto";
  if (choice != "auto" && choice != "always" && choice != "never") {
    return UsageError(fmt::format("{}: unknown choice '{}'", value->origin, Printable(choice)),
                      "write auto, always or never");
  }
  const bool plain = !environment.variable("NO_COLOR").empty() || environment.variable("TERM") == "dumb";
  settings.color_out = choice == "always" || (choice == "auto" && environment.out_is_terminal && !plain);
  settings.color_err = choice == "always" || (choice == "auto" && environment.err_is_terminal && !plain);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Settings> ResolveSettings(const GlobalFlags& flags, const Environment& environment) {
  ASSIGN_OR_RETURN(const Level from_file, FromFile(environment));
  // The strongest first.
  const std::array<Level, 3> levels = {FromFlags(flags), FromVariables(environment), from_file};
  const auto find = [&levels](const std::string& name) -> std::optional<Value> {
    for (const Level& level : levels) {
      if (const auto at = level.find(name); at != level.end()) return at->second;
    }
    return std::nullopt;
  };

  Settings settings;
  settings.quiet = flags.quiet;
  settings.place_by_flag = flags.scheduler.has_value() || flags.store.has_value();
  // A store and a scheduler are two answers to one question: the strongest level that has one of them
  // decides.
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
    }
    if (store != level.end()) {
      if (store->second.text.empty()) {
        return UsageError(fmt::format("{}: no file named", store->second.origin));
      }
      settings.store = FromHome(store->second.text, environment);
    }
    if (scheduler != level.end() || store != level.end()) break;
  }
  if (const std::optional<Value> output = find("output"); output.has_value()) {
    ASSIGN_OR_RETURN(settings.format, FormatOf(*output));
    settings.format_by_flag = flags.output.has_value();
  }
  for (const auto& [name, path] : {std::pair("ca", &settings.credentials.ca), std::pair("certificate", &settings.credentials.certificate),
                                   std::pair("key", &settings.credentials.key),
                                   std::pair("token_file", &settings.credentials.token_file)}) {
    if (const std::optional<Value> value = find(name); value.has_value()) *path = FromHome(value->text, environment);
  }
  // The token itself has no flag, which every process could see, and no line in a file that is not its own.
  if (!flags.token_file.has_value()) settings.credentials.token = environment.variable("LONGREACH_TOKEN");
  RETURN_IF_ERROR(ApplyColor(find("color"), environment, settings));
  return settings;
}

}  // namespace longreach::client
