#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "client/commands/arguments.h"
#include "client/commands/command.h"
#include "client/commands/head_curves.h"
#include "client/commands/only.h"
#include "client/commands/paired_values.h"
#include "client/commands/plot_axes.h"
#include "client/commands/plot_best_of.h"
#include "client/commands/plot_fits.h"
#include "client/commands/plot_panels.h"
#include "client/commands/suggestions.h"
#include "client/commands/sweep_calls.h"
#include "client/commands/system_settings.h"
#include "client/commands/tables.h"
#include "client/commands/title_words.h"
#include "client/figure/heat_map.h"
#include "client/figure/line_plot.h"
#include "client/figure/scatter_plot.h"
#include "client/figure/vega_renderer.h"
#include "client/interrupt.h"
#include "client/new_file.h"
#include "client/output/bits.h"
#include "client/output/json.h"
#include "client/output/text.h"
#include "proto/base/text.h"
#include "proto/catalog/aggregates.h"
#include "proto/catalog/catalog.h"
#include "proto/types/axis_list.h"
#include "proto/types/settings.h"
#include "proto/types/usual_axes.h"
#include "proto/types/words.h"

namespace longreach::client {
namespace {

constexpr std::string_view kSpecification = ".vl.json";
constexpr size_t kMostNotes = 6;

class Plot final : public Command {
 public:
  CommandInfo Info() const override {
    return {.group = kGroupLook,
            .summary = "Draw what a sweep measured: curves, heat maps, one metric against another",
            .details =
                "Without options: the sweep's main metric against the test length, mean and standard deviation over learning rates\n"
                "and seeds, a line for each encoding (or system) and a panel for each task. With --y AXIS: a heat map, the metric as\n"
                "colour. With a metric as --x: a point for each value of --points, a colour for each of --lines. Axes are task,\n"
                "encoding, system, learning_rate, seed, length, those of slices: layer, head, depth, attention_scale, step, and\n"
                "settings by their paths, as model.layers.\n"
                "--x step: the losses of training, of jobs that still run too, as means over 100 ranges of steps (--step-bins). With\n"
                "--metric accuracy: of jobs that were tested while they were trained (evaluation.curve_every, docs/howto/curves.md).\n"
                "Accuracy of one task has a dotted line at chance, the accuracy of guessing ('longreach list --help' says which).\n"
                "--best-of learning_rate: each line is the mean over seeds at its best learning rate, chosen once for each line by the score\n"
                "over all test lengths (by the newest loss of training), not at each point, where it would be of several models.\n"
                "--metric attention_entropy --lines head: the curves of all heads, a panel for each layer and system; --panels says\n"
                "which of the two stand side by side.\n"
                "FILE.vl.json is a Vega-Lite specification with its data in it; '-' prints it. FILE.svg, FILE.png and FILE.pdf are drawn\n"
                "from it by the Python package vl-convert-python (docs/howto/plot.md).\n"
                "SWEEP is a sweep's id, the beginning of one, its name, or 'last'.",
            .examples =
                "longreach plot table-b1 --file lengths.vl.json\n"
                "longreach plot table-b1 --only task=even_pairs,bucket_sort --file lengths.svg\n"
                "longreach plot last --x learning_rate --file rates.png\n"
                "longreach plot last --best-of learning_rate --file best.svg\n"
                "longreach plot last --x step --log --lines learning_rate --file loss.svg\n"
                "longreach plot last --x step --metric accuracy --length 100 --file curves.svg\n"
                "longreach plot last --x model.layers --y training.batch_size --aggregate max --file map.svg\n"
                "longreach plot nope-small --metric position_loss --only system=rope,nope --file loss.svg\n"
                "longreach plot last --metric passkey_accuracy --y depth --file passkeys.svg\n"
                "longreach plot nope-small --metric attention_entropy --length 1024 --x head_scale --points head --lines layer \\\n"
                "    --only system=nope-heads-512 --file heads.svg\n"
                "longreach plot nope-small --metric attention_entropy --lines head --only system=nope,nope-heads-512 --file entropies.svg"};
  }
  void AddOptions(CLI::App& app) override {
    AddSweepArgument(app, sweep_);
    app.add_option("--file", file_, "What to write: FILE.svg, FILE.png, FILE.pdf, FILE.vl.json, or - to print that")->type_name("FILE")->required()->check(WhyNoText);
    app.add_option("--metric", metric_, "A metric ('longreach list metrics') [the sweep's main one; by step training_loss]")->type_name("METRIC");
    app.add_option("--x", axes_.x,
                   "Axis to the right: length, learning_rate, seed, one of slices, or a setting of numbers; or another metric [length; of training_loss step; of scale_growth seed]")
        ->type_name("AXIS");
    app.add_option("--y", axes_.y, "Axis upwards, with the metric as colour: a heat map")->type_name("AXIS");
    app.add_option("--points", axes_.points, "With a metric as --x: the axis whose values are the points")->type_name("AXIS");
    app.add_option("--x-length", x_length_, "With a metric as --x: its test length; 0: over all lengths")->type_name("N")->check(CheckCount);
    app.add_option("--lines", axes_.lines,
                   "Axis of the lines, which may be a setting [system where there are some, else encoding; beside a setting of a grid its next one]")
        ->type_name("AXIS");
    app.add_option("--panels", axes_.panels, "Axis of the panels, which may be a setting, or none [task where there are several]")->type_name("AXIS");
    app.add_option("--aggregate", aggregate_, "Over all other axes: max, min, mean or median")->type_name("HOW")->capture_default_str();
    app.add_option("--best-of", best_of_, "Axis, or several, that the figure has not: each line at the best of its values, by the aggregate over all test lengths (or --length)")
        ->type_name("AXIS[,AXIS...]");
    app.add_option("--length", length_, "Test length where it is no axis; 0: over all lengths")->type_name("N")->check(CheckCount);
    app.add_option("--slice", slice_, "What length does not name (depth=3)")->type_name("SLICE")->check(WhyNoText);
    AddOnlyOption(app, only_);
    app.add_option("--step-bins", step_bins_, "Losses of training as means over so many equal ranges of steps; 0: every point")
        ->type_name("N")
        ->check(CheckCount)
        ->capture_default_str();
    app.add_flag("--bits", bits_, "Entropies and losses in bits, not nats");
    app.add_flag("--log", log_, "A logarithmic axis (or colours) for the metric");
    app.add_option("--title", title_, "Title [the sweep's name and what is measured]")->type_name("TEXT")->check(WhyNoText);
  }

