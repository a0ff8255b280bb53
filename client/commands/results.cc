#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "client/commands/arguments.h"
#include "client/commands/command.h"
#include "client/commands/measured_table.h"
#include "client/commands/only.h"
#include "client/commands/paired_values.h"
#include "client/commands/parts_output.h"
#include "client/commands/suggestions.h"
#include "client/commands/sweep_calls.h"
#include "client/commands/tables.h"
#include "client/commands/value_rows.h"
#include "client/output/bits.h"
#include "client/output/text.h"
#include "client/spec/presets.h"
#include "proto/base/text.h"
#include "proto/catalog/axes.h"
#include "proto/types/axis_list.h"
#include "proto/types/usual_axes.h"
#include "proto/types/words.h"

namespace longreach::client {
namespace {

class Results final : public Command {
 public:
  CommandInfo Info() const override {
    return {
        .group = kGroupLook,
        .summary = "Print the table of a sweep: measured, and beside it published",
        .details =
            "Without options, the table of the file or preset that the sweep was submitted from; a sweep of a file without one has\n"
            "tasks x encodings (one with systems, these x tasks, or x encodings of one task; with several of all, tasks and systems x\n"
            "encodings), its main metric over all test lengths, the best over all else. With --rows or --columns alone, the other is what\n"
            "else the sweep compares. Axes are task, encoding, learning_rate, seed and system; rows or columns may also be the lengths of\n"
            "the tests (length), and what slices of a metric name: layer, head, depth, output, attention_scale, longbench_task (--jobs shows\n"
            "what slices there are), and settings by their paths, as model.layers of a grid. Several with ',' between them (--rows\n"
            "task,system) are rows or columns together: one for each combination that there is. The metric training_loss is by step,\n"
            "and without that axis the newest of each job; jobs have it before they are done. Other metrics are by step where jobs were\n"
            "tested while they were trained (evaluation.curve_every, docs/howto/curves.md). --only takes ranges of numbers, both ends\n"
            "included (seed=0..4, length=10,41..60), in the place of what the table says of such an axis; of lengths that are no\n"
            "axis each job has the mean over those that it was tested at, and a cell the aggregate of these means: the score over all\n"
            "lengths, at fewer of them.\n"
            "With --best-of learning_rate each cell is the best of the means (or --aggregate) of each learning rate: the mean over seeds at\n"
            "the best one. It may be any axis of jobs, a setting by its path, or several, for each combination of their values. It is\n"
            "chosen by the values that are shown, which are too good by as much as luck had a part in that (docs/howto/compare.md).\n"
            "Missing cells are '-'. As csv, one line for each cell with all that is known about it, and a column for each axis.\n"
            "With --jobs, every value of every job in a row of its own, as it is stored (accuracy from 0 to 1), for pandas and R\n"
            "(docs/howto/notebook.md): all metrics, lengths and slices, or those of --metric, --length, --slice and --only. A job\n"
            "that diverged has one row, without a value. Losses of training are printed where they are the --metric.\n"
            "SWEEP is a sweep's id, the beginning of one, its name, or 'last'; or a preset ('nope-tinyllama') or a\n"
            "sweep file of several parts, whose tables are printed one after the other.",
        .examples =
            "longreach results table-b1 --published\n"
            "longreach results last --rows encoding --columns learning_rate --aggregate mean --spread\n"
            "longreach results last --best-of learning_rate --spread\n"
            "longreach results last --length 100 -o latex\n"
            "longreach results last --only task=even_pairs --rows encoding --columns length\n"
            "longreach results last --only length=41..60\n"
            "longreach results last --rows model.layers --columns training.batch_size\n"
            "longreach results last --rows task,system --columns encoding\n"
            "longreach results last --rows step --columns learning_rate --aggregate mean --step-bins 20\n"
            "longreach results table-b1 --jobs --metric accuracy -o csv\n"
            "longreach results nope-small --metric head_scale --only system=nope-heads-512 --rows layer --columns head",
        .more_formats = kAllFormats};
  }
  void AddOptions(CLI::App& app) override {
    AddSweepArgument(app, sweep_, {.required = false, .parts = true});
    app.add_flag("--published", published_, "Print published values in parentheses behind the measured ones");
    app.add_flag("--spread", spread_, "Print the standard deviation over a cell's jobs behind its mean or median");
    app.add_option("--rows", rows_, "Axis of the rows, or several")->type_name("AXIS[,AXIS...]");
    app.add_option("--columns", columns_, "Axis of the columns, or several")->type_name("AXIS[,AXIS...]");
    app.add_option("--metric", metric_, "A metric ('longreach list metrics')")->type_name("METRIC");
    app.add_option("--aggregate", aggregate_, "Over all other axes: max, min, mean or median")
        ->type_name("HOW");
    app.add_option("--best-of", best_of_, "Axis, or several, that is neither rows nor columns: the best of the aggregates of each of its values; of means unless --aggregate says otherwise")
        ->type_name("AXIS[,AXIS...]");
    app.add_option("--length", length_, "Test length; 0: over all lengths")->type_name("N");
    app.add_option("--slice", slice_, "What length does not name (depth=3)")
        ->type_name("SLICE")
        ->check(WhyNoText);
    AddOnlyOption(app, only_);
    app.add_option("--step-bins", step_bins_, "Where steps are an axis: means over so many equal ranges of them [every step]")
        ->type_name("N")
        ->check(CLI::Range(1, std::numeric_limits<int>::max()));
    app.add_flag("--bits", bits_, "Entropies and losses in bits, not nats");
    app.add_option("--table", table_of_, "Print as the 'table:' of this sweep file or preset says [as the sweep was submitted last]")
        ->type_name("SPEC");
    app.add_flag("--jobs", jobs_, "Every value of every job in a row of its own, instead of a table");
  }

