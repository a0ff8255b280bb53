#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "client/commands/arguments.h"
#include "client/commands/between.h"
#include "client/commands/command.h"
#include "client/commands/compared_rows.h"
#include "client/commands/differences.h"
#include "client/commands/job_means.h"
#include "client/commands/measurement_pages.h"
#include "client/commands/only.h"
#include "client/commands/paired_values.h"
#include "client/commands/suggestions.h"
#include "client/commands/shared_draw.h"
#include "client/commands/sweep_calls.h"
#include "client/commands/tables.h"
#include "client/commands/title_words.h"
#include "client/errors.h"
#include "client/output/grid.h"
#include "client/output/json.h"
#include "client/output/text.h"
#include "client/spec/spec_differences.h"
#include "proto/base/text.h"
#include "proto/catalog/axes.h"
#include "proto/types/settings.h"
#include "proto/types/words.h"

namespace longreach::client {
namespace {

constexpr std::string_view kLengthAxis = "length";

// At which the jobs that are compared have the values that are asked for; with more than one entry they are of other tests.
using TestedLengths = std::set<std::vector<int>>;

// What one side's jobs are, for programs.
struct Side {
  std::string sweep;        // An id.
  std::string name;         // The sweep's.
  std::string choice = {};  // Which of its jobs: as Between::Choice(); empty: of two sweeps, all.
};

// Sides that are not asked what --only says of an axis, by the axis.
using Baselines = std::map<std::string, size_t, std::less<>>;

// What stands beside each other, and what there is to say of it.
struct Comparison {
  std::array<std::string, 2> names;   // Of the two sides, for people.
  std::array<Side, 2> sides;
  std::string title;                  // Both, for people.
  std::vector<std::string> settings;  // In which they differ.
  PairedValues values;
  TestedLengths lengths;
  std::vector<std::string> notes;
  Baselines baselines = {};
};

class Compare final : public Command {
 public:
  CommandInfo Info() const override {
    return {.group = kGroupLook,
            .summary = "Compare two sweeps, or two encodings or settings of one, job by job: by how much they differ, and how sure that is",
            .details =
                "Jobs of the same system, task, encoding, learning rate and seed are a pair; where each sweep has one value of such an\n"
                "axis, and another one, that is what is compared, and need not be the same. A sweep of one encoding, or of one system or\n"
                "none, is also a baseline for one of several others. With --between the pairs are of one sweep and differ in that axis\n"
                "alone; two systems in each axis, too, of which either has one value. A row is the mean over the pairs of a task and\n"
                "encoding, or of what --by names: of the first, of the second, second minus first, and the interval that has the true mean\n"
                "of the differences in 95 of 100 cases, by Student's distribution, if pairs are independent. One row in twenty has its\n"
                "interval off by chance: of several rows '*' marks those that hold at 5 % when the p-values of paired t tests are corrected\n"
                "for all of them, 'all' too, by Holm's method. NEEDED is the number of pairs, which are mostly seeds, at which the interval\n"
                "would leave 0 if the mean and the spread of the differences stayed as they are: an estimate, and from few values a rough one.\n"
                "Even if these are the true ones, about half of all experiments of so many pairs would find the difference, and four of five with\n"
                "twice as many.\n"
                "Jobs that are not done, have diverged or have no partner are in no pair. As csv and json values are as they are stored\n"
                "(accuracy from 0 to 1), and each row has its p-value, alone and corrected (p, p_holm).\n"
                "FIRST and SECOND are ids, the beginnings of some, names, or 'last', of sweeps in one store ('longreach store merge' brings\n"
                "them together).",
            .examples =
                "longreach compare table-b1 mine\n"
                "longreach compare table-b1 --between randomized --by encoding\n"
                "longreach compare table-b1 --between encoding=rope,alibi --by task --length 500\n"
                "longreach compare depths --between model.layers=2,4\n"
                "longreach compare float32 bfloat16 --by learning_rate -o csv",
            .more_formats = kAllFormats};
  }
  void AddOptions(CLI::App& app) override {
    AddSweepArgument(app, first_, {.name = "FIRST"});
    AddSweepArgument(app, second_, {.name = "SECOND", .description = "The sweep that it is compared with"})->required(false);
    app.add_option("--between", between_, "Compare jobs of FIRST: two values of an axis (encoding=rope,alibi) or of a setting (model.layers=1,2), of one that has two its name alone, or plain and randomized positions of each encoding: randomized")
        ->type_name("AXIS=A,B")
        ->check(WhyNoText);
    app.add_option("--by", by_, fmt::format("Axes with a row for each of their values: {} [task,encoding, and system where there are several]", Join(AxisNames(), ", ")))
        ->type_name("AXIS,...")
        ->delimiter(',');
    app.add_option("--metric", metric_, "A metric ('longreach list metrics') [the main one of the first sweep's experiment kind]")->type_name("METRIC");
    app.add_option("--length", length_, "Test length; 0: over all lengths [0]")->type_name("N")->check(CheckCount);
    app.add_option("--slice", slice_, "What length does not name (depth=3)")->type_name("SLICE")->check(WhyNoText);
    AddOnlyOption(app, only_);
  }