  absl::StatusOr<int> Run(Session& session) override {
    ASSIGN_OR_RETURN(const std::string format, CheckFile());
    if (metric_.empty() && axes_.Has(kStepAxis)) metric_ = kTrainingLoss;
    if (axes_.x.empty()) axes_.x = UsualX(metric_);
    RETURN_IF_ERROR(CheckWords());
    ASSIGN_OR_RETURN(Connection * connection, session.Connect(StoreUse::kToRead));
    ASSIGN_OR_RETURN(const v1::Sweep sweep, FindSweep(*connection, sweep_));
    if (IsHeadCurves() && axes_.panels.empty()) axes_.panels = "layer";
    std::vector<std::string> told_apart = axes_.All();
    const std::vector<std::string> best_of = AxesIn(best_of_);
    told_apart.insert(told_apart.end(), best_of.begin(), best_of.end());
    ASSIGN_OR_RETURN(const SystemSettings settings, SystemSettings::FetchFor(*connection, sweep, told_apart, only_));
    RETURN_IF_ERROR(axes_.Complete(settings, only_));
    RETURN_IF_ERROR(CheckBestOf(best_of, axes_));
    ASSIGN_OR_RETURN(Drawing drawing, Draw(*connection, sweep, settings));
    if (drawing.points == 0 && drawing.without_setting) {
      return Error(absl::StatusCode::kFailedPrecondition,
                   fmt::format("nothing to draw: no job of sweep '{}' has the setting {}", Printable(sweep.name()), axes_.x),
                   fmt::format("its jobs are of the kind '{}'; choose another --x", Printable(sweep.spec().experiment())));
    }
    if (drawing.points == 0) {
      std::vector<std::string> hints = drawing.empty;
      if (const int diverged = sweep.counts().diverged(); diverged > 0) {
        hints.push_back(fmt::format("{} of its {} jobs diverged (their loss was not finite), and are in no figure", Thousands(diverged), Thousands(sweep.jobs())));
      }
      if (drawing.metric == "position_loss" && axes_.Has("attention_scale")) {
        hints.emplace_back("where scales and bins have more than 1,000 losses, these are in the job's file alone: 'longreach job JOB --get series --file FILE'");
      }
      if (!drawing.empty.empty() && axes_.x == "length") hints.emplace_back("what is measured over all lengths together is drawn with --x seed, or another axis");
      hints.push_back(fmt::format("'longreach status {}{}' says how far it is, 'longreach results' has the same as a table", ShortId(sweep.id()), WhereFlags(session)));
      return Error(absl::StatusCode::kFailedPrecondition,
                   fmt::format("nothing to draw: no job of sweep '{}' has a value of {} {}", Printable(sweep.name()), drawing.value,
                               log_ ? "above 0 there" : "there yet"),
                   Join(hints, "\n"));
    }
    std::string& bytes = drawing.specification;
    if (!format.empty()) {
      InterruptScope interrupt;  // What is begun for it is cleaned up.
      absl::StatusOr<std::string> drawn = RenderVegaLite(bytes, format, session.environment(), [&interrupt] { return interrupt.count() > 0; });
      if (absl::IsCancelled(drawn.status())) return interrupt.exit_code();
      ASSIGN_OR_RETURN(bytes, std::move(drawn));
    }
    if (file_ == kStdout) {
      session.out() << bytes;
      return kDone;
    }
    RETURN_IF_ERROR(WriteNewFileForAll(file_, bytes));
    Print(session, sweep, drawing);
    return kDone;
  }