  absl::StatusOr<int> Run(Session& session) override {
    RETURN_IF_ERROR(CheckChoices());
    std::optional<SweepFile> layout;
    if (!table_of_.empty()) {
      ASSIGN_OR_RETURN(layout, LoadSweep(table_of_));
      if (!layout->parts.empty()) {
        return UsageError(fmt::format("--table: '{}' has parts, and no table of its own", Printable(table_of_)), "name the part whose table is meant");
      }
    }
    ASSIGN_OR_RETURN(Connection * connection, session.Connect(StoreUse::kToRead));
    const std::vector<LoadedSweep> parts = PartsOf(sweep_);
    PartsOutput output(session, !parts.empty());
    ValueRows values(session, *connection, output);
    const auto print = [&](const v1::Sweep& sweep) {
      return jobs_ ? values.Print(sweep, Question()) : Print(session, *connection, sweep, layout, output);
    };
    if (parts.empty()) {
      ASSIGN_OR_RETURN(const v1::Sweep sweep, FindSweep(*connection, sweep_));
      RETURN_IF_ERROR(print(sweep));
      return kDone;
    }
    int printed = 0;
    for (const LoadedSweep& part : parts) {
      const std::string& name = part.file.spec.name();
      const absl::StatusOr<v1::Sweep> sweep = FindSweep(*connection, name);
      if (sweep.status().code() == absl::StatusCode::kNotFound) {
        session.Say(fmt::format("{} has not been submitted", Printable(name)));
        continue;
      }
      RETURN_IF_ERROR(sweep.status());
      ++printed;
      RETURN_IF_ERROR(print(*sweep));
    }
    if (printed == 0) {
      return Error(absl::StatusCode::kNotFound, fmt::format("no part of '{}' has been submitted", Printable(sweep_)),
                   fmt::format("'longreach submit {}{}' submits all of them", ShellWord(sweep_), WhereFlags(session)));
    }
    if (session.json()) output.Finish();
    return kDone;
  }

 private:
  absl::Status Print(Session& session, Connection& connection, const v1::Sweep& sweep, const std::optional<SweepFile>& layout, PartsOutput& output) {
    if (!layout.has_value()) SayTableTrouble(session, sweep);
    v1::TableSpec table = layout.has_value() ? layout->table : UsualTable(sweep);
    RETURN_IF_ERROR(Override(sweep.spec(), table));
    RETURN_IF_ERROR(CompleteTable(connection, sweep, table));
    if (spread_ && table.aggregate() != "mean" && table.aggregate() != "median") {
      return UsageError(fmt::format("--spread: this table has the {} of its jobs, and no standard deviation is around that", table.aggregate()),
                        "add --aggregate mean or --aggregate median");
    }
    ASSIGN_OR_RETURN(v1::Table measured, FetchMeasuredTable(session, connection, sweep, table, published_));
    if (bits_ && !TurnIntoBits(measured)) return NoBits(measured.metric());
    if (session.json()) output.Add(sweep.name(), "table", measured);
    else PrintMeasuredTable(session, output, sweep, measured, table, {.published = published_, .spread = spread_});
    return absl::OkStatus();
  }