  absl::StatusOr<int> Run(Session& session) override {
    RETURN_IF_ERROR(CheckOptions());
    ASSIGN_OR_RETURN(Connection * connection, session.Connect(StoreUse::kToRead));
    ASSIGN_OR_RETURN(const v1::Sweep first, FindSweep(*connection, first_));
    if (metric_.empty()) {
      v1::TableSpec usual;
      RETURN_IF_ERROR(CompleteTable(*connection, first, usual));
      metric_ = usual.metric();
    }
    ASSIGN_OR_RETURN(Comparison comparison, between_.empty() ? OfTwo(*connection, first) : OfOne(*connection, first));
    const std::vector<std::string_view> axes = Axes(comparison.values);
    std::vector<PairedGroup> groups = comparison.values.Groups(axes);
    if (groups.size() > 1) {
      groups.push_back(comparison.values.Groups({}).front());
      groups.back().values.assign(axes.size(), "");
    }
    CorrectByHolm(groups);
    IsOverChosenLengths() ? AddNoteOnOtherLengths(comparison) : AddNoteOnLengths(comparison);
    AddNotesOnOnly(comparison);
    AddNoteOnMarks(groups, comparison);
    AddNoteOnRates(axes, comparison);
    Print(session, comparison, axes, groups);
    return kDone;
  }

 private:
  static std::vector<std::string> AxisNames() { return {kPairAxes.begin(), kPairAxes.end()}; }

