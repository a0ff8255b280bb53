#include <fmt/format.h>

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "client/commands/arguments.h"
#include "client/commands/command.h"
#include "client/commands/compared_rows.h"
#include "client/commands/comparison.h"
#include "client/commands/comparison_notes.h"
#include "client/commands/paired_values.h"
#include "client/commands/suggestions.h"
#include "client/commands/sweep_calls.h"
#include "client/commands/tables.h"
#include "client/commands/title_words.h"
#include "client/commands/titled_rows.h"
#include "client/errors.h"
#include "client/output/grid.h"
#include "client/output/json.h"
#include "client/output/text.h"
#include "proto/base/text.h"
#include "proto/types/words.h"

namespace longreach::client {
namespace {

class Compare final : public Command {
 public:
  CommandInfo Info() const override {
    return {.group = kGroupLook,
            .summary = "Compare two sweeps, or two encodings or settings of one, job by job: by how much they differ, and how sure that is",
            .details =
                "Two jobs of the same system, task, encoding, learning rate and seed are a pair. Where each sweep has a single value of such an\n"
                "axis, and not the same one, that axis is what is compared. A sweep of one encoding, or of one system or none, is also a\n"
                "baseline for a sweep of several. With --between the pairs are of one sweep and differ in that axis alone; those of two\n"
                "systems also in each axis of which both have a single value. A row is the mean over the pairs of a task and\n"
                "encoding, or of what --by names: of the first, of the second, second minus first, and the interval that has the true mean\n"
                "of the differences in 95 of 100 cases, by Student's distribution. All that a row has of one seed is one draw, of the mean of its\n"
                "differences, and counts once: it begins with the same weights, and may share jobs of a baseline. Of one seed alone tasks are draws.\n"
                "DRAWS says how many a row has, where it is not the number of pairs. One row in twenty has its interval off by chance: of several\n"
                "rows '*' marks those that hold at 5 % when the p-values of t tests of the draws are corrected for all of them, 'all' too, by Holm's\n"
                "method. NEEDED is the number of pairs, with as many of each draw as there are, at which the interval would leave 0 if the mean and\n"
                "the spread of the draws stayed as they are: an estimate, and from few values a rough one. Even if these are the true ones, about\n"
                "half of all experiments of so many pairs would find the difference, and four of five with twice as many.\n"
                "Jobs that are not done, have diverged or have no partner are in no pair. As csv and json values are as they are stored\n"
                "(accuracy from 0 to 1), and each row has its p-value, alone and corrected (p, p_holm). Where there are several rows, the last is\n"
                "that of all pairs there too, for which p_holm is corrected as well: its axes are empty in csv, and null in json.\n"
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
    AddSweepArgument(app, asked_.first, {.name = "FIRST"});
    AddSweepArgument(app, asked_.second, {.name = "SECOND", .description = "The sweep that it is compared with"})->required(false);
    app.add_option("--between", asked_.between, "Compare jobs of FIRST: two values of an axis (encoding=rope,alibi) or of a setting (model.layers=1,2), of one that has two its name alone, or plain and randomized positions of each encoding: randomized")
        ->type_name("AXIS=A,B")
        ->check(WhyNoText);
    AddByOption(app, asked_.by, "task,encoding, and system where there are several");
    app.add_option("--metric", asked_.metric, "A metric ('longreach list metrics') [the main one of the first sweep's experiment kind]")->type_name("METRIC");
    app.add_option("--length", asked_.length, "Test length; 0: over all lengths [0]")->type_name("N")->check(CheckCount);
    app.add_option("--slice", asked_.slice, "What length does not name (depth=3)")->type_name("SLICE")->check(WhyNoText);
    AddOnlyOption(app, asked_.only);
  }

  absl::StatusOr<int> Run(Session& session) override {
    RETURN_IF_ERROR(CheckOptions());
    ASSIGN_OR_RETURN(Connection * connection, session.Connect(StoreUse::kToRead));
    ASSIGN_OR_RETURN(const v1::Sweep first, FindSweep(*connection, asked_.first));
    if (asked_.metric.empty()) {
      v1::TableSpec usual;
      RETURN_IF_ERROR(CompleteTable(*connection, first, usual));
      asked_.metric = usual.metric();
    }
    ASSIGN_OR_RETURN(Comparison comparison, asked_.between.empty() ? CompareSweeps(*connection, asked_, first) : CompareWithin(*connection, asked_, first));
    const std::vector<std::string_view> axes = Axes(comparison.values);
    std::vector<PairedGroup> groups = comparison.values.Groups(axes);
    if (groups.size() > 1) {
      groups.push_back(comparison.values.Groups({}).front());
      groups.back().values.assign(axes.size(), "");
    }
    CorrectByHolm(groups);
    AddNotesOnRows(asked_, groups, comparison);
    Print(session, comparison, axes, groups);
    return kDone;
  }

 private:
  absl::Status CheckOptions() const {
    RETURN_IF_ERROR(CheckBy(asked_.by));
    RETURN_IF_ERROR(CheckMeasure(asked_.metric, ""));
    if (asked_.length > 0 && asked_.IsOverChosenLengths()) {
      return UsageError(fmt::format("--length {}: --only names lengths", asked_.length), fmt::format("leave one of them out, or write --only length={},...", asked_.length));
    }
    RETURN_IF_ERROR(CheckNoSlices(asked_.only, "a pair is of one value of each job"));
    if (asked_.metric == kTrainingLoss) {
      return UsageError(fmt::format("--metric {}: losses of training are by step, not one for each job", kTrainingLoss),
                        "'longreach plot SWEEP --x step' draws them");
    }
    if (asked_.second.empty() == asked_.between.empty()) {
      return UsageError(asked_.second.empty() ? "SECOND is missing" : "--between: it compares jobs of one sweep, and SECOND is another",
                        "two sweeps: longreach compare FIRST SECOND; jobs of one: longreach compare FIRST --between encoding=rope,alibi");
    }
    return absl::OkStatus();
  }

  // As --by says; else tasks and encodings, and systems, of which there are several, if of one side alone. In the order that is asked for.
  std::vector<std::string_view> Axes(const PairedValues& values) const {
    if (!asked_.by.empty()) return {asked_.by.begin(), asked_.by.end()};
    std::vector<std::string_view> axes = values.Telling();
    std::erase_if(axes, [](std::string_view axis) { return axis == "learning_rate" || axis == "seed"; });
    return axes;
  }

  // The first line, for people.
  std::string Title(const Comparison& comparison) const {
    return fmt::format("{}: {} {}{}, by pairs of jobs", comparison.title, WithUnit(asked_.metric), AtLength(asked_.length, asked_.only, asked_.slice), asked_.slice.empty() ? "" : ", " + asked_.slice);
  }
  static std::string SidesAsJson(const std::array<ComparedSide, 2>& sides) {
    Grid grid{.columns = {{"sweep"}, {"name"}, {"choice"}}, .rows = {}};
    for (const ComparedSide& side : sides) grid.rows.push_back({TextCell(side.sweep), TextCell(side.name), TextCell(side.choice)});
    return GridAsJson(grid);
  }

  void Print(Session& session, const Comparison& comparison, const std::vector<std::string_view>& axes, const std::vector<PairedGroup>& groups) const {
    const Format format = session.settings().format;
    const Grid grid = ComparedRows(axes, groups, asked_.metric, !session.json() && format != Format::kCsv);
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
                                     {"metric", JsonText(asked_.metric)},
                                     {"length", asked_.IsOverChosenLengths() ? "null" : JsonNumber(asked_.length)},
                                     {"slice", JsonText(asked_.slice)},
                                     {"only", list(asked_.only)},
                                     {"settings", list(comparison.settings)},
                                     {"rows", GridAsJson(grid)},
                                     {"notes", list(comparison.notes)}});
      return;
    }
    const std::vector<std::string>& settings = comparison.settings;
    PrintTitledRows(session, {Title(comparison), fmt::format("they differ in {}", settings.empty() ? "nothing that a sweep says" : Join(settings, ", "))}, grid, comparison.notes);
    if (groups.empty()) session.Say(NoPairs(session, comparison));
  }

  // With the commands that show what there is in the place of pairs.
  std::string NoPairs(Session& session, const Comparison& comparison) const {
    const auto values_of = [&](const ComparedSide& side) { return fmt::format("'longreach results {} --jobs --metric {}{}'", ShortId(side.sweep), asked_.metric, WhereFlags(session)); };
    const auto& [first, second] = comparison.sides;
    const std::string look = first.sweep == second.sweep ? values_of(first) + " lists" : fmt::format("{} and {} list", values_of(first), values_of(second));
    const std::string at = asked_.length == 0 ? "" : fmt::format(" at length {}", asked_.length);
    return fmt::format("no job of '{}' has a partner in '{}' with {}{}: {} the values of each", Printable(comparison.names[0]), Printable(comparison.names[1]), asked_.metric, at, look);
  }

  ComparisonAsked asked_;
};

}  // namespace

std::unique_ptr<Command> Make_compare() { return std::make_unique<Compare>(); }

}  // namespace longreach::client