  absl::Status CheckChoices() const {
    const std::vector<std::string>& axes = catalog::TableAxes();
    RETURN_IF_ERROR(CheckAxes("--rows", rows_, axes));
    RETURN_IF_ERROR(CheckAxes("--columns", columns_, axes));
    RETURN_IF_ERROR(CheckAxes("--best-of", best_of_, {kPairAxes.begin(), kPairAxes.end()}));
    RETURN_IF_ERROR(CheckMeasure(metric_, aggregate_));
    if (const std::string both = InBoth(rows_, columns_); !both.empty()) return UsageError(fmt::format("--rows and --columns are both '{}'", both));
    if (length_.value_or(0) < 0) {
      return UsageError(fmt::format("--length: {} is not a length", *length_), "0 means over all lengths");
    }
    const Only only(only_);
    if (length_.has_value() && only.Of("length") != nullptr) {
      return UsageError(fmt::format("--length {}: --only names lengths", *length_), fmt::format("leave one of them out, or write --only length={},...", *length_));
    }
    return jobs_ ? CheckNoTable() : absl::OkStatus();
  }

  // Empty: none is.
  static std::string InBoth(const std::string& rows, const std::string& columns) {
    for (const std::string& axis : AxesIn(rows)) {
      if (HasAxis(columns, axis)) return axis;
    }
    return "";
  }

  // What says how a table is made has no meaning beside --jobs, and would be overlooked.
  absl::Status CheckNoTable() const {
    struct Refused {
      std::string_view option;
      bool is_given;
      std::string_view why;
    };
    for (const Refused& one : {Refused{"--rows", !rows_.empty(), "each value has a row of its own"},
                               Refused{"--columns", !columns_.empty(), "the columns are always the same"},
                               Refused{"--aggregate", !aggregate_.empty(), "nothing is aggregated"},
                               Refused{"--best-of", !best_of_.empty(), "nothing is aggregated"},
                               Refused{"--step-bins", step_bins_ > 0, "each loss has a row of its own"},
                               Refused{"--published", published_, "published values are of tables, not of jobs"},
                               Refused{"--spread", spread_, "each value has a row of its own"},
                               Refused{"--table", !table_of_.empty(), "no table is printed"},
                               Refused{"--bits", bits_, "values are printed as they are stored"}}) {
      if (one.is_given) {
        return UsageError(fmt::format("{} beside --jobs: {}", one.option, one.why), fmt::format("leave out {}, or --jobs for a table", one.option));
      }
    }
    return absl::OkStatus();
  }

  // What --jobs asks for.
  v1::ListMeasurementsRequest Question() const {
    v1::ListMeasurementsRequest question;
    question.set_metric(metric_);
    if (length_.has_value()) question.set_length(*length_);
    if (!slice_.empty()) question.set_slice(slice_);
    for (const std::string& only : only_) question.add_only(only);
    return question;
  }

