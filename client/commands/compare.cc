#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "client/commands/arguments.h"
#include "client/commands/command.h"
#include "client/commands/measurement_pages.h"
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
#include "proto/catalog/catalog.h"
#include "proto/types/words.h"

namespace longreach::client {
namespace {

class Compare final : public Command {
 public:
  CommandInfo Info() const override {
    return {.group = kGroupLook,
            .summary = "Compare two sweeps job by job: what differs, by how much, and how sure that is",
            .details =
                "Jobs of the same system, task, encoding, learning rate and seed are a pair; where each sweep has one value of such an\n"
                "axis, and another one, that is what is compared, and need not be the same. A row is the mean over the pairs of a task\n"
                "and encoding, or of what --by names: of the first sweep, of the second, second minus first, and the interval that has the\n"
                "true mean of the differences in 95 of 100 cases, by Student's distribution, if pairs are independent. One row in twenty\n"
                "has its interval off by chance. Jobs that are not done, have diverged or have no partner are in no pair.\n"
                "As csv and json values are as they are stored (accuracy from 0 to 1).\n"
                "FIRST and SECOND are ids, the beginnings of some, names, or 'last', of sweeps in one store ('longreach store merge' brings\n"
                "them together).",
            .examples =
                "longreach compare table-b1 mine\n"
                "longreach compare rope-5-layers rope-6-layers --by task --length 500\n"
                "longreach compare float32 bfloat16 --by learning_rate -o csv",
            .more_formats = kAllFormats};
  }
  void AddOptions(CLI::App& app) override {
    AddSweepArgument(app, first_, {.name = "FIRST"});
    AddSweepArgument(app, second_, {.name = "SECOND", .description = "The sweep that it is compared with"});
    app.add_option("--by", by_, fmt::format("Axes with a row for each of their values: {} [task,encoding, and system where there are several]", Join(AxisNames(), ", ")))
        ->type_name("AXIS,...")
        ->delimiter(',');
    app.add_option("--metric", metric_, "A metric ('longreach list metrics') [the main one of the first sweep's experiment kind]")->type_name("METRIC");
    app.add_option("--length", length_, "Test length; 0: over all lengths [0]")->type_name("N")->check(CheckCount);
    app.add_option("--slice", slice_, "What length does not name (depth=3)")->type_name("SLICE")->check(WhyNoText);
    AddOnlyOption(app, only_);
  }

  absl::StatusOr<int> Run(Session& session) override {
    for (const std::string& axis : by_) RETURN_IF_ERROR(CheckChoice("--by", axis, AxisNames()));
    if (std::set(by_.begin(), by_.end()).size() != by_.size()) return UsageError("--by names an axis twice");
    RETURN_IF_ERROR(CheckMeasure(metric_, ""));
    if (metric_ == kTrainingLoss) {
      return UsageError(fmt::format("--metric {}: losses of training are by step, not one for each job", kTrainingLoss),
                        "'longreach plot SWEEP --x step' draws them");
    }
    ASSIGN_OR_RETURN(Connection * connection, session.Connect());
    ASSIGN_OR_RETURN(const v1::Sweep first, FindSweep(*connection, first_));
    ASSIGN_OR_RETURN(const v1::Sweep second, FindSweep(*connection, second_));
    if (first.id() == second.id()) {
      return UsageError(fmt::format("'{}' and '{}' are the same sweep", Printable(first_), Printable(second_)), "name another one; 'longreach sweeps' lists them");
    }
    v1::TableSpec usual;
    usual.set_metric(metric_);
    RETURN_IF_ERROR(CompleteTable(*connection, first, usual));
    metric_ = usual.metric();
    ASSIGN_OR_RETURN(const SweepValues first_values, Read(*connection, first));
    ASSIGN_OR_RETURN(const SweepValues second_values, Read(*connection, second));
    const PairedValues values(first_values, second_values);
    const std::vector<std::string_view> axes = Axes(values);
    std::vector<PairedGroup> groups = values.Groups(axes);
    const bool several = groups.size() > 1;
    if (several) {
      groups.push_back(values.Groups({}).front());
      groups.back().values.assign(axes.size(), "");
    }
    Notes notes;
    AddNotes(first, first_values, values, notes);
    AddNotes(second, second_values, values, notes);
    if (length_ > 0) {
      std::string note = NoteOfSharedDraw(first.spec(), only_);
      if (note.empty()) note = NoteOfSharedDraw(second.spec(), only_);
      if (!note.empty()) notes.push_back(std::move(note));
    }
    Print(session, first, second, Settings(first, second, first_values, second_values), axes, groups, notes);
    return kDone;
  }

 private:
  using Notes = std::vector<std::string>;

  static std::vector<std::string> AxisNames() { return {kPairAxes.begin(), kPairAxes.end()}; }

  absl::StatusOr<SweepValues> Read(Connection& connection, const v1::Sweep& sweep) const {
    SweepValues values(sweep.spec(), only_);
    v1::ListMeasurementsRequest question;
    question.set_sweep(sweep.id());
    question.set_metric(metric_);
    question.set_length(length_);
    question.set_slice(slice_);
    for (const std::string& only : only_) question.add_only(only);
    const absl::Status read = ForEachMeasurementPage(connection, std::move(question), [&values](const v1::ListMeasurementsResponse& page) {
      for (const v1::JobMeasurements& of_job : page.jobs()) {
        if (of_job.job().diverged()) values.Add(of_job.job(), std::nullopt);
        else if (!of_job.measurements().empty()) values.Add(of_job.job(), of_job.measurements(0).value());
      }
      return true;
    });
    if (read.ok()) return values;
    const ErrorText text = SplitError(read);
    return Error(read.code(), fmt::format("sweep '{}': {}", Printable(sweep.name()), text.message), text.hint);
  }

