#include "client/commands/arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>

#include "client/commands/only.h"
#include "client/commands/paired_values.h"
#include "client/commands/words_elsewhere.h"
#include "client/errors.h"
#include "client/output/text.h"
#include "client/spec/presets.h"
#include "proto/base/duration.h"
#include "proto/base/text.h"
#include "proto/base/utf8.h"
#include "proto/catalog/aggregates.h"
#include "proto/catalog/axes.h"
#include "proto/catalog/catalog.h"
#include "proto/types/axis_list.h"
#include "proto/types/settings.h"
#include "proto/types/words.h"

namespace longreach::client {

std::string WhyNoText(const std::string& word) {
  return FirstNotUtf8(word) ? fmt::format("'{}' is not UTF-8", Printable(word)) : "";
}

std::string CheckCount(const std::string& word) {
  const std::optional<int64_t> number = ParseInteger(word);
  if (number.has_value() && *number >= 0 && *number <= std::numeric_limits<int32_t>::max()) return "";
  return fmt::format("'{}' is not a whole number from 0 to {}", Printable(word), std::numeric_limits<int32_t>::max());
}

namespace {

// Why this names no single sweep; empty: it may.
std::string WhyNotOneSweep(const std::string& word) {
  std::vector<std::string> names;
  for (const LoadedSweep& part : PartsOf(word)) names.push_back(Printable(part.file.spec.name()));
  if (names.size() == 1) return fmt::format("'{}' stands for the sweep '{}'; name that", Printable(word), names.front());
  return names.empty() ? "" : fmt::format("'{}' stands for several sweeps; name one of {}", Printable(word), Join(names, ", "));
}

void AddOnly(CLI::App& app, std::vector<std::string>& only, std::string_view or_values) {
  app.add_option("--only", only, fmt::format("Only jobs with these values of an axis{}; of numbers also ranges (seed=0,2..4); may be repeated for other axes", or_values))
      ->type_name("AXIS=VALUE[,VALUE...]")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false)
      ->check(WhyNoText);
}

}  // namespace

CLI::Option* AddSweepArgument(CLI::App& app, std::string& sweep, const SweepArgument& how) {
  CLI::Option* const option = app.add_option(how.name, sweep, how.required ? how.description : how.description + " [last]")->required(how.required)->check(WhyNoText);
  return how.parts ? option : option->check(WhyNotOneSweep);
}

CLI::Option* AddSweepsArgument(CLI::App& app, std::vector<std::string>& sweeps) {
  return app.add_option("SWEEP", sweeps, "The sweeps [last]")->check(WhyNoText)->check(WhyNotOneSweep);
}

CLI::Option* AddJobArgument(CLI::App& app, std::string& job) {
  return app.add_option("JOB", job, "The job's id, or its beginning (at least 4 digits)")->required()->check(WhyNoText);
}

void AddNewFolderArgument(CLI::App& app, std::string& folder) { app.add_option("DIR", folder, "The folder to make")->type_name("TEXT")->required()->check(WhyNoText); }

void AddDataFolderOption(CLI::App& app, std::string& folder) {
  app.add_option("--data-folder", folder, "Where this machine's data sets lie [LONGREACH_DATA]")->type_name("DIR");
}

absl::Status CheckChoice(std::string_view option, const std::string& value, const std::vector<std::string>& known, std::string_view meant) {
  if (value.empty() || std::ranges::find(known, value) != known.end()) return absl::OkStatus();
  return UsageError(fmt::format("{}: unknown value '{}'", option, Printable(value)),
                    JoinHints(meant.empty() ? DidYouMean(value, known) : fmt::format("did you mean '{}'?", meant), fmt::format("there are: {}", Join(known, ", "))));
}

absl::Status CheckAxis(std::string_view option, const std::string& axis, const std::vector<std::string>& known) {
  if (IsSettingPath(axis)) return absl::OkStatus();
  if (axis.find('.') != std::string::npos) {
    if (NamesSettingGroup(axis)) return CheckChoice(option, axis, SettingPathsNear(axis));
    return UsageError(fmt::format("{}: unknown value '{}'", option, Printable(axis)), JoinHints(DidYouMean(axis, SettingPaths()), WhereSettingsAre()));
  }
  if (axis.empty() || std::ranges::find(known, axis) != known.end()) return absl::OkStatus();
  const std::vector<std::string> meant = AxesMeant(axis, known);
  return UsageError(fmt::format("{}: unknown value '{}'", option, Printable(axis)),
                    JoinHints(meant.empty() ? "" : fmt::format("did you mean '{}'?", Join(meant, "' or '")),
                              fmt::format("there are: {}; or a setting by its path, as model.layers", Join(known, ", "))));
}

