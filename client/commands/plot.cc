#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "client/commands/common.h"
#include "client/figure/line_plot.h"
#include "client/figure/vega_renderer.h"
#include "client/new_file.h"
#include "client/output/json.h"
#include "client/output/text.h"
#include "proto/base/text.h"
#include "proto/catalog/catalog.h"

namespace longreach::client {
namespace {

constexpr std::string_view kSpecification = ".vl.json";
constexpr int kMostPanels = 60;
constexpr size_t kMostNotes = 6;

class Plot final : public Command {
 public:
  CommandInfo Info() const override {
    return {.group = kGroupLook,
            .summary = "Draw what a sweep measured against length, learning rate or seed",
            .details =
                "Without options: the sweep's main metric against the test length, mean and standard deviation over learning rates\n"
                "and seeds, a line for each encoding (or system) and a panel for each task.\n"
                "FILE.vl.json is a Vega-Lite specification with its data in it. FILE.svg, FILE.png and FILE.pdf are drawn from it by\n"
                "the Python package vl-convert-python (docs/howto/plot.md).\n"
                "SWEEP is a sweep's id, the beginning of one, its name, or 'last'.",
            .examples =
                "longreach plot table-b1 --file lengths.vl.json\n"
                "longreach plot table-b1 --only task=even_pairs,bucket_sort --file lengths.svg\n"
                "longreach plot last --x learning_rate --file rates.png\n"
                "longreach plot nope-small --metric position_loss --only system=rope,nope --file loss.svg"};
  }
  void AddOptions(CLI::App& app) override {
    AddSweepArgument(app, sweep_);
    app.add_option("--file", file_, "What to write: FILE.svg, FILE.png, FILE.pdf or FILE.vl.json")->type_name("FILE")->required()->check(WhyNoText);
    app.add_option("--metric", metric_, "A metric ('longreach list metrics') [the sweep's main one]")->type_name("METRIC");
    app.add_option("--x", x_, "Axis to the right: length, learning_rate or seed")->type_name("AXIS")->capture_default_str();
    app.add_option("--lines", lines_, "Axis of the lines [system where there are some, else encoding]")->type_name("AXIS");
    app.add_option("--panels", panels_, "Axis of the panels, or none [task where there are several]")->type_name("AXIS");
    app.add_option("--aggregate", aggregate_, "Over all other axes: max, min, mean or median")->type_name("HOW")->capture_default_str();
    app.add_option("--length", length_, "Test length where it is no axis; 0: over all lengths")->type_name("N")->check(CLI::NonNegativeNumber);
    app.add_option("--slice", slice_, "What length does not name (depth=3)")->type_name("SLICE")->check(WhyNoText);
    AddOnlyOption(app, only_);
    app.add_flag("--log", log_, "A logarithmic axis for the metric");
    app.add_option("--title", title_, "Title [the sweep's name and what is measured]")->type_name("TEXT")->check(WhyNoText);
  }

  absl::StatusOr<int> Run(Session& session) override {
    ASSIGN_OR_RETURN(const std::string format, CheckFile());
    RETURN_IF_ERROR(CheckWords());
    ASSIGN_OR_RETURN(Connection * connection, session.Connect());
    v1::GetSweepRequest request;
    request.set_sweep(sweep_);
    ASSIGN_OR_RETURN(const v1::Sweep sweep, connection->Call(&Connection::Stub::GetSweep, request));
    RETURN_IF_ERROR(Choose(sweep));
    LinePlot plot;
    ASSIGN_OR_RETURN(plot.panels, FetchPanels(*connection, sweep.id()));
    Describe(sweep, plot);
    if (x_ == "length") {
      ASSIGN_OR_RETURN(plot.trained, TrainedLength(*connection, sweep));
    }
    const int points = PointsOf(plot);
    if (points == 0) {
      return Error(absl::StatusCode::kFailedPrecondition,
                   fmt::format("nothing to draw: no job of sweep '{}' has a value of {} {}", Printable(sweep.name()), plot.y_title,
                               log_ ? "above 0 there" : "there yet"),
                   fmt::format("'longreach status {}{}' says how far it is, 'longreach results' has the same as a table", ShortId(sweep.id()), WhereFlags(session)));
    }
    std::string bytes = VegaLiteOf(plot);
    if (!format.empty()) {
      ASSIGN_OR_RETURN(bytes, RenderVegaLite(bytes, format, session.environment()));
    }
    RETURN_IF_ERROR(WriteNewFileForAll(file_, bytes));
    Print(session, sweep, plot, points, bytes.size());
    return kDone;
  }