  absl::Status CheckOptions() const {
    RETURN_IF_ERROR(CheckAxisWords("--by", by_, AxisNames()));
    RETURN_IF_ERROR(CheckMeasure(metric_, ""));
    const Only only(only_);
    if (length_ > 0 && IsOverChosenLengths()) {
      return UsageError(fmt::format("--length {}: --only names lengths", length_), fmt::format("leave one of them out, or write --only length={},...", length_));
    }
    for (const auto& [axis, choice] : only.choices()) {
      const bool is_of_slices = std::ranges::find(catalog::TableAxes(), axis) != catalog::TableAxes().end() && !IsPairAxis(axis) && axis != kLengthAxis;
      if (is_of_slices) return UsageError(fmt::format("--only {}: a pair is of one value of each job", axis), fmt::format("--slice names one: --slice {}=...", axis));
    }
    if (metric_ == kTrainingLoss) {
      return UsageError(fmt::format("--metric {}: losses of training are by step, not one for each job", kTrainingLoss),
                        "'longreach plot SWEEP --x step' draws them");
    }
    if (second_.empty() == between_.empty()) {
      return UsageError(second_.empty() ? "SECOND is missing" : "--between: it compares jobs of one sweep, and SECOND is another",
                        "two sweeps: longreach compare FIRST SECOND; jobs of one: longreach compare FIRST --between encoding=rope,alibi");
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Comparison> OfTwo(Connection& connection, const v1::Sweep& first) const {
    ASSIGN_OR_RETURN(const v1::Sweep second, FindSweep(connection, second_));
    if (first.id() == second.id()) {
      return UsageError(fmt::format("'{}' and '{}' are the same sweep", Printable(first_), Printable(second_)),
                        "name another one ('longreach sweeps' lists them), or what to compare within it: --between encoding=rope,alibi");
    }
    const Baselines baselines = NotAsked(first.spec(), second.spec());
    const std::array<std::vector<std::string>, 2> only = OnlyOfSides(baselines);
    std::array<SweepValues, 2> sides = {SweepValues(first.spec(), only[0]), SweepValues(second.spec(), only[1])};
    TestedLengths lengths;
    const auto add_to = [&](size_t side) {
      return [&, side](JobMean& one) {
        sides[side].Add(one.job, one.value);
        if (one.value.has_value()) lengths.insert(one.lengths);
      };
    };
    RETURN_IF_ERROR(Read(connection, first, only[0], add_to(0)));
    RETURN_IF_ERROR(Read(connection, second, only[1], add_to(1)));
    // Sweeps may have one name.
    const bool same = first.name() == second.name();
    const auto name = [same](const v1::Sweep& sweep) { return same ? fmt::format("{} ({})", sweep.name(), ShortId(sweep.id())) : sweep.name(); };
    Comparison comparison{.names = {name(first), name(second)},
                          .sides = {Side{first.id(), first.name()}, Side{second.id(), second.name()}},
                          .title = fmt::format("{} and {}", name(first), name(second)),
                          .settings = Settings(first, second, sides[0], sides[1]),
                          .values = PairedValues(sides[0], sides[1]),
                          .lengths = std::move(lengths),
                          .notes = {},
                          .baselines = baselines};
    for (const std::string& axis : by_) RETURN_IF_ERROR(CheckShared(axis, sides, comparison.values));
    AddNotesOnAxes(sides, comparison);
    AddNotesOnSides(sides, comparison);
    AddNoteOnOpen(first, comparison);
    AddNoteOnOpen(second, comparison);
    if (!AddNoteOnDraws(first.spec(), only[0], comparison)) AddNoteOnDraws(second.spec(), only[1], comparison);
    return comparison;
  }

  // A baseline has none of the other's encodings or systems, so that which of these are asked for is nothing that it is asked; nor is the value of a
  // setting, which tells the other's systems apart, and of which it has one.
  Baselines NotAsked(const v1::SweepSpec& first, const v1::SweepSpec& second) const {
    Baselines baselines;
    const Only only(only_);
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
  std::array<std::vector<std::string>, 2> OnlyOfSides(const Baselines& baselines) const {
    std::array<std::vector<std::string>, 2> only = {only_, only_};
    for (const auto& baseline : baselines) {
      std::erase_if(only[baseline.second], [&baseline](const std::string& one) { return one.substr(0, one.find('=')) == baseline.first; });
    }
    return only;
  }

  // What each sweep has one value of, and not the same one, is no value of a pair.
  static absl::Status CheckShared(const std::string& axis, const std::array<SweepValues, 2>& sides, const PairedValues& values) {
    if (!values.DifferIn(axis) || BaselineSide(sides[0].axes(), sides[1].axes(), axis)) return absl::OkStatus();
    return UsageError(fmt::format("--by {}: in that the sweeps differ, {} and {}", axis, Printable(*sides[0].axes()[PlaceOf(axis)].begin()),
                                  Printable(*sides[1].axes()[PlaceOf(axis)].begin())), "name another axis");
  }

  absl::StatusOr<Comparison> OfOne(Connection& connection, const v1::Sweep& sweep) const {
    ASSIGN_OR_RETURN(Between between, Between::Parse(between_));
    if (between.OfSetting()) {
      ASSIGN_OR_RETURN(const SystemSettings settings, SystemSettings::Fetch(connection, sweep, {std::string(between.difference())}));
      RETURN_IF_ERROR(between.ReadSystems(settings));
    }
    RETURN_IF_ERROR(between.Check(SweepValues(sweep.spec(), only_).axes()));
    if (std::ranges::any_of(by_, [&between](const std::string& axis) { return !between.Leaves(axis); })) {
      return UsageError(fmt::format("--by {}: that is what --between compares", between.difference()), "name another axis");
    }
    const std::vector<std::string_view> along = between.Along(sweep.spec(), only_);
    for (const std::string& axis : by_) {
      if (std::ranges::find(along, axis) != along.end()) {
        return UsageError(fmt::format("--by {}: in that {} and {} differ, too", axis, Printable(between.values()[0]), Printable(between.values()[1])), "name another axis");
      }
    }
    std::array<SweepValues, 2> sides;
    TestedLengths lengths;
    RETURN_IF_ERROR(Read(connection, sweep, only_, [&](JobMean& one) {
      const std::optional<size_t> side = between.Take(one.job);
      if (!side.has_value()) return;
      sides[*side].Add(one.job, one.value);
      if (one.value.has_value()) lengths.insert(one.lengths);
    }));
    Comparison comparison{.names = between.values(),
                          .sides = {Side{sweep.id(), sweep.name(), between.Choice(0)}, Side{sweep.id(), sweep.name(), between.Choice(1)}},
                          .title = fmt::format("{}, {} and {}", sweep.name(), between.values()[0], between.values()[1]),
                          .settings = {std::string(between.difference())},
                          .values = PairedValues::OfOneSweep(sides[0], sides[1], along),
                          .lengths = std::move(lengths),
                          .notes = {}};
    comparison.settings.insert(comparison.settings.end(), along.begin(), along.end());
    const std::set<std::string> fields = between.OtherFields(sweep.spec());
    comparison.settings.insert(comparison.settings.end(), fields.begin(), fields.end());
    AddNotesOnAxes(sides, comparison);
    AddNotesOnSides(sides, comparison);
    AddNoteOnOpen(sweep, comparison);
    AddNoteOnDraws(sweep.spec(), OnlyOf(between), comparison);
    return comparison;
  }

  // The jobs that are compared, as far as they are those of two encodings or systems.
  std::vector<std::string> OnlyOf(const Between& between) const {
    std::vector<std::string> only = only_;
    const std::string_view axis = between.difference();
    if (axis != "encoding" && axis != "system") return only;
    std::erase_if(only, [axis](const std::string& one) { return one.substr(0, one.find('=')) == axis; });
    only.push_back(fmt::format("{}={},{}", axis, between.values()[0], between.values()[1]));
    return only;
  }

  bool IsOverChosenLengths() const { return Only(only_).Of(kLengthAxis) != nullptr; }

  // Calls `use` with each job that has a value or has diverged.
  absl::Status Read(Connection& connection, const v1::Sweep& sweep, const std::vector<std::string>& only, std::function<void(JobMean&)> use) const {
    v1::ListMeasurementsRequest question;
    question.set_sweep(sweep.id());
    question.set_metric(metric_);
    if (!IsOverChosenLengths()) question.set_length(length_);
    question.set_slice(slice_);
    for (const std::string& one : only) question.add_only(one);
    JobMeans means(std::move(use));
    const absl::Status read = ForEachMeasurementPage(connection, std::move(question), [&means](const v1::ListMeasurementsResponse& page) {
      for (const v1::JobMeasurements& of_job : page.jobs()) means.Add(of_job);
      return true;
    });
    if (read.ok()) means.End();
    if (read.ok()) return read;
    const ErrorText text = SplitError(read);
    const bool by_setting = !second_.empty() && std::ranges::any_of(Only(only).choices(), [](const auto& one) { return IsSettingPath(one.first); });
    const bool is_refused = read.code() == absl::StatusCode::kInvalidArgument && by_setting;
    std::string hint = text.hint;
    // What --only says of a setting is nothing that a baseline is asked.
    if (is_refused) hint += std::string(hint.empty() ? "" : "\n") + "each sweep is asked for it, but one of one system, or none, beside one of several: leave it out where they differ in it";
    return Error(read.code(), fmt::format("sweep '{}': {}", Printable(sweep.name()), text.message), hint);
  }

  // As --by says; else tasks and encodings, and systems, of which there are several, if of one side alone. In the order that is asked for.
  std::vector<std::string_view> Axes(const PairedValues& values) const {
    if (!by_.empty()) return {by_.begin(), by_.end()};
    std::vector<std::string_view> axes = values.Telling();
    std::erase_if(axes, [](std::string_view axis) { return axis == "learning_rate" || axis == "seed"; });
    return axes;
  }

  // Fields and axes in which the sweeps differ.
  static std::vector<std::string> Settings(const v1::Sweep& first, const v1::Sweep& second, const SweepValues& of_first, const SweepValues& of_second) {
    std::set<std::string> fields = FieldsThatDiffer(first.spec(), second.spec());
    fields.merge(FieldsThatDiffer(second.spec(), first.spec()));
    for (size_t axis = 0; axis < kPairAxes.size(); ++axis) {
      const bool is_said = kPairAxes[axis] == "system";  // By the settings of the systems.
      if (!is_said && of_first.axes()[axis] != of_second.axes()[axis]) fields.emplace(kPairAxes[axis]);
    }
    return {fields.begin(), fields.end()};
  }

  // Of the jobs that are in no pair: why.
  static void AddNotesOnSides(const std::array<SweepValues, 2>& sides, Comparison& comparison) {
    for (size_t side = 0; side < sides.size(); ++side) {
      const auto note = [&](int64_t count, std::string_view what) {
        if (count > 0) comparison.notes.push_back(fmt::format("{} of {} {}", Count(count, "job"), Printable(comparison.names[side]), what));
      };
      note(sides[side].diverged(), "diverged");
      note(static_cast<int64_t>(sides[side].values().size() - comparison.values.partnered(side)), "without a partner");
    }
    if (const size_t same = comparison.values.of_one_job(); same > 0) {
      comparison.notes.push_back(fmt::format("{} of {} {} one job that both have, which says nothing of how they differ: its difference, 0, is in the mean and the interval of its row",
                                             same, Count(static_cast<int64_t>(comparison.values.pairs()), "pair"), same == 1 ? "is" : "are"));
    }
  }
  // What --only leaves, as tables say it: a row is not of all jobs that it names.
  void AddNotesOnOnly(Comparison& comparison) const {
    std::vector<std::string> notes;
    const Only only(only_);
    for (const auto& [axis, choice] : only.choices()) {
      const bool is_setting = IsSettingPath(axis);
      std::vector<std::string> words;
      for (const std::string& word : choice.Words()) words.push_back(word.empty() ? "not set" : word);
      const auto baseline = comparison.baselines.find(axis);
      const std::string of_side = baseline == comparison.baselines.end() ? "" : fmt::format("of {} ", Printable(comparison.names[1 - baseline->second]));
      notes.push_back(fmt::format("only {}{} {}{}", is_setting || IsPairAxis(axis) ? fmt::format("jobs {}with ", of_side) : "", axis, Join(words, " or "),
                                  axis == kLengthAxis && !choice.IsSingle() ? ": of each job the mean over " + LengthsOfMeans(comparison.lengths) : ""));
    }
    comparison.notes.insert(comparison.notes.begin(), notes.begin(), notes.end());
  }
  // As tables say it.
  static std::string LengthsOfMeans(const TestedLengths& lengths) {
    if (lengths.size() != 1) return "them";
    const size_t count = lengths.begin()->size();
    return fmt::format("the {} of them that it has values at", count == 1 ? "one" : fmt::format("{}", count));
  }
  // Longer tests mostly give lower scores, whatever else is compared.
  static void AddNoteOnOtherLengths(Comparison& comparison) {
    if (comparison.lengths.size() < 2 || comparison.values.pairs() == 0) return;
    comparison.notes.insert(comparison.notes.begin(), "some jobs have values at other ones of these lengths than others, and their means are of other tests: a difference may be of the "
                                                      "lengths alone; --only length=... of those that all have compares them");
  }
  // A score over all test lengths is of those that its job was tested at: longer ones mostly make it lower, whatever else is compared.
  void AddNoteOnLengths(Comparison& comparison) const {
    const std::string_view field = metric_ == "passkey_accuracy" ? "evaluation.passkey_lengths" : "evaluation.lengths";
    if (length_ != 0 || comparison.values.pairs() == 0) return;
    if (std::ranges::none_of(comparison.settings, [field](const std::string& path) { return path.ends_with(field); })) return;
    comparison.notes.insert(comparison.notes.begin(),
                            fmt::format("they differ in {}, and a score over all test lengths is of those that its job was tested at: a difference may be of the lengths alone; "
                                        "--length N, or --only length=A..B, compares them at those that both have", field));
  }
  // Also that there are none, where an interval lets one expect some. Before all other notes, below the table.
  static void AddNoteOnMarks(const std::vector<PairedGroup>& groups, Comparison& comparison) {
    const auto marked = std::ranges::count_if(groups, [&groups](const PairedGroup& group) { return IsMarked(group, groups); });
    const auto without_zero = std::ranges::count_if(groups, [](const PairedGroup& group) { return group.p.has_value() && *group.p <= kErrorRate; });
    if (groups.size() < 2 || without_zero == 0) return;
    const auto tested = std::ranges::count_if(groups, [](const PairedGroup& group) { return group.p.has_value(); });
    const std::string corrected = fmt::format("when corrected for {} by Holm's method (p_holm of at most {})", Count(tested, "row"), kErrorRate);
    comparison.notes.insert(comparison.notes.begin(), marked > 0 ? fmt::format("*: the difference holds {}", corrected)
                                                                 : fmt::format("no difference holds {}: an interval without 0 may be chance", corrected));
  }
  // Which the interval's distribution does not know.
  static void AddNoteOnRates(std::vector<std::string_view> axes, Comparison& comparison) {
    static constexpr std::string_view kRate = "learning_rate";
    const auto has_rate = [](const std::vector<std::string_view>& list) { return std::ranges::find(list, kRate) != list.end(); };
    if (!has_rate(comparison.values.Varying()) || has_rate(axes)) return;
    axes.push_back(kRate);
    comparison.notes.push_back(fmt::format("pairs of one seed at several learning rates begin with the same weights: in one row they are not independent, and its interval is too narrow; --by {} "
                                           "has a row for each rate", Join({axes.begin(), axes.end()}, ",")));
  }
  // What stands beside several, or beside nothing.
  static void AddNotesOnAxes(const std::array<SweepValues, 2>& sides, Comparison& comparison) {
    for (const std::string_view axis : kPairAxes) {
      const AxisValues &first = sides[0].axes(), &second = sides[1].axes();
      if (const std::optional<size_t> baseline = BaselineSide(first, second, axis); baseline && comparison.values.pairs() > 0) {
        comparison.notes.push_back(fmt::format("jobs of {} are in a pair with each {} of {}: in a row of several {}s, as 'all', pairs of one such job are not independent, and its interval is too narrow",
                                               Printable(comparison.names[*baseline]), axis, Printable(comparison.names[1 - *baseline]), axis));
      } else if (!comparison.values.DifferIn(axis) && AreDisjoint(first, second, axis)) {
        const auto list = [axis](const AxisValues& values) {
          const std::set<std::string>& of_axis = values[PlaceOf(axis)];
          return Printable(Join(std::vector<std::string>(of_axis.begin(), of_axis.end()), ", "));
        };
        comparison.notes.push_back(fmt::format("they have no {} in common: {}, and {}", axis, list(first), list(second)));
      }
    }
  }
  void AddNoteOnOpen(const v1::Sweep& sweep, Comparison& comparison) const {
    const int64_t open = sweep.jobs() - sweep.counts().succeeded();
    if (open == 0) return;
    const bool all = only_.empty() && between_.empty();
    comparison.notes.push_back(fmt::format("{} of {} not done{}", Count(open, "job"), Printable(sweep.name()), all ? "" : ", whether asked for here or not"));
  }
  // Says whether there is one.
  bool AddNoteOnDraws(const v1::SweepSpec& spec, const std::vector<std::string>& only, Comparison& comparison) const {
    if (length_ == 0 && !IsOverChosenLengths()) return false;
    std::string note = NoteOfSharedDraw(spec, only);
    if (note.empty()) return false;
    comparison.notes.push_back(std::move(note));
    return true;
  }

  // The first line, for people.
  std::string Title(const Comparison& comparison) const {
    return fmt::format("{}: {} {}{}, by pairs of jobs", comparison.title, WithUnit(metric_), AtLength(length_, only_), slice_.empty() ? "" : ", " + slice_);
  }
  static std::string SidesAsJson(const std::array<Side, 2>& sides) {
    Grid grid{.columns = {{"sweep"}, {"name"}, {"choice"}}, .rows = {}};
    for (const Side& side : sides) grid.rows.push_back({TextCell(side.sweep), TextCell(side.name), TextCell(side.choice)});
    return GridAsJson(grid);
  }

  void Print(Session& session, const Comparison& comparison, const std::vector<std::string_view>& axes, const std::vector<PairedGroup>& groups) const {
    const Format format = session.settings().format;
    const Grid grid = ComparedRows(axes, groups, metric_, !session.json() && format != Format::kCsv);
    if (session.json()) {
      const auto list = [](const std::vector<std::string>& texts) {
        std::vector<std::string> quoted;
        for (const std::string& text : texts) quoted.push_back(JsonText(text));
        return "[" + Join(quoted, ",") + "]";
      };
      session.out() << JsonDocument({{"title", JsonText(Title(comparison))},
                                     {"sides", SidesAsJson(comparison.sides)},
                                     {"first", JsonText(comparison.names[0])},
                                     {"second", JsonText(comparison.names[1])},
                                     {"metric", JsonText(metric_)},
                                     {"length", IsOverChosenLengths() ? "null" : JsonNumber(length_)},
                                     {"slice", JsonText(slice_)},
                                     {"only", list(only_)},
                                     {"settings", list(comparison.settings)},
                                     {"rows", GridAsJson(grid)},
                                     {"notes", list(comparison.notes)}});
      return;
    }
    if (format != Format::kCsv) {
      const std::vector<std::string>& settings = comparison.settings;
      for (const std::string& line : {Title(comparison),
                                      fmt::format("they differ in {}", settings.empty() ? "nothing that a sweep says" : Join(settings, ", "))}) {
        session.out() << (format == Format::kMarkdown ? EscapeMarkdown(line) + "  " : format == Format::kLatex ? "% " + Printable(line) : Printable(line)) << "\n";
      }
      if (format != Format::kLatex) session.out() << "\n";
    }
    session.Print(grid, "rows");
    // What goes into a document has the meaning of its marks with it, as tables of results have.
    for (const std::string& note : comparison.notes) {
      if (format == Format::kMarkdown) session.out() << "\nNote: " << EscapeMarkdown(note) << "\n";
      else if (format == Format::kLatex) session.out() << "% note: " << Printable(note) << "\n";
      else session.Say("note: " + note);
    }
    if (groups.empty()) session.Say(NoPairs(session, comparison));
  }

  // With the commands that show what there is in the place of pairs.
  std::string NoPairs(Session& session, const Comparison& comparison) const {
    const auto values_of = [&](const Side& side) { return fmt::format("'longreach results {} --jobs --metric {}{}'", ShortId(side.sweep), metric_, WhereFlags(session)); };
    const auto& [first, second] = comparison.sides;
    const std::string look = first.sweep == second.sweep ? values_of(first) + " lists" : fmt::format("{} and {} list", values_of(first), values_of(second));
    return fmt::format("no job of '{}' has a partner in '{}' with {}: {} the values of each", Printable(comparison.names[0]), Printable(comparison.names[1]), metric_, look);
  }

  std::string first_;
  std::string second_;
  std::string between_;
  std::vector<std::string> by_;
  std::string metric_;
  int length_ = 0;
  std::string slice_;
  std::vector<std::string> only_;
};

}  // namespace

std::unique_ptr<Command> Make_compare() { return std::make_unique<Compare>(); }

}  // namespace longreach::client
