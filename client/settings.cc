#include "client/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

#include "client/errors.h"
#include "client/output/text.h"
#include "proto/base/text.h"

namespace longreach::client {
namespace {

// What one of those says who may say something.
struct Level {
  SettingValues values;
  bool typed = false;  // On the command line, for this one command.
};
// The strongest first.
using Levels = std::vector<Level>;

constexpr const char* kTokenVariable = "LONGREACH_TOKEN";

std::string FlagOf(std::string_view name) {
  std::string flag = fmt::format("--{}", name);
  std::ranges::replace(flag, '_', '-');
  return flag;
}

SettingValues FromFlags(const GlobalFlags& flags) {
  SettingValues values;
  const auto add = [&values](const char* name, const std::optional<std::string>& value) {
    if (value.has_value()) values[name] = {*value, FlagOf(name)};
  };
  add(kContextSetting, flags.context);
  add("scheduler", flags.scheduler);
  add("store", flags.store);
  add("output", flags.output);
  add("color", flags.color);
  add("ca", flags.ca);
  add("certificate", flags.certificate);
  add("key", flags.key);
  add("token_file", flags.token_file);
  return values;
}

SettingValues FromVariables(const Environment& environment) {
  std::vector<std::string> names = SettingNames();
  names.emplace_back(kContextSetting);
  SettingValues values;
  for (const std::string& name : names) {
    std::string variable = "LONGREACH_";
    for (const char c : name) variable += c == '_' ? c : static_cast<char>(c - 'a' + 'A');
    if (const std::string value = environment.variable(variable.c_str()); !value.empty()) {
      values[name] = {value, variable};
    }
  }
  return values;
}

std::optional<SettingValue> StrongestOf(const Levels& levels, const std::string& name) {
  for (const Level& level : levels) {
    if (const auto at = level.values.find(name); at != level.values.end()) return at->second;
  }
  return std::nullopt;
}

bool IsTyped(const Levels& levels, const std::string& name) {
  return std::ranges::any_of(levels, [&name](const Level& level) { return level.typed && level.values.contains(name); });
}

// Of all that say something of it, the strongest first.
std::vector<std::string> OriginsOf(const Levels& levels, const std::string& name) {
  std::vector<std::string> origins;
  for (const Level& level : levels) {
    if (const auto at = level.values.find(name); at != level.values.end()) origins.push_back(at->second.origin);
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

absl::StatusOr<std::string> NormalAddress(const SettingValue& value) {
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

absl::StatusOr<Format> FormatOf(const SettingValue& value) {
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

// The context that is asked for becomes one more of the levels. A single setting wins over a context that is named in the same place, and a
// context over all that is named in a weaker one: what is typed with --context over the environment. In the file, where no place is weaker, a
// context wins over what stands beside it.
absl::Status ApplyContext(const ConfigFile& file, Levels& levels, Settings& settings) {
  const std::optional<SettingValue> asked = StrongestOf(levels, kContextSetting);
  settings.in_force.push_back(InForce(levels, kContextSetting, asked.has_value() ? asked->text : ""));
  if (!asked.has_value()) return absl::OkStatus();
  const auto chosen = std::ranges::find(file.contexts, asked->text, [](const auto& one) { return one.first; });
  if (chosen == file.contexts.end()) {
    const std::vector<std::string> names = file.ContextNames();
    const std::string there_are = !names.empty()      ? fmt::format("there are: {}", Join(names, ", "))
                                  : file.path.empty() ? "they stand in a config file, and neither XDG_CONFIG_HOME nor HOME says where it is"
                                                      : fmt::format("they stand below 'contexts:' in {}, which has none", Printable(file.path));
    return UsageError(fmt::format("{}: there is no context '{}'", asked->origin, Printable(asked->text)), JoinHints(DidYouMean(asked->text, names), there_are));
  }
  settings.context = chosen->first;
  settings.context_by_flag = IsTyped(levels, kContextSetting);
  const size_t weaker = settings.context_by_flag ? 1 : 2;  // Than the command line, or than the environment too.
  levels.insert(levels.begin() + static_cast<std::ptrdiff_t>(weaker), Level{.values = chosen->second, .typed = settings.context_by_flag});
  return absl::OkStatus();
}

// A store and a scheduler are two answers to one question: the strongest level that has one of them decides.
absl::Status ApplyPlace(const Levels& levels, const Environment& environment, Settings& settings) {
  for (const Level& level : levels) {
    const auto scheduler = level.values.find("scheduler");
    const auto store = level.values.find("store");
    const bool names_scheduler = scheduler != level.values.end();
    const bool names_store = store != level.values.end();
    settings.place_by_flag = level.typed && (names_scheduler || names_store);
    if (names_scheduler && names_store) {
      return UsageError(
          fmt::format("{} and {} exclude each other", scheduler->second.origin, store->second.origin),
          fmt::format("a store is opened by a scheduler of its own; name one of the two{}",
                      scheduler->second.origin.starts_with("LONGREACH_") ? fmt::format(": unset {}", store->second.origin) : ""));
    }
    if (names_scheduler) {
      ASSIGN_OR_RETURN(settings.scheduler, NormalAddress(scheduler->second));
      settings.scheduler_named = true;
      settings.in_force.push_back(InForce(levels, "scheduler", settings.scheduler));
      settings.in_force.push_back(Excluded(levels, "store", scheduler->second.origin));
      return absl::OkStatus();
    }
    if (names_store) {
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
  const std::optional<SettingValue> value = StrongestOf(levels, "color");
  const std::string choice = value.has_value() ? value->text : "auto";
  if (choice != "auto" && choice != "always" && choice != "never") {
    return UsageError(fmt::format("{}: unknown choice '{}'", value->origin, Printable(choice)),
                      "write auto, always or never");
  }
  const bool no_color = !environment.variable("NO_COLOR").empty();
  settings.dumb_terminal = environment.variable("TERM") == "dumb";
  const bool plain = no_color || settings.dumb_terminal;
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
    if (const std::optional<SettingValue> value = StrongestOf(levels, name); value.has_value()) *path = FromHome(value->text, environment);
    settings.in_force.push_back(InForce(levels, name, *path));
  }
  SettingInForce shown{.name = "token", .value = "", .source = settings.in_force.back().source};  // That of token_file, which excludes it.
  // The token itself has no flag, which every process could see, and no line in a file that is not its own.
  if (const std::string token = environment.variable(kTokenVariable); !token.empty()) {
    if (IsTyped(levels, "token_file")) {
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

// Also of what was typed beside it, as the dashboard types all that holds.
void NoteWhatContextSays(const Environment& environment, Settings& settings) {
  if (!settings.context_by_flag) return;
  const auto& contexts = settings.config_file.contexts;
  const auto chosen = std::ranges::find(contexts, settings.context, [](const auto& one) { return one.first; });
  for (const auto& [name, said] : chosen->second) {
    const absl::StatusOr<std::string> meant = name == "scheduler" ? NormalAddress(said) : FromHome(said.text, environment);
    const auto holds = std::ranges::find(settings.in_force, name, &SettingInForce::name);
    if (holds != settings.in_force.end() && meant.ok() && *meant == holds->value) settings.said_by_context.insert(FlagOf(name));
  }
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
  ASSIGN_OR_RETURN(settings.config_file, ReadConfigFile(environment));
  Levels levels = {{.values = FromFlags(flags), .typed = true}, {.values = FromVariables(environment)}, {.values = settings.config_file.settings}};
  settings.quiet = flags.quiet;
  RETURN_IF_ERROR(ApplyContext(settings.config_file, levels, settings));
  RETURN_IF_ERROR(ApplyPlace(levels, environment, settings));
  if (const std::optional<SettingValue> output = StrongestOf(levels, "output"); output.has_value()) {
    ASSIGN_OR_RETURN(settings.format, FormatOf(*output));
    settings.format_by_flag = flags.output.has_value();
  }
  settings.in_force.push_back(InForce(levels, "output", std::string(FormatName(settings.format))));
  RETURN_IF_ERROR(ApplyColor(levels, environment, settings));
  ApplyCredentials(levels, environment, settings);
  NoteWhatContextSays(environment, settings);
  NoteOthers(flags, environment, settings);
  return settings;
}

}  // namespace longreach::client