  // As --by says; else tasks and encodings, and systems, of which there are several. In the order that is asked for.
  std::vector<std::string_view> Axes(const PairedValues& values) const {
    if (!by_.empty()) return {by_.begin(), by_.end()};
    std::vector<std::string_view> axes = values.Varying();
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
  void AddNotes(const v1::Sweep& sweep, const SweepValues& of_sweep, const PairedValues& values, Notes& notes) const {
    const auto note = [&](int64_t count, std::string_view what) {
      if (count > 0) notes.push_back(fmt::format("{} of {} {}", Count(count, "job"), Printable(sweep.name()), what));
    };
    note(of_sweep.diverged(), "diverged");
    note(static_cast<int64_t>(of_sweep.values().size() - values.pairs()), "without a partner");
    note(sweep.jobs() - sweep.counts().succeeded(), only_.empty() ? "not done" : "not done, --only aside");
  }

  void Print(Session& session, const v1::Sweep& first, const v1::Sweep& second, const std::vector<std::string>& settings, const std::vector<std::string_view>& axes,
             const std::vector<PairedGroup>& groups, const Notes& notes) const {
    const Format format = session.settings().format;
    const Grid grid = GridOf(axes, groups);
    if (session.json()) {
      const auto list = [](const std::vector<std::string>& texts) {
        std::vector<std::string> quoted;
        for (const std::string& text : texts) quoted.push_back(JsonText(text));
        return "[" + Join(quoted, ",") + "]";
      };
      session.out() << JsonDocument({{"first", JsonText(first.name())},
                                     {"second", JsonText(second.name())},
                                     {"metric", JsonText(metric_)},
                                     {"length", JsonNumber(length_)},
                                     {"slice", JsonText(slice_)},
                                     {"settings", list(settings)},
                                     {"rows", GridAsJson(grid)},
                                     {"notes", list(notes)}});
      return;
    }
    if (format == Format::kTable || format == Format::kMarkdown) {
      for (const std::string& line : {fmt::format("{} and {}: {} {}{}, by pairs of jobs", first.name(), second.name(), WithUnit(metric_), AtLength(length_), slice_.empty() ? "" : ", " + slice_),
                                      fmt::format("they differ in {}", settings.empty() ? "nothing that a sweep says" : Join(settings, ", "))}) {
        session.out() << (format == Format::kMarkdown ? EscapeMarkdown(line) + "  " : Printable(line)) << "\n";
      }
      session.out() << "\n";
    }
    session.Print(grid, "rows");
    for (const std::string& note : notes) session.Say("note: " + note);
    if (groups.empty()) {
      session.Say(fmt::format("no job of '{}' has a partner in '{}' with {}: 'longreach results SWEEP --jobs --metric {}{}' lists the values of each",
                              Printable(first.name()), Printable(second.name()), metric_, metric_, WhereFlags(session)));
    }
  }

  Grid GridOf(const std::vector<std::string_view>& axes, const std::vector<PairedGroup>& groups) const {
    const catalog::Metric* metric = catalog::FindMetric(metric_);
    const double factor = metric == nullptr ? 1 : metric->factor;
    const bool percent = metric != nullptr && metric->unit == "%";
    const auto number = [&](double value, bool with_sign) {
      const double shown = value * factor;
      const std::string text = percent ? fmt::format("{:.1f}", shown) : fmt::format("{:.4g}", shown);
      return NumberCell(value, with_sign && shown >= 0 ? "+" + text : text);
    };
    static const std::vector<GridColumn> kAxes = {{"system", "SYSTEM"}, {"task", "TASK"}, {"encoding", "ENCODING"}, {"learning_rate", "LEARNING RATE", true}, {"seed", "SEED", true}};
    Grid grid;
    for (const std::string_view axis : axes) grid.columns.push_back(*std::ranges::find(kAxes, axis, &GridColumn::key));
    const std::vector<GridColumn> numbers = {{"pairs", "PAIRS", true},           {"first", "FIRST", true}, {"second", "SECOND", true},
                                             {"difference", "DIFFERENCE", true}, {"low", "95 % FROM", true}, {"high", "TO", true}};
    grid.columns.insert(grid.columns.end(), numbers.begin(), numbers.end());
    for (const PairedGroup& group : groups) {
      std::vector<GridCell>& row = grid.rows.emplace_back();
      for (size_t i = 0; i < group.values.size(); ++i) {
        GridCell cell = grid.columns[i].is_number ? GridCell{.value = group.values[i], .is_raw = true} : TextCell(group.values[i]);
        if (groups.size() > 1 && &group == &groups.back()) {  // Of all pairs: of no value of an axis.
          cell = MissingCell();
          cell.shown = i == 0 ? "all" : " ";
        }
        row.push_back(std::move(cell));
      }
      row.push_back(NumberCell(group.pairs));
      row.push_back(number(group.first, false));
      row.push_back(number(group.second, false));
      row.push_back(number(group.difference, true));
      if (group.half_width.has_value()) {
        row.push_back(number(group.difference - *group.half_width, true));
        row.push_back(number(group.difference + *group.half_width, true));
      } else {
        row.insert(row.end(), 2, MissingCell());
      }
    }
    return grid;
  }

  std::string first_;
  std::string second_;
  std::vector<std::string> by_;
  std::string metric_;
  int length_ = 0;
  std::string slice_;
  std::vector<std::string> only_;
};

}  // namespace

std::unique_ptr<Command> Make_compare() { return std::make_unique<Compare>(); }

}  // namespace longreach::client