 private:
  struct Drawing {
    std::string specification;
    std::string metric;
    std::string value;  // "accuracy (%)".
    size_t panels = 0;
    int points = 0;
    bool without_setting = false;  // The axis to the right is one that no job has.
    std::vector<Correlation> correlations = {};
    std::vector<std::string> empty = {};  // Where there are no points: what the tables say of it.
  };

  // The format for the renderer; empty: none is needed.
  absl::StatusOr<std::string> CheckFile() const {
    if (file_ == kStdout) return std::string();
    const std::filesystem::path path(file_);
    RETURN_IF_ERROR(CheckNewFile(path));
    if (file_.ends_with(kSpecification)) return std::string();
    const std::string extension = path.extension().string();
    if (extension == ".svg" || extension == ".png" || extension == ".pdf") return extension.substr(1);
    return UsageError(fmt::format("--file: '{}' ends in none of .svg, .png, .pdf and .vl.json", Printable(file_)));
  }

  absl::Status CheckWords() const {
    // It has a value unless somebody takes it away.
    if (aggregate_.empty()) return UsageError("--aggregate: unknown value ''");
    RETURN_IF_ERROR(axes_.Check());
    if (IsHeadCurves()) RETURN_IF_ERROR(CheckHeadCurves());
    if (length_ > 0 && (axes_.x == "length" || axes_.lines == "length" || axes_.points == "length")) {
      return UsageError(fmt::format("--length {}: the test lengths are an axis of this figure", length_), "leave it out, or set --x to another axis");
    }
    RETURN_IF_ERROR(CheckOnlyLengths());
    if (metric_ == kTrainingLoss && length_ > 0) return UsageError(fmt::format("--length {}: losses of training have no test length", length_), "leave it out");
    if (x_length_ > 0 && !axes_.IsScatter()) return UsageError("--x-length: only with a metric as --x", "leave it out, or set --x to a metric");
    RETURN_IF_ERROR(CheckMeasure(metric_, aggregate_));
    return CheckBestOfWords();
  }

  absl::Status CheckBestOfWords() const {
    if (best_of_.empty()) return absl::OkStatus();
    RETURN_IF_ERROR(CheckAxes("--best-of", best_of_, {kPairAxes.begin(), kPairAxes.end()}));
    if (axes_.IsScatter() || !axes_.y.empty() || IsHeadCurves()) {
      return UsageError("--best-of: it is chosen for each line, which heat maps, one metric against another and curves of heads do not have",
                        "leave it out; 'longreach results --best-of' chooses for each cell of a table");
    }
    const catalog::Metric* const metric = catalog::FindMetric(metric_);
    if (metric != nullptr && metric->better == catalog::Better::kNeither) {
      return UsageError(fmt::format("--best-of: of {} neither more nor less is better", metric_), "leave it out, or choose another --metric");
    }
    return absl::OkStatus();
  }

