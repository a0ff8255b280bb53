#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "client/commands/command.h"
#include "client/doctor/variables.h"
#include "client/output/grid.h"
#include "client/output/json.h"
#include "client/output/text.h"
#include "proto/base/text.h"

namespace longreach::client {
namespace {

// A list in a program's hands, and words in anybody else's.
GridCell CellOfWords(const std::vector<std::string>& words, bool json) {
  if (!json) return TextCell(Join(words, ", "));
  std::vector<std::string> quoted;
  std::ranges::transform(words, std::back_inserter(quoted), [](const std::string& word) { return JsonText(word); });
  return {.value = fmt::format("[{}]", Join(quoted, ",")), .is_raw = true};
}

// All but one are texts.
GridCell CellOfValue(const SettingInForce& setting) {
  if (setting.value.empty()) return MissingCell();
  return {.value = setting.value, .is_raw = setting.name == "quiet"};
}

Grid SettingsGrid(const std::vector<SettingInForce>& settings, bool json) {
  Grid grid;
  grid.columns = {{"name", "NAME"}, {"value", "VALUE"}, {"source", "SOURCE"}, {"passed_over", "PASSED OVER"}};
  for (const SettingInForce& one : settings) {
    grid.rows.push_back({TextCell(one.name), CellOfValue(one), TextCell(one.source), CellOfWords(one.passed_over, json)});
  }
  return grid;
}

Grid VariablesGrid(const std::vector<UnknownVariable>& variables) {
  Grid grid;
  grid.columns = {{"name", "NAME"}, {"meant", "MEANT"}};
  for (const UnknownVariable& one : variables) grid.rows.push_back({TextCell(one.name), one.meant.empty() ? MissingCell() : TextCell(one.meant)});
  return grid;
}

std::string SentenceOf(const ConfigFile& file) {
  if (file.path.empty()) return "config file: none, as neither XDG_CONFIG_HOME nor HOME is set";
  return fmt::format("config file: {}{}", Printable(file.path),
                     file.read ? "" : file.exists ? ", which cannot be read and is passed over" : ", which is not there");
}

std::string ContextsSentence(const ConfigFile& file) { return fmt::format("contexts: {}", Join(file.ContextNames(), ", ")); }

class Config final : public Command {
 public:
  CommandInfo Info() const override {
    return {
        .group = kGroupMaintain,
        .summary = "Say which settings of this program are in force, and where each comes from: show",
        .details =
            "SOURCE is a flag, a variable of the environment, a place in the config file (PATH:LINE:COLUMN, and the context that it is\n"
            "in) or 'default', and PASSED OVER what else says something of the setting: a flag wins over the environment, and that over\n"
            "the file, in which the context in force wins over the rest; one named with --context wins over the environment too.\n"
            "Above the settings stands which contexts the file has. Of scheduler and\n"
            "store one is in force, and so of token and token_file: the other has no value, and the same source. A token itself is\n"
            "never shown; 'set' says that there is one. No scheduler is asked and no store is opened. What longreach-scheduler and\n"
            "longreach-worker take from the environment, as LONGREACH_DATA, is not among these: their --help has it. Variables that\n"
            "begin with LONGREACH_ and mean nothing to any of the programs are named, each with the one that may be meant.",
        .examples =
            "longreach config show\n"
            "longreach config show --store other.db\n"
            "longreach config show --context cluster\n"
            "longreach config show -o json",
        .more_formats = kAllFormats};
  }

  void AddOptions(CLI::App& app) override {
    app.require_subcommand(1);
    app.add_subcommand("show", "Print every setting: its name, its value, and who says so");
  }

  absl::StatusOr<int> Run(Session& session) override {
    const Settings& settings = session.settings();
    const ConfigFile& file = settings.config_file;
    const Grid grid = SettingsGrid(settings.in_force, session.json());
    const std::vector<UnknownVariable> unknown = UnknownVariables(session.environment().variable_names());
    if (session.json()) {
      session.out() << JsonDocument({{"config_file", fmt::format("{{\"path\":{},\"exists\":{},\"read\":{}}}", JsonText(file.path), file.exists, file.read)},
                                     {"contexts", CellOfWords(file.ContextNames(), /*json=*/true).value},
                                     {"settings", GridAsJson(grid)},
                                     {"unknown_variables", GridAsJson(VariablesGrid(unknown))}});
      return kDone;
    }
    // Other formats have no place for it.
    std::vector<std::string> sentences = {SentenceOf(file)};
    if (!file.contexts.empty()) sentences.push_back(ContextsSentence(file));
    for (const UnknownVariable& one : unknown) sentences.push_back(fmt::format("{}: {}", WhatIsUnknown(one), AdviceOn(one)));
    for (const std::string& sentence : sentences) {
      if (settings.format == Format::kTable) session.out() << sentence << "\n";
      else session.Say(sentence);
    }
    session.Print(grid, "settings");
    return kDone;
  }
};

}  // namespace

std::unique_ptr<Command> Make_config() { return std::make_unique<Config>(); }

}  // namespace longreach::client
