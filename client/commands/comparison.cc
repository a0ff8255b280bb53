#include "client/commands/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "client/commands/between.h"
#include "client/commands/comparison_notes.h"
#include "client/commands/job_means.h"
#include "client/commands/measurement_pages.h"
#include "client/commands/only.h"
#include "client/commands/sweep_calls.h"
#include "client/commands/system_settings.h"
#include "client/errors.h"
#include "client/output/text.h"
#include "client/spec/spec_differences.h"
#include "proto/base/text.h"
#include "proto/types/settings.h"

namespace longreach::client {
namespace {

// A baseline has none of the other's encodings or systems, so that which of these are asked for is nothing that it is asked; nor is the value of a
// setting, which tells the other's systems apart, and of which it has one.
Baselines BaselinesOf(const ComparisonAsked& asked, const v1::SweepSpec& first, const v1::SweepSpec& second) {
  Baselines baselines;
  const Only only(asked.only);
  if (only.choices().empty()) return baselines;  // Sweeps may have millions of seeds.
  const SweepValues of_first(first, {}), of_second(second, {});
  for (const std::string_view axis : kPairAxes) {
    const std::optional<size_t> baseline = BaselineSide(of_first.axes(), of_second.axes(), axis);
    if (baseline && only.Of(axis) != nullptr) baselines.emplace(axis, *baseline);
  }
  const std::optional<size_t> of_systems = BaselineSide(of_first.axes(), of_second.axes(), "system");
  for (const auto& [axis, choice] : only.choices()) {
    if (of_systems && IsSettingPath(axis)) baselines.emplace(axis, *of_systems);
  }
  return baselines;
}
std::array<std::vector<std::string>, 2> OnlyOfSides(const ComparisonAsked& asked, const Baselines& baselines) {
  std::array<std::vector<std::string>, 2> only = {asked.only, asked.only};
  for (const auto& baseline : baselines) {
    std::erase_if(only[baseline.second], [&baseline](const std::string& one) { return one.substr(0, one.find('=')) == baseline.first; });
  }
  return only;
}

// What each sweep has one value of, and not the same one, is no value of a pair.
absl::Status CheckShared(const std::string& axis, const std::array<SweepValues, 2>& sides, const PairedValues& values) {
  if (!values.DifferIn(axis) || BaselineSide(sides[0].axes(), sides[1].axes(), axis)) return absl::OkStatus();
  return UsageError(fmt::format("--by {}: in that the sweeps differ, {} and {}", axis, Printable(*sides[0].axes()[PlaceOf(axis)].begin()),
                                Printable(*sides[1].axes()[PlaceOf(axis)].begin())), "name another axis");
}

// The jobs that are compared, as far as they are those of two encodings or systems.
std::vector<std::string> OnlyOfBetween(const ComparisonAsked& asked, const Between& between) {
  std::vector<std::string> only = asked.only;
  const std::string_view axis = between.difference();
  if (axis != "encoding" && axis != "system") return only;
  std::erase_if(only, [axis](const std::string& one) { return one.substr(0, one.find('=')) == axis; });
  only.push_back(fmt::format("{}={},{}", axis, between.values()[0], between.values()[1]));
  return only;
}

// Calls `use` with each job that has a value or has diverged.
absl::Status ReadSide(Connection& connection, const ComparisonAsked& asked, const v1::Sweep& sweep, const std::vector<std::string>& only, std::function<void(JobMean&)> use) {
  v1::ListMeasurementsRequest question;
  question.set_sweep(sweep.id());
  question.set_metric(asked.metric);
  if (!asked.IsOverChosenLengths()) question.set_length(asked.length);
  question.set_slice(asked.slice);
  for (const std::string& one : only) question.add_only(one);
  JobMeans means(std::move(use));
  const absl::Status read = ForEachMeasurementPage(connection, std::move(question), [&means](const v1::ListMeasurementsResponse& page) {
    for (const v1::JobMeasurements& of_job : page.jobs()) means.Add(of_job);
    return true;
  });
  if (read.ok()) means.End();
  if (read.ok()) return read;
  const ErrorText text = SplitError(read);
  const bool by_setting = !asked.second.empty() && std::ranges::any_of(Only(only).choices(), [](const auto& one) { return IsSettingPath(one.first); });
  const bool is_refused = read.code() == absl::StatusCode::kInvalidArgument && by_setting;
  std::string hint = text.hint;
  // What --only says of a setting is nothing that a baseline is asked.
  if (is_refused) hint += std::string(hint.empty() ? "" : "\n") + "each sweep is asked for it, but one of one system, or none, beside one of several: leave it out where they differ in it";
  return Error(read.code(), fmt::format("sweep '{}': {}", Printable(sweep.name()), text.message), hint);
}

// Fields and axes in which the sweeps differ.
std::vector<std::string> SettingsThatDiffer(const v1::Sweep& first, const v1::Sweep& second, const SweepValues& of_first, const SweepValues& of_second) {
  std::set<std::string> fields = FieldsThatDiffer(first.spec(), second.spec());
  fields.merge(FieldsThatDiffer(second.spec(), first.spec()));
  for (size_t axis = 0; axis < kPairAxes.size(); ++axis) {
    const bool is_said = kPairAxes[axis] == "system";  // By the settings of the systems.
    if (!is_said && of_first.axes()[axis] != of_second.axes()[axis]) fields.emplace(kPairAxes[axis]);
  }
  return {fields.begin(), fields.end()};
}

}  // namespace

bool ComparisonAsked::IsOverChosenLengths() const { return Only(only).Of("length") != nullptr; }

absl::StatusOr<Comparison> CompareSweeps(Connection& connection, const ComparisonAsked& asked, const v1::Sweep& first) {
  ASSIGN_OR_RETURN(const v1::Sweep second, FindSweep(connection, asked.second));
  if (first.id() == second.id()) {
    return UsageError(fmt::format("'{}' and '{}' are the same sweep", Printable(asked.first), Printable(asked.second)),
                      "name another one ('longreach sweeps' lists them), or what to compare within it: --between encoding=rope,alibi");
  }
  const Baselines baselines = BaselinesOf(asked, first.spec(), second.spec());
  const std::array<std::vector<std::string>, 2> only = OnlyOfSides(asked, baselines);
  std::array<SweepValues, 2> sides = {SweepValues(first.spec(), only[0]), SweepValues(second.spec(), only[1])};
  TestedLengths lengths;
  const auto add_to = [&](size_t side) {
    return [&, side](JobMean& one) {
      sides[side].Add(one.job, one.value);
      if (one.value.has_value()) lengths.insert(one.lengths);
    };
  };
  RETURN_IF_ERROR(ReadSide(connection, asked, first, only[0], add_to(0)));
  RETURN_IF_ERROR(ReadSide(connection, asked, second, only[1], add_to(1)));
  // Sweeps may have one name.
  const bool same = first.name() == second.name();
  const auto name = [same](const v1::Sweep& sweep) { return same ? fmt::format("{} ({})", sweep.name(), ShortId(sweep.id())) : sweep.name(); };
  Comparison comparison{.names = {name(first), name(second)},
                        .sides = {ComparedSide{first.id(), first.name()}, ComparedSide{second.id(), second.name()}},
                        .title = fmt::format("{} and {}", name(first), name(second)),
                        .settings = SettingsThatDiffer(first, second, sides[0], sides[1]),
                        .values = PairedValues(sides[0], sides[1]),
                        .lengths = std::move(lengths),
                        .notes = {},
                        .baselines = baselines};
  for (const std::string& axis : asked.by) RETURN_IF_ERROR(CheckShared(axis, sides, comparison.values));
  AddNotesOnPairing(asked, sides, comparison);
  AddNoteOnOpen(asked, first, comparison);
  AddNoteOnOpen(asked, second, comparison);
  if (!AddNoteOnDrawnPositions(asked, first.spec(), only[0], comparison)) AddNoteOnDrawnPositions(asked, second.spec(), only[1], comparison);
  return comparison;
}

absl::StatusOr<Comparison> CompareWithin(Connection& connection, const ComparisonAsked& asked, const v1::Sweep& sweep) {
  ASSIGN_OR_RETURN(Between between, Between::Parse(asked.between));
  if (between.OfSetting()) {
    ASSIGN_OR_RETURN(const SystemSettings settings, SystemSettings::Fetch(connection, sweep, {std::string(between.difference())}));
    RETURN_IF_ERROR(between.ReadSystems(settings));
  }
  RETURN_IF_ERROR(between.Check(SweepValues(sweep.spec(), asked.only).axes()));
  if (std::ranges::any_of(asked.by, [&between](const std::string& axis) { return !between.Leaves(axis); })) {
    return UsageError(fmt::format("--by {}: that is what --between compares", between.difference()), "name another axis");
  }
  const std::vector<std::string_view> along = between.Along(sweep.spec(), asked.only);
  for (const std::string& axis : asked.by) {
    if (std::ranges::find(along, axis) != along.end()) {
      return UsageError(fmt::format("--by {}: in that {} and {} differ, too", axis, Printable(between.values()[0]), Printable(between.values()[1])), "name another axis");
    }
  }
  std::array<SweepValues, 2> sides;
  TestedLengths lengths;
  RETURN_IF_ERROR(ReadSide(connection, asked, sweep, asked.only, [&](JobMean& one) {
    const std::optional<size_t> side = between.Take(one.job);
    if (!side.has_value()) return;
    sides[*side].Add(one.job, one.value);
    if (one.value.has_value()) lengths.insert(one.lengths);
  }));
  std::vector<std::string_view> compared = along;
  if (between.difference() == "seed") compared.push_back("seed");  // All keys have the seed 0 now, which is none that the pairs have.
  Comparison comparison{.names = between.Names(),
                        .sides = {ComparedSide{sweep.id(), sweep.name(), between.Choice(0)}, ComparedSide{sweep.id(), sweep.name(), between.Choice(1)}},
                        .title = fmt::format("{}, {}", sweep.name(), between.Title()),
                        .settings = {std::string(between.difference())},
                        .values = PairedValues::OfOneSweep(sides[0], sides[1], compared),
                        .lengths = std::move(lengths),
                        .notes = {}};
  comparison.settings.insert(comparison.settings.end(), along.begin(), along.end());
  const std::set<std::string> fields = between.OtherFields(sweep.spec());
  comparison.settings.insert(comparison.settings.end(), fields.begin(), fields.end());
  AddNotesOnPairing(asked, sides, comparison);
  AddNoteOnOpen(asked, sweep, comparison);
  AddNoteOnDrawnPositions(asked, sweep.spec(), OnlyOfBetween(asked, between), comparison);
  return comparison;
}

}  // namespace longreach::client
