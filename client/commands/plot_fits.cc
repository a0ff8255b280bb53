#include "client/commands/plot_fits.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "client/commands/only.h"
#include "client/commands/paired_values.h"
#include "proto/base/text.h"
#include "proto/catalog/catalog.h"

namespace longreach::client {
namespace {

// Curves have so many pieces.
constexpr int kFitPoints = 40;

std::optional<double> LongestOf(const v1::Training& training) {
  const auto& lengths = training.lengths();
  if (lengths.empty()) return std::nullopt;
  return static_cast<double>(*std::ranges::max_element(lengths));
}

std::optional<double> Longer(std::optional<double> one, std::optional<double> other) { return one && other ? std::max(*one, *other) : one ? one : other; }

// As far as a maker of weights says it, and what it begins with.
std::optional<double> LongestOf(const v1::SweepSpec& maker) {
  std::optional<double> longest = LongestOf(maker.training());
  for (const v1::Input& input : maker.inputs()) longest = Longer(longest, LongestOf(input.from()));
  return longest;
}

// Of those jobs of a sweep, or of one of its systems, that say no lengths of training: what the scheduler knows as their default.
absl::StatusOr<std::optional<double>> DefaultLength(Connection& connection, const v1::Sweep& sweep, const v1::System* system) {
  v1::ListJobsRequest list;
  list.set_sweep(sweep.id());
  list.set_limit(1);
  if (system != nullptr) list.add_only("system=" + system->name());
  v1::ListJobsResponse jobs;
  do {  // The system's first job may be after pages without any.
    ASSIGN_OR_RETURN(jobs, connection.Call(&Connection::Stub::ListJobs, list));
    list.set_page_token(jobs.next_page_token());
  } while (jobs.jobs().empty() && !list.page_token().empty());
  if (jobs.jobs().empty()) return std::nullopt;
  v1::GetJobRequest request;
  request.set_job(jobs.jobs(0).id());
  ASSIGN_OR_RETURN(const v1::GetJobResponse job, connection.Call(&Connection::Stub::GetJob, request));
  return LongestOf(job.spec().training());
}

// What trains the weights that a sweep's jobs, or those of one of its systems, are tested with: they themselves, and what makes those that
// they begin with.
absl::StatusOr<std::optional<double>> LongestOf(Connection& connection, const v1::Sweep& sweep, const v1::System* system) {
  v1::Training training = sweep.spec().training();
  auto inputs = sweep.spec().inputs();
  if (system != nullptr) {
    if (!system->with().training().lengths().empty()) training.clear_lengths();
    training.MergeFrom(system->with().training());
    if (!system->with().inputs().empty()) inputs = system->with().inputs();
  }
  std::optional<double> longest = LongestOf(training);
  bool all_say = true;
  for (const v1::Input& input : inputs) {
    const std::optional<double> of_input = LongestOf(input.from());
    all_say = all_say && of_input.has_value();
    longest = Longer(longest, of_input);
  }
  const bool trains = !training.has_steps() || training.steps() > 0;
  if (training.lengths().empty() && (trains || !all_say || inputs.empty())) {
    ASSIGN_OR_RETURN(const std::optional<double> by_default, DefaultLength(connection, sweep, system));
    longest = Longer(longest, by_default);
  }
  return longest;
}

// positions.original_length, of the system that the line is where lines are systems.
std::optional<double> GrowthBegins(const v1::SweepSpec& spec, const PlotAxes& axes, const std::string& line) {
  int length = spec.positions().original_length();
  for (const v1::System& system : spec.systems()) {
    const v1::Positions& own = system.with().positions();
    if (axes.lines == "system" && system.name() == line && own.has_original_length()) length = own.original_length();
  }
  return length > 0 ? std::optional<double>(length) : std::nullopt;
}

}  // namespace

std::optional<double> ChanceOf(std::string_view metric, const v1::SweepSpec& spec, const std::vector<std::string>& only) {
  if (metric != "accuracy") return std::nullopt;
  // Lengths and settings leave no more tasks.
  std::vector<std::string> of_jobs = only;
  std::erase_if(of_jobs, [](const std::string& text) { return !IsPairAxis(text.substr(0, text.find('='))); });
  const SweepValues values(spec, of_jobs);
  const std::set<std::string>& tasks = values.axes()[PlaceOf("task")];
  const catalog::Task* const task = tasks.size() == 1 ? catalog::FindTask(*tasks.begin()) : nullptr;
  return task == nullptr ? std::nullopt : std::optional(task->ChancePercent());
}

absl::StatusOr<std::optional<double>> TrainedLength(Connection& connection, const v1::Sweep& sweep, const std::vector<std::string>& only) {
  if (sweep.spec().systems().empty()) return LongestOf(connection, sweep, nullptr);
  const Only asked(only);
  std::set<std::optional<double>> longest;
  for (const v1::System& system : sweep.spec().systems()) {
    if (!asked.Admits("system", system.name())) continue;
    ASSIGN_OR_RETURN(const std::optional<double> of_system, LongestOf(connection, sweep, &system));
    longest.insert(of_system);
    if (longest.size() > 1) return std::nullopt;
  }
  return longest.empty() ? std::nullopt : *longest.begin();
}

absl::Status AddFits(Connection& connection, const v1::Sweep& sweep, const PanelsQuestion& question, LinePlot& plot) {
  const PlotAxes& axes = question.axes;
  PanelsQuestion of_fits = question;
  // A fit is of all lengths together, whichever are drawn.
  std::erase_if(of_fits.only, [](const std::string& only) { return only.starts_with("length="); });
  const std::string columns = axes.lines == "task" ? "encoding" : "task";
  for (const PlotPanel& panel : plot.panels) {
    // The one of all jobs has no title.
    const std::optional<std::string> key = panel.title.empty() ? std::nullopt : PanelOf(axes, panel.key);
    const PanelsSource growth{.columns = columns, .metric = "scale_growth"}, quality{.columns = columns, .metric = "scale_growth_r2"};
    ASSIGN_OR_RETURN(const v1::Table growths, FetchPanelTable(connection, of_fits, axes.lines, growth, key));
    ASSIGN_OR_RETURN(const v1::Table qualities, FetchPanelTable(connection, of_fits, axes.lines, quality, key));
    double longest = 0;
    for (const v1::TableAxisEntry& column : panel.table.columns()) longest = std::max(longest, ParseDouble(column.key()).value_or(0));
    for (int row = 0; row < growths.rows_size(); ++row) {
      const int cell = row * growths.columns_size();
      // Without systems and a folder, which have lengths of their own, it is the sweep's.
      const bool own = sweep.spec().systems().empty() && sweep.spec().model().folder().empty();
      const double begin = GrowthBegins(sweep.spec(), axes, growths.rows(row).key()).value_or(own ? plot.trained.value_or(0) : 0);
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

}  // namespace longreach::client