  absl::Status CheckOnlyLengths() const {
    const Only only(only_);
    if (only.Of("length") == nullptr) return absl::OkStatus();
    if (length_ > 0) return UsageError(fmt::format("--length {}: --only names lengths", length_), "leave one of them out");
    if (x_length_ > 0) return UsageError(fmt::format("--x-length {}: --only names lengths, of both metrics", x_length_), "leave one of them out");
    if (metric_ == kTrainingLoss) return UsageError("--only length: losses of training have no test length", "leave it out");
    if (IsHeadCurves()) return UsageError("--only length: curves of heads are over the positions of one test", "leave it out, or draw it with --lines system");
    return absl::OkStatus();
  }

  // Of these alone the curve of every head is kept.
  bool IsHeadCurves() const { return metric_ == kEntropyMetric && axes_.lines == "head" && axes_.x == "length" && axes_.y.empty(); }

  absl::Status CheckHeadCurves() const {
    if (!axes_.panels.empty() && axes_.panels != "layer" && axes_.panels != "system") {
      return UsageError(fmt::format("--panels {}: curves of heads have a panel for each layer and system", axes_.panels),
                        "leave it out, or set it to layer or system, of which each has its panels side by side");
    }
    if (!slice_.empty()) return UsageError("--slice: curves of heads have none", "--only layer=0,10 and --only head=3 choose some");
    return absl::OkStatus();
  }

  PanelsQuestion QuestionOf(const v1::Sweep& sweep) const {
    v1::TableSpec usual = UsualTable(sweep);
    SetUsualAxes(sweep.spec(), usual);
    return {.sweep = sweep.id(), .axes = axes_, .metric = metric_, .length = length_, .slice = slice_, .aggregate = aggregate_, .only = only_,
            .step_bins = step_bins_, .best_of = AxesIn(best_of_), .usual = std::move(usual)};
  }

  absl::StatusOr<Drawing> Draw(Connection& connection, const v1::Sweep& sweep, const SystemSettings& settings) const {
    const PanelsQuestion question = QuestionOf(sweep);
    std::vector<PlotPanel> panels;
    HeadCurves curves;
    if (IsHeadCurves()) {
      const HeadCurvesQuestion of_heads{.only = only_, .aggregate = aggregate_, .by_layer = axes_.panels == "layer", .most_panels = kMostPanels};
      ASSIGN_OR_RETURN(curves, FetchHeadCurves(connection, sweep, of_heads));
      panels = std::move(curves.panels);
    } else {
      const std::string& columns = axes_.IsScatter() ? axes_.points : axes_.x;
      ASSIGN_OR_RETURN(panels, FetchPanels(connection, question, {.columns = columns, .metric = metric_, .length = length_}));
    }
    bool any_bits = bits_ && TurnIntoBits(panels);
    const v1::Table& first = panels.front().table;
    Drawing drawing{.specification = "", .metric = first.metric(), .value = WithUnit(NameOf(first.metric()), first.unit()), .panels = panels.size()};
    for (const v1::TableNote& note : IsHeadCurves() ? curves.typed_notes : first.typed_notes()) {
      if (note.kind() == v1::TableNote::KIND_NO_VALUE) drawing.empty.push_back(note.text());
    }
    drawing.without_setting = IsSettingPath(axes_.x) && axes_.y.empty() && HaveNone(panels);
    PlotTitle title = Describe(sweep, settings, panels);
    // Their tables have none, as a note is of all of them.
    if (IsHeadCurves()) AddNotes(curves.notes, title);
    if (axes_.IsScatter()) {
      ScatterPlot plot{.title = title, .x_title = "", .y_title = drawing.value, .y_log = log_, .lines_title = Words(axes_.lines), .points_title = Words(axes_.points)};
      ASSIGN_OR_RETURN(plot.x, FetchPanels(connection, question, {.columns = axes_.points, .metric = axes_.x, .length = x_length_}));
      if (bits_) any_bits |= TurnIntoBits(plot.x);
      plot.x_title = WithUnit(NameOf(axes_.x), plot.x.front().table.unit());
      plot.y = std::move(panels);
      drawing.points = PointsOf(plot);
      drawing.correlations = CorrelationsOf(plot);
      drawing.specification = VegaLiteOf(plot);
    } else if (!axes_.y.empty()) {
      const HeatMap map{.title = title, .x_title = Words(axes_.x), .y_title = Words(axes_.y), .value_title = drawing.value, .log = log_, .panels = std::move(panels)};
      drawing.points = PointsOf(map);
      drawing.specification = VegaLiteOf(map);
    } else {
      LinePlot plot{.title = title, .x_title = Words(axes_.x), .x_log = axes_.x == "learning_rate", .x_each = axes_.x != "length" && axes_.x != kStepAxis, .y_title = drawing.value, .y_log = log_, .lines_title = Words(axes_.lines), .best_of_title = BestOfWords(), .bands = HasBands(), .panels = std::move(panels), .panels_together = curves.panels_together};
      plot.chance = ChanceOf(drawing.metric, sweep.spec(), only_);
      if (axes_.x == "length") {
        ASSIGN_OR_RETURN(plot.trained, TrainedLength(connection, sweep, only_));
        if (drawing.metric == kScaleMetric) {
          RETURN_IF_ERROR(AddFits(connection, sweep, question, plot));
        }
      }
      drawing.points = PointsOf(plot);
      drawing.specification = VegaLiteOf(plot);
    }
    if (bits_ && !any_bits) return NoBits(drawing.metric);
    return drawing;
  }