  // Published values belong to one way of aggregating; asked for differently, they are not put beside the
  // measured ones.
  absl::Status Override(const v1::SweepSpec& spec, v1::TableSpec& table) const {
    v1::TableSpec before = table;
    SetUsualAxes(spec, before);
    if (before.metric().empty() && IsBy(before, kStepAxis)) before.set_metric(std::string(kTrainingLoss));
    v1::TableSpec asked = table;
    if (!rows_.empty()) asked.set_rows(rows_);
    if (!columns_.empty()) asked.set_columns(columns_);
    SetUsualAxes(spec, asked);
    asked.set_metric(before.metric());
    RETURN_IF_ERROR(TakeOptions(asked));
    const bool axes_changed = !AreSameAxes(asked.rows(), before.rows()) || !AreSameAxes(asked.columns(), before.columns());
    // Fewer rows or columns; what stands in the others stays what it was.
    if (!axes_changed && !AsksForOtherValues(before, asked)) {
      *table.mutable_only() = asked.only();
      table.set_step_bins(asked.step_bins());
      return absl::OkStatus();
    }
    if (const std::string both = InBoth(asked.rows(), asked.columns()); !both.empty()) {
      return UsageError(fmt::format("rows and columns are both '{}'", both),
                        "give the other axis with --rows or --columns");
    }
    const bool turned = AreSameAxes(asked.rows(), before.columns()) && AreSameAxes(asked.columns(), before.rows());
    if (turned) Turn(asked);
    else if (axes_changed) DropWhatIsOfAxes(asked);
    // Its values are the same, and go by their axes.
    if (turned && !AsksForOtherValues(before, asked)) {
      table = asked;
      return absl::OkStatus();
    }
    const bool other_aggregate = (!aggregate_.empty() || !best_of_.empty()) && asked.aggregate() != before.aggregate();
    if (other_aggregate || !HaveSameBestOf(before, asked)) DropWhatIsOfAggregate(asked);
    if (published_ && !table.published().empty()) {
      return UsageError(
          "--published: the published table holds other values than those asked for",
          "leave out --rows and --columns, or turn the table by them, leave out --metric, --aggregate, --best-of, --length, --slice and --only, or leave out --published");
    }
    asked.clear_published();
    asked.clear_published_gain();
    asked.clear_title();
    table = asked;
    return absl::OkStatus();
  }

  // In the place of what the table says itself, whose axes are set.
  absl::Status TakeOptions(v1::TableSpec& asked) const {
    const std::string metric = asked.metric(), aggregate = asked.aggregate();
    if (!metric_.empty()) asked.set_metric(metric_);
    else if (HasAxis(rows_, kStepAxis) || HasAxis(columns_, kStepAxis)) asked.set_metric(std::string(kTrainingLoss));
    if (asked.metric() == kTrainingLoss) RETURN_IF_ERROR(TakeLosses(asked));
    if (!IsBy(asked, kStepAxis)) asked.clear_step_bins();
    if (step_bins_ > 0 && !IsBy(asked, kStepAxis)) {
      return UsageError("--step-bins: neither rows nor columns are steps", "add --rows step, or leave it out");
    }
    if (step_bins_ > 0 && asked.metric() != kTrainingLoss) {
      return UsageError(fmt::format("--step-bins: {} has a value at each of the steps that jobs were tested at, and losses of training alone are averaged", asked.metric()),
                        "leave it out");
    }
    // The best of one metric may be the worst of another.
    if (asked.metric() != metric && (aggregate == "max" || aggregate == "min")) asked.clear_aggregate();
    RETURN_IF_ERROR(TakeBestOf(asked));
    if (!aggregate_.empty()) asked.set_aggregate(aggregate_);
    if (!slice_.empty()) asked.set_slice(slice_);
    // They take the place of what the table has of these axes.
    const Only chosen(only_);
    Forget(asked, [&chosen](const std::string& axis) { return chosen.Of(axis) != nullptr; });
    for (const std::string& only : only_) asked.add_only(only);
    return TakeLengths(asked, chosen.Of("length") != nullptr);
  }

  absl::Status TakeBestOf(v1::TableSpec& asked) const {
    if (best_of_.empty()) {
      LeaveOutBestOfShown(asked);
      return absl::OkStatus();
    }
    asked.clear_best_of();
    for (const std::string& axis : AxesIn(best_of_)) {
      if (IsBy(asked, axis)) {
        return UsageError(fmt::format("--best-of {}: it is among the table's {}", axis, HasAxis(asked.rows(), axis) ? "rows" : "columns"),
                          "leave it out, or choose other --rows and --columns");
      }
      asked.add_best_of(axis);
    }
    // What a table has for all jobs would make the option do nothing: the best of the best of each is the best of all.
    if (asked.aggregate() == "max" || asked.aggregate() == "min") asked.clear_aggregate();
    return absl::OkStatus();
  }

  // An axis that the table chooses the best of, and that is asked for as rows or columns, has the same aggregate at each of its values then.
  void LeaveOutBestOfShown(v1::TableSpec& asked) const {
    auto& best_of = *asked.mutable_best_of();
    const auto shown = std::remove_if(best_of.begin(), best_of.end(), [this](const std::string& axis) { return HasAxis(rows_, axis) || HasAxis(columns_, axis); });
    if (shown == best_of.end()) return;
    if (asked.aggregate().empty()) asked.set_aggregate("mean");
    best_of.erase(shown, best_of.end());
  }