 private:
  // The format for the renderer; empty: none is needed.
  absl::StatusOr<std::string> CheckFile() const {
    const std::filesystem::path path(file_);
    RETURN_IF_ERROR(CheckNewFile(path));
    if (file_.ends_with(kSpecification)) return std::string();
    const std::string extension = path.extension().string();
    if (extension == ".svg" || extension == ".png" || extension == ".pdf") return extension.substr(1);
    return UsageError(fmt::format("--file: '{}' ends in none of .svg, .png, .pdf and .vl.json", Printable(file_)));
  }

  absl::Status CheckWords() const {
    const std::vector<std::string> axes = {"encoding", "learning_rate", "seed", "system", "task"};
    std::vector<std::string> panels = axes;
    panels.emplace_back("none");
    // These have values unless somebody takes them away.
    if (x_.empty()) return UsageError("--x: unknown value ''");
    if (aggregate_.empty()) return UsageError("--aggregate: unknown value ''");
    RETURN_IF_ERROR(CheckChoice("--x", x_, {"length", "learning_rate", "seed"}));
    RETURN_IF_ERROR(CheckChoice("--lines", lines_, axes));
    RETURN_IF_ERROR(CheckChoice("--panels", panels_, panels));
    return CheckMeasure(metric_, aggregate_);
  }

  // Fills in what was left open.
  absl::Status Choose(const v1::Sweep& sweep) {
    const v1::SweepSpec& spec = sweep.spec();
    if (lines_.empty()) lines_ = !spec.systems().empty() && panels_ != "system" ? "system" : panels_ == "encoding" ? "task" : "encoding";
    if (panels_.empty()) panels_ = spec.axes().task_size() > 1 && lines_ != "task" ? "task" : "none";
    if (lines_ == x_ || panels_ == x_ || lines_ == panels_) {
      return UsageError(fmt::format("--x, --lines and --panels are {}, {} and {}: they must differ", x_, lines_, panels_));
    }
    // Lines as the table has its rows or columns.
    const v1::TableSpec table = TableOfPreset(sweep.name());
    if (table.rows() == lines_) order_ = {table.row_order().begin(), table.row_order().end()};
    if (table.columns() == lines_) order_ = {table.column_order().begin(), table.column_order().end()};
    return absl::OkStatus();
  }

  absl::StatusOr<v1::Table> Fetch(Connection& connection, const std::string& sweep, const std::string& rows, const std::string& columns,
                                  const std::string& panel) const {
    v1::TableSpec table;
    table.set_rows(rows);
    table.set_columns(columns);
    table.set_metric(metric_);
    table.set_aggregate(aggregate_);
    table.set_slice(slice_);
    table.set_length(length_);
    if (rows == lines_) table.mutable_row_order()->Assign(order_.begin(), order_.end());
    for (const std::string& only : only_) {
      // The panel's own value stands for those that were asked for.
      if (panel.empty() || only.substr(0, only.find('=')) != panels_) table.add_only(only);
    }
    if (!panel.empty()) table.add_only(fmt::format("{}={}", panels_, panel));
    return FetchTable(connection, sweep, table);
  }

  absl::StatusOr<std::vector<PlotPanel>> FetchPanels(Connection& connection, const std::string& sweep) const {
    std::vector<PlotPanel> panels;
    if (panels_ == "none") {
      ASSIGN_OR_RETURN(v1::Table table, Fetch(connection, sweep, lines_, x_, ""));
      panels.push_back({.title = "", .table = std::move(table)});
      return panels;
    }
    ASSIGN_OR_RETURN(const v1::Table overview, Fetch(connection, sweep, panels_, lines_, ""));
    if (overview.rows_size() > kMostPanels) {
      return UsageError(fmt::format("--panels {}: {} panels are too many for a figure; at most {}", panels_, overview.rows_size(), kMostPanels),
                        fmt::format("choose some with --only {}=VALUE,VALUE", panels_));
    }
    for (const v1::TableAxisEntry& entry : overview.rows()) {
      ASSIGN_OR_RETURN(v1::Table table, Fetch(connection, sweep, lines_, x_, entry.key()));
      panels.push_back({.title = entry.label().empty() ? entry.key() : entry.label(), .table = std::move(table)});
    }
    return panels;
  }