  static bool TurnIntoBits(std::vector<PlotPanel>& panels) {
    bool any = false;
    for (PlotPanel& panel : panels) any |= client::TurnIntoBits(panel.table);
    return any;
  }

  // There are jobs, and their one column is that of what is not set.
  static bool HaveNone(const std::vector<PlotPanel>& panels) {
    return std::ranges::all_of(panels, [](const PlotPanel& panel) { return panel.table.columns_size() == 1 && panel.table.columns(0).key().empty(); });
  }

  static std::string NameOf(const std::string& metric) {
    const catalog::Metric* found = catalog::FindMetric(metric);
    return found == nullptr ? metric : std::string(found->label);
  }

  static void AddNotes(const std::vector<std::string>& notes, PlotTitle& title) {
    const size_t shown = notes.size() > kMostNotes ? kMostNotes - 1 : notes.size();
    title.notes.insert(title.notes.end(), notes.begin(), notes.begin() + static_cast<std::ptrdiff_t>(shown));
    if (shown < notes.size()) title.notes.push_back(fmt::format("and {} more notes: 'longreach results' prints them", notes.size() - shown));
  }

  PlotTitle Describe(const v1::Sweep& sweep, const SystemSettings& settings, const std::vector<PlotPanel>& panels) const {
    PlotTitle title;
    title.text = title_.empty() ? fmt::format("{}: {}", sweep.name(), NameOf(panels.front().table.metric())) : title_;
    const PlotPanel& alone = panels.front();
    if (title_.empty() && panels.size() == 1 && !alone.title.empty()) title.text += ", " + alone.title;
    if (const std::string summary = Summary(settings, panels); !summary.empty()) title.notes.push_back(summary);
    if (const std::string unlike = UnlikeOver(settings, WhatValuesAre()); !unlike.empty()) {
      title.notes.push_back(fmt::format("each value is over unlike jobs, of several {}: --panels or --only tells them apart", unlike));
    }
    std::vector<std::string> notes = NotesOf(axes_, panels);
    if (!best_of_.empty()) {
      const std::string at = panels.front().table.metric() == kTrainingLoss ? "at the newest step" : AtLength(length_, only_, slice_);
      const std::string chosen = NoteOnBestValues(panels, AxesIn(best_of_), fmt::format("{} {}", catalog::AggregateInWords(aggregate_), at));
      if (!chosen.empty()) notes.insert(notes.begin(), chosen);
    }
    AddNotes(notes, title);
    return title;
  }