absl::Status CheckAxes(std::string_view option, const std::string& axes, const std::vector<std::string>& known) {
  std::vector<std::string> seen;
  for (const std::string& axis : AxesIn(axes)) {
    if (axis.empty()) return UsageError(fmt::format("{}: '{}' lacks an axis beside a ','", option, Printable(axes)), "write several as task,system");
    RETURN_IF_ERROR(CheckAxis(option, axis, known));
    if (std::ranges::find(seen, axis) != seen.end()) return UsageError(fmt::format("{} names '{}' twice", option, axis));
    seen.push_back(axis);
  }
  return absl::OkStatus();
}

void AddByOption(CLI::App& app, std::vector<std::string>& by, std::string_view without) {
  app.add_option("--by", by, fmt::format("Axes with a row for each of their values: {} [{}]", Join({kPairAxes.begin(), kPairAxes.end()}, ", "), without))
      ->type_name("AXIS,...")
      ->delimiter(',')
      ->transform([](const std::string& word) { return std::string(Trim(word)); });
}

absl::Status CheckBy(const std::vector<std::string>& by) {
  const std::vector<std::string> known(kPairAxes.begin(), kPairAxes.end());
  for (const std::string& axis : by) {
    if (IsSettingPath(axis)) {
      return UsageError(fmt::format("--by: '{}' is a setting, and rows are of axes alone", axis),
                        fmt::format("there are: {}; where systems differ in that setting, 'system' has a row for each of them", Join(known, ", ")));
    }
    RETURN_IF_ERROR(CheckChoice("--by", axis, known));
  }
  if (std::set(by.begin(), by.end()).size() != by.size()) return UsageError("--by names an axis twice");
  return absl::OkStatus();
}

namespace {

absl::Status CheckMetric(const std::string& metric) {
  std::vector<std::string> metrics;
  for (const catalog::Metric& one : catalog::Metrics()) metrics.emplace_back(one.name);
  return CheckChoice("--metric", metric, metrics, MeantElsewhere(WordOf::kMetric, metric));
}

}  // namespace

absl::Status CheckMeasure(const std::string& metric, const std::string& aggregate) {
  if (constexpr std::string_view kDeviations[] = {"deviation", "sd", "std", "stddev", "stdev"}; std::ranges::find(kDeviations, aggregate) != std::end(kDeviations)) {
    return UsageError(fmt::format("--aggregate: unknown value '{}'", aggregate),
                      fmt::format("a standard deviation stands beside a mean: --aggregate mean --spread in tables, the bands of figures; there are: {}", Join(catalog::Aggregates(), ", ")));
  }
  RETURN_IF_ERROR(CheckChoice("--aggregate", aggregate, catalog::Aggregates(), MeantElsewhere(WordOf::kAggregate, aggregate)));
  return CheckMetric(metric);
}

void AddOnlyOption(CLI::App& app, std::vector<std::string>& only) { AddOnly(app, only, ", or their values at these lengths or in these slices"); }

absl::Status CheckNoSlices(const std::vector<std::string>& only, std::string_view why) {
  const Only chosen(only);
  for (const auto& [axis, choice] : chosen.choices()) {
    const bool is_of_slices = std::ranges::find(catalog::TableAxes(), axis) != catalog::TableAxes().end() && !IsPairAxis(axis) && axis != "length";
    if (is_of_slices) return UsageError(fmt::format("--only {}: {}", axis, why), fmt::format("--slice names one: --slice {}=...", axis));
  }
  return absl::OkStatus();
}

void AddOnlyJobsOption(CLI::App& app, std::vector<std::string>& only) { AddOnly(app, only, ""); }

absl::StatusOr<double> ParseDuration(std::string_view text, std::string_view option) {
  const std::optional<double> seconds = longreach::ParseDuration(text);
  if (seconds.has_value()) return *seconds;
  return UsageError(fmt::format("{}: '{}' is not a duration", option, Printable(text)), fmt::format("write {}: 90, 15min, 2h", kDurationForm));
}

}  // namespace longreach::client
