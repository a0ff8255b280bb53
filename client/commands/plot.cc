#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>

#include "client/commands/arguments.h"
#include "client/commands/command.h"
#include "client/commands/head_curves.h"
#include "client/commands/plot_axes.h"
#include "client/commands/suggestions.h"
#include "client/commands/sweep_calls.h"
#include "client/commands/system_settings.h"
#include "client/commands/tables.h"
#include "client/commands/title_words.h"
#include "client/figure/heat_map.h"
#include "client/figure/line_plot.h"
#include "client/figure/scatter_plot.h"
#include "client/figure/vega_renderer.h"
#include "client/new_file.h"
#include "client/output/bits.h"
#include "client/output/json.h"
#include "client/output/text.h"
#include "client/spec/presets.h"
#include "proto/base/text.h"
#include "proto/catalog/catalog.h"
#include "proto/types/settings.h"
#include "proto/types/words.h"

namespace longreach::client {
namespace {

constexpr std::string_view kSpecification = ".vl.json";
constexpr std::string_view kStdout = "-";
constexpr int kMostPanels = 60;
constexpr size_t kMostNotes = 6;
// Curves have so many pieces.
constexpr int kFitPoints = 40;
constexpr std::string_view kScaleMetric = "best_attention_scale";

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
                "--x step: the losses of training, of jobs that still run too, as means over 100 ranges of steps (--step-bins).\n"
                "--metric attention_entropy --lines head: the curves of all heads, a panel for each layer and system; --panels says\n"
                "which of the two stand side by side.\n"
                "FILE.vl.json is a Vega-Lite specification with its data in it; '-' prints it. FILE.svg, FILE.png and FILE.pdf are drawn\n"
                "from it by the Python package vl-convert-python (docs/howto/plot.md).\n"
                "SWEEP is a sweep's id, the beginning of one, its name, or 'last'.",
            .examples =
                "longreach plot table-b1 --file lengths.vl.json\n"
                "longreach plot table-b1 --only task=even_pairs,bucket_sort --file lengths.svg\n"
                "longreach plot last --x learning_rate --file rates.png\n"
                "longreach plot last --x step --log --lines learning_rate --file loss.svg\n"
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
                   "Axis to the right: length, learning_rate, seed, one of slices, or a setting of numbers; or another metric [length; of training_loss step]")
        ->type_name("AXIS");
    app.add_option("--y", axes_.y, "Axis upwards, with the metric as colour: a heat map")->type_name("AXIS");
    app.add_option("--points", axes_.points, "With a metric as --x: the axis whose values are the points")->type_name("AXIS");
    app.add_option("--x-length", x_length_, "With a metric as --x: its test length; 0: over all lengths")->type_name("N")->check(CheckCount);
    app.add_option("--lines", axes_.lines,
                   "Axis of the lines, which may be a setting [system where there are some, else encoding; beside a setting of a grid its next one]")
        ->type_name("AXIS");
    app.add_option("--panels", axes_.panels, "Axis of the panels, which may be a setting, or none [task where there are several]")->type_name("AXIS");
    app.add_option("--aggregate", aggregate_, "Over all other axes: max, min, mean or median")->type_name("HOW")->capture_default_str();
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
    if (axes_.x.empty()) axes_.x = metric_ == kTrainingLoss ? kStepAxis : "length";
    RETURN_IF_ERROR(CheckWords());
    ASSIGN_OR_RETURN(Connection * connection, session.Connect());
    ASSIGN_OR_RETURN(const v1::Sweep sweep, FindSweep(*connection, sweep_));
    if (IsHeadCurves() && axes_.panels.empty()) axes_.panels = "layer";
    ASSIGN_OR_RETURN(const SystemSettings settings, SystemSettings::FetchFor(*connection, sweep, axes_.All(), only_));
    RETURN_IF_ERROR(axes_.Complete(settings, only_));
    table_ = TableOfPreset(sweep.name());
    ASSIGN_OR_RETURN(Drawing drawing, Draw(*connection, sweep, settings));
    if (drawing.points == 0 && drawing.without_setting) {
      return Error(absl::StatusCode::kFailedPrecondition,
                   fmt::format("nothing to draw: no job of sweep '{}' has the setting {}", Printable(sweep.name()), axes_.x),
                   fmt::format("its jobs are of the kind '{}'; choose another --x", Printable(sweep.spec().experiment())));
    }
    if (drawing.points == 0) {
      std::vector<std::string> hints = drawing.empty;
      if (drawing.metric == "position_loss" && axes_.Has("attention_scale")) {
        hints.emplace_back("where scales and bins have more than 1,000 losses, these are in the job's file alone: 'longreach job JOB --get series --file FILE'");
      }
      hints.push_back(fmt::format("'longreach status {}{}' says how far it is, 'longreach results' has the same as a table", ShortId(sweep.id()), WhereFlags(session)));
      return Error(absl::StatusCode::kFailedPrecondition,
                   fmt::format("nothing to draw: no job of sweep '{}' has a value of {} {}", Printable(sweep.name()), drawing.value,
                               log_ ? "above 0 there" : "there yet"),
                   Join(hints, "\n"));
    }
    std::string& bytes = drawing.specification;
    if (!format.empty()) {
      ASSIGN_OR_RETURN(bytes, RenderVegaLite(bytes, format, session.environment()));
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
    if (metric_ == kTrainingLoss && length_ > 0) return UsageError(fmt::format("--length {}: losses of training have no test length", length_), "leave it out");
    if (x_length_ > 0 && !axes_.IsScatter()) return UsageError("--x-length: only with a metric as --x", "leave it out, or set --x to a metric");
    return CheckMeasure(metric_, aggregate_);
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

  // Rows or columns as the preset's table has them.
  std::vector<std::string> OrderOf(const std::string& axis) const {
    if (table_.rows() == axis) return {table_.row_order().begin(), table_.row_order().end()};
    if (table_.columns() == axis) return {table_.column_order().begin(), table_.column_order().end()};
    return {};
  }

  // What one set of panels is made of.
  struct Source {
    std::string columns;
    std::string metric;
    int length = 0;
  };

  absl::StatusOr<v1::Table> Fetch(Connection& connection, const std::string& sweep, const std::string& rows, const Source& source,
                                 const std::optional<std::string>& panel) const {
    v1::TableSpec table;
    table.set_rows(rows);
    table.set_columns(source.columns);
    table.set_metric(source.metric);
    table.set_aggregate(aggregate_);
    table.set_slice(slice_);
    table.set_length(source.length);
    if (rows == kStepAxis || source.columns == kStepAxis) table.set_step_bins(step_bins_);
    const auto without_whole = [](std::vector<std::string> order) {
      std::erase(order, catalog::kWholeSlice);  // A figure of slices is of each of them.
      return order;
    };
    const std::vector<std::string> row_order = without_whole(OrderOf(rows)), column_order = without_whole(OrderOf(source.columns));
    table.mutable_row_order()->Assign(row_order.begin(), row_order.end());
    if (source.columns != "length") table.mutable_column_order()->Assign(column_order.begin(), column_order.end());
    for (const std::string& only : only_) {
      // The panel's own value stands for those that were asked for.
      if (!panel || only.substr(0, only.find('=')) != axes_.panels) table.add_only(only);
    }
    if (panel) table.add_only(fmt::format("{}={}", axes_.panels, *panel));
    return FetchTable(connection, sweep, table);
  }

  // What tells the jobs of a panel: nothing where there is one of all jobs. Settings that jobs do not have are panels too, and have no key.
  std::optional<std::string> PanelOf(const std::string& key) const {
    return axes_.panels == "none" || (key.empty() && !IsSettingPath(axes_.panels)) ? std::nullopt : std::optional(key);
  }

  absl::StatusOr<std::vector<PlotPanel>> FetchPanels(Connection& connection, const std::string& sweep, const Source& source) const {
    std::vector<PlotPanel> panels;
    if (axes_.panels == "none") {
      ASSIGN_OR_RETURN(v1::Table table, Fetch(connection, sweep, axes_.lines, source, std::nullopt));
      panels.push_back({.title = "", .key = "", .table = std::move(table)});
      return panels;
    }
    // Slices have panels where all their axes but those of the lines are named; all else is faster without x.
    const bool of_slices = catalog::FindSliceAxis(axes_.lines) != nullptr || catalog::FindSliceAxis(axes_.panels) != nullptr;
    const Source by_line{.columns = axes_.lines, .metric = metric_, .length = length_};
    ASSIGN_OR_RETURN(const v1::Table overview, Fetch(connection, sweep, axes_.panels, of_slices ? source : by_line, std::nullopt));
    if (overview.rows_size() > kMostPanels) {
      return UsageError(fmt::format("--panels {}: {} panels are too many for a figure; at most {}", axes_.panels, overview.rows_size(), kMostPanels),
                        fmt::format("choose some with --only {}=VALUE,VALUE", axes_.panels));
    }
    for (const v1::TableAxisEntry& entry : overview.rows()) {
      ASSIGN_OR_RETURN(v1::Table table, Fetch(connection, sweep, axes_.lines, source, PanelOf(entry.key())));
      // Of many systems few have a metric's slices.
      if (catalog::FindSliceAxis(axes_.lines) != nullptr && !HasValues(table)) continue;
      panels.push_back({.title = entry.label().empty() ? entry.key() : entry.label(), .key = entry.key(), .table = std::move(table)});
    }
    if (panels.empty()) {
      ASSIGN_OR_RETURN(v1::Table none, Fetch(connection, sweep, axes_.lines, source, std::nullopt));
      panels.push_back({.title = "", .key = "", .table = std::move(none)});
    }
    return panels;
  }

  absl::StatusOr<Drawing> Draw(Connection& connection, const v1::Sweep& sweep, const SystemSettings& settings) const {
    const Source source{.columns = axes_.IsScatter() ? axes_.points : axes_.x, .metric = metric_, .length = length_};
    std::vector<PlotPanel> panels;
    std::vector<std::string> notes;
    if (IsHeadCurves()) {
      const HeadCurvesQuestion question{.only = only_, .aggregate = aggregate_, .by_layer = axes_.panels == "layer", .most_panels = kMostPanels};
      ASSIGN_OR_RETURN(HeadCurves curves, FetchHeadCurves(connection, sweep, question));
      panels = std::move(curves.panels);
      notes = std::move(curves.notes);
    } else {
      ASSIGN_OR_RETURN(panels, FetchPanels(connection, sweep.id(), source));
      notes.assign(panels.front().table.notes().begin(), panels.front().table.notes().end());
    }
    bool any_bits = bits_ && TurnIntoBits(panels);
    const v1::Table& first = panels.front().table;
    Drawing drawing{.specification = "", .metric = first.metric(), .value = WithUnit(NameOf(first.metric()), first.unit()), .panels = panels.size()};
    for (const std::string& note : notes) {
      if (note.starts_with("no job has a value")) drawing.empty.push_back(note);
    }
    drawing.without_setting = IsSettingPath(axes_.x) && axes_.y.empty() && HaveNone(panels);
    PlotTitle title = Describe(sweep, settings, panels);
    // Their tables have none, as a note is of all of them.
    if (IsHeadCurves()) AddNotes(notes, title);
    if (axes_.IsScatter()) {
      ScatterPlot plot{.title = title, .x_title = "", .y_title = drawing.value, .y_log = log_, .lines_title = Words(axes_.lines), .points_title = Words(axes_.points)};
      ASSIGN_OR_RETURN(plot.x, FetchPanels(connection, sweep.id(), {.columns = axes_.points, .metric = axes_.x, .length = x_length_}));
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
      LinePlot plot{.title = title, .x_title = Words(axes_.x), .x_log = axes_.x == "learning_rate", .y_title = drawing.value, .y_log = log_, .lines_title = Words(axes_.lines), .bands = HasBands(), .panels = std::move(panels)};
      if (axes_.x == "length") {
        ASSIGN_OR_RETURN(plot.trained, TrainedLength(connection, sweep));
        if (drawing.metric == kScaleMetric) {
          RETURN_IF_ERROR(AddFits(connection, sweep, plot));
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

  // The growth that was fitted to the best scales, a ln(i/L) + 1 from the training length L on, where the sweep says L.
  absl::Status AddFits(Connection& connection, const v1::Sweep& sweep, LinePlot& plot) const {
    const std::string columns = axes_.lines == "task" ? "encoding" : "task";
    for (const PlotPanel& panel : plot.panels) {
      // The one of all jobs has no title.
      const std::optional<std::string> key = panel.title.empty() ? std::nullopt : PanelOf(panel.key);
      ASSIGN_OR_RETURN(const v1::Table growths, Fetch(connection, sweep.id(), axes_.lines, {.columns = columns, .metric = "scale_growth"}, key));
      ASSIGN_OR_RETURN(const v1::Table qualities, Fetch(connection, sweep.id(), axes_.lines, {.columns = columns, .metric = "scale_growth_r2"}, key));
      double longest = 0;
      for (const v1::TableAxisEntry& column : panel.table.columns()) longest = std::max(longest, ParseDouble(column.key()).value_or(0));
      for (int row = 0; row < growths.rows_size(); ++row) {
        const int cell = row * growths.columns_size();
        // Without systems and a folder, which have lengths of their own, it is the sweep's.
        const bool own = sweep.spec().systems().empty() && sweep.spec().model().folder().empty();
        const double begin = GrowthBegins(sweep.spec(), growths.rows(row).key()).value_or(own ? plot.trained.value_or(0) : 0);
        if (growths.columns_size() != 1 || !growths.cells(cell).has_measured() || begin <= 0 || begin >= longest) continue;
        const double a = growths.cells(cell).measured();
        PlotCurve curve{.panel = panel.title, .line = LabelOf(growths.rows(row)), .points = {}};
        for (int i = 0; i <= kFitPoints; ++i) {
          const double x = begin * std::pow(longest / begin, static_cast<double>(i) / kFitPoints);
          curve.points.emplace_back(x, a * std::log(x / begin) + 1);
        }
        const bool has_quality = cell < qualities.cells_size() && qualities.cells(cell).has_measured();
        plot.title.notes.push_back(fmt::format("dashed: {:.3g} ln(i/{:g}) + 1, {}{}", a, begin, curve.line,
                                               has_quality ? fmt::format(" (R² {:.3g})", qualities.cells(cell).measured()) : ""));
        plot.curves.push_back(std::move(curve));
      }
    }
    return absl::OkStatus();
  }

  // positions.original_length, of the system that the line is where lines are systems.
  std::optional<double> GrowthBegins(const v1::SweepSpec& spec, const std::string& line) const {
    int length = spec.positions().original_length();
    for (const v1::System& system : spec.systems()) {
      if (axes_.lines == "system" && system.name() == line && system.with().positions().has_original_length()) length = system.with().positions().original_length();
    }
    return length > 0 ? std::optional<double>(length) : std::nullopt;
  }

  // There are jobs, and their one column is that of what is not set.
  static bool HaveNone(const std::vector<PlotPanel>& panels) {
    return std::ranges::all_of(panels, [](const PlotPanel& panel) { return panel.table.columns_size() == 1 && panel.table.columns(0).key().empty(); });
  }

  static bool HasValues(const v1::Table& table) {
    return std::ranges::any_of(table.cells(), [](const v1::TableCell& cell) { return cell.has_measured(); });
  }

  static std::string NameOf(const std::string& metric) {
    const catalog::Metric* found = catalog::FindMetric(metric);
    return found == nullptr ? metric : std::string(found->label);
  }

  // What panels have in common is said once.
  std::vector<std::string> NotesOf(const std::vector<PlotPanel>& panels) const {
    std::vector<std::pair<std::string, std::vector<std::string>>> titles_of;  // By the note, in the order of the panels.
    for (const PlotPanel& panel : panels) {
      for (const std::string& note : panel.table.notes()) {
        // What lines and panels there are is to be seen.
        const auto names = [&note](const std::string& axis) {
          return note.starts_with(fmt::format("only jobs with {} ", axis)) || note.starts_with(fmt::format("only {} ", axis));
        };
        if (names(axes_.panels) || names(axes_.lines)) continue;
        auto found = std::ranges::find(titles_of, note, [](const auto& entry) { return entry.first; });
        if (found == titles_of.end()) found = titles_of.insert(found, {note, {}});
        found->second.push_back(panel.title);
      }
    }
    std::vector<std::string> notes;
    for (const auto& [note, titles] : titles_of) {
      if (panels.size() == 1) notes.push_back(note);
      else notes.push_back(titles.size() == 1 ? fmt::format("{}: {}", titles.front(), note) : fmt::format("{} panels, each: {}", titles.size(), note));
    }
    return notes;
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
    if (const std::string summary = Summary(settings); !summary.empty()) title.notes.push_back(summary);
    AddNotes(NotesOf(panels), title);
    return title;
  }

  bool HasBands() const { return !axes_.IsScatter() && axes_.y.empty() && aggregate_ == "mean"; }

  // "mean over seeds; bands: standard deviation; at length 100".
  std::string Summary(const SystemSettings& settings) const {
    Aggregation how{.aggregate = aggregate_, .shown = {axes_.x, axes_.lines, axes_.points, axes_.panels}, .only = only_};
    // Curves of heads are of one system each, by whatever axis that is.
    if (IsHeadCurves()) how.shown.insert(how.shown.end(), {"system", settings.spec().systems().empty() ? "encoding" : "system"});
    std::vector<std::string> parts;
    if (const std::string over = AggregatedOver(settings, how); !over.empty()) parts.push_back(over + (HasBands() ? "; bands: standard deviation" : ""));
    if (axes_.x != "length" && axes_.lines != "length" && axes_.points != "length" && metric_ != kTrainingLoss) parts.push_back(AtLength(length_));
    if (!slice_.empty()) parts.push_back(slice_);
    if (axes_.x == kStepAxis && step_bins_ > 0) parts.push_back(fmt::format("losses averaged in {} of steps", Count(step_bins_, "range")));
    return Join(parts, "; ");
  }

  static std::string Words(std::string_view axis) {
    if (const catalog::SliceAxis* slice = catalog::FindSliceAxis(axis); slice != nullptr && !slice->label.empty()) return std::string(slice->label);
    return axis == "learning_rate" ? "learning rate" : std::string(axis);
  }

  static std::optional<double> LongestOf(const v1::Training& training) {
    const auto& lengths = training.lengths();
    if (lengths.empty()) return std::nullopt;
    return static_cast<double>(*std::ranges::max_element(lengths));
  }

  // The sweep's own; a system may have another. In what a sweep leaves out the scheduler knows the default, and its jobs have it.
  static absl::StatusOr<std::optional<double>> TrainedLength(Connection& connection, const v1::Sweep& sweep) {
    const std::optional<double> own = LongestOf(sweep.spec().training());
    if (own || !sweep.spec().systems().empty()) return own;
    v1::ListJobsRequest list;
    list.set_sweep(sweep.id());
    list.set_limit(1);
    ASSIGN_OR_RETURN(const v1::ListJobsResponse jobs, connection.Call(&Connection::Stub::ListJobs, list));
    if (jobs.jobs().empty()) return std::nullopt;
    v1::GetJobRequest request;
    request.set_job(jobs.jobs(0).id());
    ASSIGN_OR_RETURN(const v1::GetJobResponse job, connection.Call(&Connection::Stub::GetJob, request));
    return LongestOf(job.spec().training());
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
      session.out() << fmt::format("  {}{}: {}, correlation {:.3f}, slope {:.4g}\n", one.panel.empty() ? "" : Printable(one.panel) + ", ", one.line,
                                   Count(one.points, "point"), one.r, one.slope);
    }
  }

  std::string sweep_;
  std::string file_;
  std::string metric_;
  PlotAxes axes_;
  int x_length_ = 0;
  v1::TableSpec table_;  // The preset's.
  std::string aggregate_ = "mean";
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