  // "best learning rate"; empty: none is chosen.
  std::string BestOfWords() const {
    std::vector<std::string> words;
    for (const std::string& axis : AxesIn(best_of_)) words.push_back(Words(axis));
    return words.empty() ? "" : "best " + Join(words, " and ");
  }

  bool HasBands() const { return !axes_.IsScatter() && axes_.y.empty() && aggregate_ == "mean"; }

  // A point of one job has none.
  static bool HasDeviations(const std::vector<PlotPanel>& panels) {
    return std::ranges::any_of(panels, [](const PlotPanel& panel) { return std::ranges::any_of(panel.table.cells(), &v1::TableCell::has_deviation); });
  }

  Aggregation WhatValuesAre() const {
    Aggregation how{.aggregate = aggregate_, .shown = {axes_.x, axes_.lines, axes_.points, axes_.panels}, .only = only_, .best_of = AxesIn(best_of_)};
    // Curves of heads are of one system and encoding each.
    if (IsHeadCurves()) how.shown.insert(how.shown.end(), {"system", "encoding"});
    return how;
  }

  // "mean over seeds; bands: standard deviation; at length 100".
  std::string Summary(const SystemSettings& settings, const std::vector<PlotPanel>& panels) const {
    std::vector<std::string> parts;
    if (const std::string over = AggregatedOver(settings, WhatValuesAre()); !over.empty()) parts.push_back(over + (HasBands() && HasDeviations(panels) ? "; bands: standard deviation" : ""));
    if (metric_ != kTrainingLoss) {
      const bool by_step = axes_.Has(kStepAxis);
      if (!axes_.Has("length")) parts.push_back(AtLength(length_, only_, slice_, by_step));
      // What an axis is called says the rest.
      else if (const std::string lengths = AtEachLength(only_, slice_, by_step); lengths != AtEachLength({}, "")) parts.push_back(lengths);
    }
    if (!slice_.empty()) parts.push_back(slice_);
    if (axes_.x == kStepAxis && metric_ == kTrainingLoss && step_bins_ > 0) parts.push_back(fmt::format("losses averaged in at most {} of steps", Count(step_bins_, "range")));
    return Join(parts, "; ");
  }

  static std::string Words(std::string_view axis) {
    if (const catalog::SliceAxis* slice = catalog::FindSliceAxis(axis); slice != nullptr && !slice->label.empty()) return std::string(slice->label);
    return axis == "learning_rate" ? "learning rate" : std::string(axis);
  }

  void Print(Session& session, const v1::Sweep& sweep, const Drawing& drawing) const {
    const auto bytes = static_cast<double>(drawing.specification.size());
    if (session.json()) {
      session.out() << JsonDocument({{"sweep", JsonText(sweep.id())},
                                     {"metric", JsonText(drawing.metric)},
                                     {"panels", JsonNumber(static_cast<double>(drawing.panels))},
                                     {"points", JsonNumber(drawing.points)},
                                     {"file", JsonText(file_)},
                                     {"bytes", JsonNumber(bytes)}});
      return;
    }
    if (session.settings().quiet) return;
    session.out() << fmt::format("{}: {} in {}\n", Printable(file_), Count(drawing.points, "point"), Count(static_cast<int64_t>(drawing.panels), "panel"));
    for (const Correlation& one : drawing.correlations) {
      session.out() << fmt::format("  {}{}: {}, correlation {}, slope {:.4g}{}\n", one.panel.empty() ? "" : Printable(one.panel) + ", ", one.line,
                                   Count(one.points, "point"), WithoutMinusOfZero(fmt::format("{:.3f}", one.r)), one.slope,
                                   log_ ? " of the natural logarithm" : "");
    }
  }

  std::string sweep_;
  std::string file_;
  std::string metric_;
  PlotAxes axes_;
  int x_length_ = 0;
  std::string aggregate_ = "mean";
  std::string best_of_;
  int length_ = 0;
  std::string slice_;
  std::vector<std::string> only_;
  int step_bins_ = 100;
  bool bits_ = false;
  bool log_ = false;
  std::string title_;
};

}  // namespace

std::unique_ptr<Command> Make_plot() { return std::make_unique<Plot>(); }

}  // namespace longreach::client