  void Describe(const v1::Sweep& sweep, LinePlot& plot) const {
    const v1::Table& first = plot.panels.front().table;
    const catalog::Metric* metric = catalog::FindMetric(first.metric());
    const std::string name = metric == nullptr ? first.metric() : std::string(metric->label);
    plot.y_title = first.unit().empty() ? name : fmt::format("{} ({})", name, first.unit());
    plot.y_log = log_;
    plot.x_title = Words(x_);
    plot.x_log = x_ == "learning_rate";
    plot.lines_title = Words(lines_);
    plot.title = title_.empty() ? fmt::format("{}: {}", sweep.name(), name) : title_;
    const PlotPanel& alone = plot.panels.front();
    if (title_.empty() && plot.panels.size() == 1 && !alone.title.empty()) plot.title += ", " + alone.title;
    if (const std::string summary = Summary(sweep.spec()); !summary.empty()) plot.notes.push_back(summary);
    for (const PlotPanel& panel : plot.panels) {
      for (const std::string& note : panel.table.notes()) {
        // What lines and panels there are is to be seen.
        const bool seen = note.starts_with(fmt::format("only jobs with {} ", panels_)) || note.starts_with(fmt::format("only jobs with {} ", lines_));
        const std::string text = panel.title.empty() ? note : fmt::format("{}: {}", panel.title, note);
        if (!seen && plot.notes.size() < kMostNotes) plot.notes.push_back(text);
      }
    }
  }

  // "mean over learning rate and seed; bands: standard deviation": of the axes that have several values.
  std::string Summary(const v1::SweepSpec& spec) const {
    std::vector<std::string> rest;
    const auto add = [&](const std::string& axis, int values) {
      if (values > 1 && x_ != axis && lines_ != axis && panels_ != axis) rest.push_back(Words(axis));
    };
    add("task", spec.axes().task_size());
    add("encoding", spec.axes().encoding_size());
    add("learning_rate", spec.axes().learning_rate_size());
    add("seed", spec.axes().seed_size());
    std::vector<std::string> parts;
    if (!rest.empty()) parts.push_back(fmt::format("{} over {}; bands: standard deviation", aggregate_, Join(rest, " and ")));
    if (x_ != "length") parts.push_back(length_ == 0 ? "over all test lengths" : fmt::format("at length {}", length_));
    if (!slice_.empty()) parts.push_back(slice_);
    return Join(parts, "; ");
  }

  static std::string Words(std::string_view axis) { return axis == "learning_rate" ? "learning rate" : std::string(axis); }

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

  void Print(Session& session, const v1::Sweep& sweep, const LinePlot& plot, int points, size_t bytes) const {
    if (session.json()) {
      session.out() << JsonDocument({{"sweep", JsonText(sweep.id())},
                                     {"metric", JsonText(plot.panels.front().table.metric())},
                                     {"panels", JsonNumber(static_cast<double>(plot.panels.size()))},
                                     {"points", JsonNumber(points)},
                                     {"file", JsonText(file_)},
                                     {"bytes", JsonNumber(static_cast<double>(bytes))}});
    } else if (!session.settings().quiet) {
      session.out() << fmt::format("{}: {} in {}\n", Printable(file_), Count(points, "point"), Count(static_cast<int64_t>(plot.panels.size()), "panel"));
    }
  }

  std::string sweep_;
  std::string file_;
  std::string metric_;
  std::string x_ = "length";
  std::string lines_;
  std::vector<std::string> order_;
  std::string panels_;
  std::string aggregate_ = "mean";
  int length_ = 0;
  std::string slice_;
  std::vector<std::string> only_;
  bool log_ = false;
  std::string title_;
};

}  // namespace

std::unique_ptr<Command> Make_plot() { return std::make_unique<Plot>(); }

}  // namespace longreach::client