  // However they are written: "task, system" is "task,system".
  static bool AreSameAxes(const std::string& a, const std::string& b) { return AxesIn(a) == AxesIn(b); }

  static bool HaveSameBestOf(const v1::TableSpec& before, const v1::TableSpec& asked) {
    return std::equal(before.best_of().begin(), before.best_of().end(), asked.best_of().begin(), asked.best_of().end());
  }

  absl::Status TakeLengths(v1::TableSpec& asked, bool chosen) const {
    if (chosen) asked.clear_length();
    if (length_.has_value()) {
      asked.set_length(*length_);
      Forget(asked, [](const std::string& axis) { return axis == "length"; });
    }
    if (length_.value_or(0) > 0 && IsBy(asked, "length")) {
      return UsageError(fmt::format("--length {}: the test lengths are the table's {}", *length_, HasAxis(asked.rows(), "length") ? "rows" : "columns"),
                        "leave it out, or choose other --rows and --columns");
    }
    return absl::OkStatus();
  }

  // In cells of the same rows and columns.
  bool AsksForOtherValues(const v1::TableSpec& before, const v1::TableSpec& asked) const {
    const bool other_lengths = length_.has_value() && Only({before.only().begin(), before.only().end()}).Of("length") != nullptr;
    return other_lengths || asked.metric() != before.metric() || asked.aggregate() != before.aggregate() || asked.length() != before.length() || asked.slice() != before.slice() ||
           !HaveSameBestOf(before, asked) || std::ranges::any_of(only_, [&asked](const std::string& only) { return !IsBy(asked, only.substr(0, only.find('='))); });
  }

  // Of the axes that `is_asked` names the table takes all values again.
  template <typename IsAsked>
  static void Forget(v1::TableSpec& table, const IsAsked& is_asked) {
    auto& only = *table.mutable_only();
    only.erase(std::remove_if(only.begin(), only.end(), [&](const std::string& one) { return is_asked(one.substr(0, one.find('='))); }), only.end());
  }

  // Rows are what columns were; those from other sweeps have a value for each of the old rows alone.
  static void Turn(v1::TableSpec& table) {
    table.mutable_row_order()->Swap(table.mutable_column_order());
    table.clear_extra_columns();
  }

  static void DropWhatIsOfAxes(v1::TableSpec& table) {
    table.clear_row_order();
    table.clear_column_order();
    table.clear_extra_columns();
    table.clear_gain();
  }

  // "Best of ..." is of the aggregate that the table had.
  static void DropWhatIsOfAggregate(v1::TableSpec& table) {
    auto& extra = *table.mutable_extra_columns();
    extra.erase(std::remove_if(extra.begin(), extra.end(), [](const v1::ExtraColumn& one) { return !one.sweep().empty(); }), extra.end());
  }

  // What a preset's table says of tests has no meaning for losses of training.
  absl::Status TakeLosses(v1::TableSpec& asked) const {
    if (step_bins_ > 0) asked.set_step_bins(step_bins_);
    if (IsBy(asked, "length")) {
      return UsageError(fmt::format("{}: the table's {} are the lengths of tests, which losses of training do not have", kTrainingLoss,
                                    HasAxis(asked.rows(), "length") ? "rows" : "columns"),
                        "choose other --rows and --columns: --rows step --columns encoding");
    }
    const Only only(only_);
    if (only.Of("length") != nullptr) return UsageError("--only length: losses of training have no test length", "leave it out, or choose another --metric");
    if (length_.value_or(0) > 0) {
      return UsageError(fmt::format("--length {}: losses of training have no test length", *length_), "leave it out, or choose another --metric");
    }
    asked.clear_length();
    Forget(asked, [](const std::string& axis) { return axis == "length"; });
    asked.clear_slice();
    return absl::OkStatus();
  }

  std::string sweep_ = "last";
  bool published_ = false;
  bool spread_ = false;
  bool bits_ = false;
  std::string rows_;
  std::string columns_;
  std::string metric_;
  std::string aggregate_;
  std::string best_of_;
  std::optional<int> length_;
  std::string slice_;
  std::vector<std::string> only_;
  int step_bins_ = 0;
  std::string table_of_;
  bool jobs_ = false;
};

}  // namespace

std::unique_ptr<Command> Make_results() { return std::make_unique<Results>(); }

}  // namespace longreach::client
