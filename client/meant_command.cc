#include "client/meant_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "proto/base/text.h"

namespace longreach::client {
namespace {

// The nearest of our words by its letters would be another one: 'store' of "stop", 'run' of "rm".
constexpr std::string_view kEndsSweep = "'longreach pause' holds a sweep, 'longreach cancel' gives it up;";
constexpr std::string_view kTakesAway = "'longreach cancel' gives a sweep up, and results that are there stay; 'longreach data remove' takes a data set away;";
constexpr std::string_view kShowsOne = "'longreach job' shows a job, 'longreach status' a sweep;";
constexpr std::string_view kShowsWork = "'longreach watch' follows a sweep, 'longreach workers' says what each worker does;";
constexpr std::string_view kDraws = "'longreach plot' draws figures;";
constexpr ForeignWord kForeign[] = {
    {"abort", kEndsSweep},
    {"chart", kDraws},
    {"delete", kTakesAway},
    {"describe", kShowsOne},
    {"draw", kDraws},
    {"figure", kDraws},
    {"info", kShowsOne},
    {"kill", kEndsSweep},
    {"ls", "'longreach sweeps' lists sweeps, 'longreach jobs' the jobs of one;"},
    {"ps", kShowsWork},
    {"remove", kTakesAway},
    {"rm", kTakesAway},
    {"show", kShowsOne},
    {"start", "'longreach run' runs a sweep, 'longreach resume' goes on with one that is paused;"},
    {"stop", kEndsSweep},
    {"table", "'longreach results' prints tables;"},
    {"tail", "'longreach logs' prints the end of a job's log;"},
    {"top", kShowsWork},
    {"train", "'longreach run' trains a sweep's jobs;"},
};

}  // namespace

std::span<const ForeignWord> ForeignWords() { return kForeign; }

std::string CommandMeant(const CLI::App& root, std::string_view word) {
  const auto foreign = std::ranges::find(kForeign, word, &ForeignWord::word);
  if (foreign != std::end(kForeign)) return std::string(foreign->answer);
  const auto all = [](const CLI::App*) { return true; };
  std::vector<std::string> below;
  for (const CLI::App* one : root.get_subcommands(all)) {
    if (one->get_group().empty()) continue;
    for (const CLI::App* inner : one->get_subcommands(all)) {
      if (inner->get_name() == word) below.push_back(fmt::format("'longreach {} {}'", one->get_name(), word));
    }
  }
  return below.empty() ? "" : fmt::format("did you mean {}?", Join(below, " or "));
}

std::string CommandAbove(const CLI::App& root, std::string_view word) {
  const std::vector<const CLI::App*> found = root.get_subcommands([word](const CLI::App* one) { return one->get_name() == word && !one->get_group().empty(); });
  return found.empty() ? "" : fmt::format("did you mean 'longreach {}'?", word);
}

}  // namespace longreach::client
