#include "client/commands/head_curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "client/commands/only.h"
#include "client/commands/sweep_calls.h"
#include "client/commands/tables.h"
#include "client/figure/entropy_series.h"
#include "client/output/text.h"
#include "proto/base/text.h"
#include "proto/catalog/aggregates.h"
#include "proto/catalog/catalog.h"
#include "proto/types/artifact_kind.h"
#include "proto/types/settings.h"

namespace longreach::client {
namespace {

// Each is two questions to the scheduler, and a file.
constexpr size_t kMostJobs = 256;

// But for its systems, of which it may have several.
bool Admits(const Only& only, const v1::Job& job) {
  return only.Admits("task", job.task()) && only.Admits("encoding", job.encoding()) && only.Admits("learning_rate", ShortestNumber(job.learning_rate())) &&
         only.Admits("seed", std::to_string(job.seed()));
}

using Series = std::shared_ptr<const EntropySeries>;

// The jobs whose curves are one panel for each layer.
struct Group {
  std::string name;
  std::string system = {};    // Empty: there are none.
  std::string encoding = {};  // Empty: one alone, whichever it is.
  std::vector<Series> series = {};
};

// A group for each encoding, where these are several.
void AddGroups(const std::string& system, const v1::Axes& axes, std::vector<Group>& groups) {
  if (axes.encoding_size() < 2) {
    groups.push_back({.name = system, .system = system});
    return;
  }
  for (const std::string& encoding : axes.encoding()) {
    groups.push_back({.name = system.empty() ? encoding : fmt::format("{}, {}", system, encoding), .system = system, .encoding = encoding});
  }
}

// In the sweep's own order; one without a name where nothing tells jobs apart but learning rate and seed.
std::vector<Group> GroupsOf(const v1::SweepSpec& spec) {
  std::vector<Group> groups;
  for (const v1::System& system : spec.systems()) AddGroups(system.name(), AxesOf(spec, system), groups);
  if (spec.systems().empty()) AddGroups("", spec.axes(), groups);
  return groups;
}

bool IsOf(const v1::Job& job, const Group& group) {
  const bool of_system = group.system.empty() || std::ranges::find(job.systems(), group.system) != job.systems().end();
  return of_system && (group.encoding.empty() || job.encoding() == group.encoding);
}

// By the settings that --only names, which jobs come without. nullopt: it names none, or there are no systems to be told by them.
absl::StatusOr<std::optional<std::set<std::string>>> SystemsLeft(Connection& connection, const v1::Sweep& sweep, const std::vector<std::string>& only) {
  v1::TableSpec spec;
  spec.set_rows("system");
  spec.set_columns("task");
  for (const std::string& one : only) {
    if (IsSettingPath(one.substr(0, one.find('=')))) spec.add_only(one);
  }
  if (spec.only().empty() || sweep.spec().systems().empty()) return std::nullopt;
  ASSIGN_OR_RETURN(const v1::Table table, FetchTable(connection, sweep.id(), spec));
  std::set<std::string> systems;
  for (const v1::TableAxisEntry& row : table.rows()) systems.insert(row.key());
  return systems;
}

absl::StatusOr<std::vector<v1::Job>> JobsOf(Connection& connection, const std::string& sweep, const Only& only) {
  std::vector<v1::Job> jobs;
  v1::ListJobsRequest request;
  request.set_sweep(sweep);
  request.set_state("succeeded");
  RETURN_IF_ERROR(ForEachJobPage(connection, request, [&](const v1::ListJobsResponse& page) {
    for (const v1::Job& job : page.jobs()) {
      if (!job.diverged() && Admits(only, job)) jobs.push_back(job);
    }
    return absl::OkStatus();
  }));
  return jobs;
}

// Null: the job left none.
absl::StatusOr<Series> SeriesOf(Connection& connection, const v1::Job& job) {
  v1::GetJobRequest request;
  request.set_job(job.id());
  ASSIGN_OR_RETURN(const v1::GetJobResponse response, connection.Call(&Connection::Stub::GetJob, request));
  for (const v1::ArtifactInfo& artifact : response.artifacts()) {
    if (artifact.kind() != Word(ArtifactKind::kSeries)) continue;
    ASSIGN_OR_RETURN(std::string bytes, connection.Download(artifact.sha256()));
    absl::StatusOr<EntropySeries> series = EntropySeries::Parse(std::move(bytes));
    if (series.status().code() == absl::StatusCode::kNotFound) continue;
    if (!series.ok()) {
      return Error(series.status().code(), fmt::format("job {}: {}", Printable(ShortId(job.id())), SplitError(series.status()).message));
    }
    return std::make_shared<const EntropySeries>(*std::move(series));
  }
  return nullptr;
}

v1::TableCell CellOf(std::vector<double> values, const std::string& aggregate) {
  v1::TableCell cell;
  std::erase_if(values, [](double value) { return !std::isfinite(value); });
  if (values.empty()) return cell;
  std::ranges::sort(values);
  const int count = static_cast<int>(values.size());
  cell.set_measured(catalog::AggregateOf(values, aggregate));
  cell.set_jobs(count);
  cell.set_succeeded(count);
  cell.set_measured_jobs(count);
  if (const std::optional<double> deviation = catalog::DeviationOf(values)) cell.set_deviation(*deviation);
  return cell;
}

v1::Table EmptyTable() {
  v1::Table table;
  table.set_metric(std::string(kEntropyMetric));
  if (const catalog::Metric* metric = catalog::FindMetric(kEntropyMetric)) table.set_unit(std::string(metric->unit));
  return table;
}

// The group's files are of one size.
PlotPanel PanelOf(const Group& group, bool named, int64_t layer, const Only& only, const std::string& aggregate) {
  const EntropySeries& first = *group.series.front();
  const std::string title = named ? fmt::format("{}, layer {}", group.name, layer) : fmt::format("layer {}", layer);
  PlotPanel panel{.title = title, .key = std::to_string(layer), .table = EmptyTable()};
  for (int64_t bin = 0; bin < first.bins(); ++bin) panel.table.add_columns()->set_key(std::to_string((bin + 1) * first.bin_width()));
  for (int64_t head = 0; head < first.heads(); ++head) {
    const std::string key = std::to_string(head);
    if (!only.Admits("head", key)) continue;
    v1::TableAxisEntry& row = *panel.table.add_rows();
    row.set_key(key);
    row.set_label(fmt::format("head {}", key));
    for (int64_t bin = 0; bin < first.bins(); ++bin) {
      std::vector<double> values;
      for (const Series& one : group.series) values.push_back(one->At(layer, head, bin));
      *panel.table.add_cells() = CellOf(std::move(values), aggregate);
    }
  }
  return panel;
}

absl::Status CheckSizes(const Group& group) {
  const EntropySeries& first = *group.series.front();
  for (const Series& one : group.series) {
    const bool same_model = one->layers() == first.layers() && one->heads() == first.heads();
    if (same_model && one->bins() == first.bins() && one->bin_width() == first.bin_width()) continue;
    const std::string name = group.name.empty() ? "the sweep" : Printable(group.name);
    return Error(absl::StatusCode::kFailedPrecondition,
                 fmt::format("jobs of {} differ in layers, heads or bins: {} x {} x {} and {} x {} x {}", name, first.layers(), first.heads(), first.bins(),
                             one->layers(), one->heads(), one->bins()),
                 "choose some with --only AXIS=VALUE");
  }
  return absl::OkStatus();
}

// What a table says of the same jobs: words without a meaning, and what is not finished.
absl::StatusOr<v1::Table> OverviewOf(Connection& connection, const v1::Sweep& sweep, const HeadCurvesQuestion& question) {
  v1::TableSpec spec;
  spec.set_rows("layer");
  spec.set_columns("length");
  spec.set_metric(std::string(kEntropyMetric));
  spec.set_aggregate(question.aggregate);
  spec.mutable_only()->Assign(question.only.begin(), question.only.end());
  return FetchTable(connection, sweep.id(), spec);
}

// Each job's series goes to the groups that it is of, and groups without any go away. A note: some jobs have left none. FAILED_PRECONDITION: none
// has left one.
absl::StatusOr<std::string> FetchSeries(Connection& connection, const std::vector<v1::Job>& jobs, std::vector<Group>& groups) {
  size_t without = 0;
  for (const v1::Job& job : jobs) {
    ASSIGN_OR_RETURN(const Series series, SeriesOf(connection, job));
    if (series == nullptr) {
      ++without;
      continue;
    }
    for (Group& group : groups) {
      if (IsOf(job, group)) group.series.push_back(series);
    }
  }
  if (!jobs.empty() && without == jobs.size()) {
    return Error(absl::StatusCode::kFailedPrecondition,
                 fmt::format("none of {} has left the entropies of its attention heads", Count(std::ssize(jobs), "job")),
                 "jobs do with evaluation.position_bins, unless an older version computed them; --length N --x head --y layer draws the last bin");
  }
  std::erase_if(groups, [](const Group& group) { return group.series.empty(); });
  if (without == 0) return std::string();
  return fmt::format("left out, without entropies of heads: {} of an older version", Count(static_cast<int64_t>(without), "job"));
}

// A layer of a group, which is a panel.
using LayerOfGroup = std::pair<int64_t, const Group*>;

// In the order of the panels. The groups have series.
absl::StatusOr<std::vector<LayerOfGroup>> PlacesOf(const std::vector<Group>& groups, const Only& only, const HeadCurvesQuestion& question) {
  std::vector<LayerOfGroup> places;
  for (const Group& group : groups) {
    RETURN_IF_ERROR(CheckSizes(group));
    for (int64_t layer = 0; layer < group.series.front()->layers(); ++layer) {
      if (only.Admits("layer", std::to_string(layer))) places.emplace_back(layer, &group);
    }
  }
  if (static_cast<int64_t>(places.size()) > question.most_panels) {
    return UsageError(fmt::format("--lines head: {} panels, one for each layer and system, are too many for a figure; at most {}", places.size(),
                                  question.most_panels),
                      "choose some with --only layer=0,10,20 or --only system=NAME");
  }
  if (question.by_layer) {
    std::ranges::stable_sort(places, {}, [](const LayerOfGroup& place) { return place.first; });
  }
  return places;
}

// 0: layers have not all the same groups.
size_t PlacesTogether(const std::vector<LayerOfGroup>& places, size_t groups, bool by_layer) {
  std::set<int64_t> layers;
  for (const LayerOfGroup& place : places) layers.insert(place.first);
  if (places.size() != layers.size() * groups) return 0;
  return by_layer ? groups : layers.size();
}

}  // namespace

absl::StatusOr<HeadCurves> FetchHeadCurves(Connection& connection, const v1::Sweep& sweep, const HeadCurvesQuestion& question) {
  ASSIGN_OR_RETURN(const std::optional<std::set<std::string>> systems_left, SystemsLeft(connection, sweep, question.only));
  ASSIGN_OR_RETURN(const v1::Table overview, OverviewOf(connection, sweep, question));
  HeadCurves curves{.panels = {}, .panels_together = 0, .notes = {overview.notes().begin(), overview.notes().end()}, .typed_notes = overview.typed_notes()};
  // A curve is of one head of one model, whatever that table's cells are over.
  for (const v1::TableNote& note : overview.typed_notes()) {
    if (note.kind() == v1::TableNote::KIND_MIXED) std::erase(curves.notes, note.text());
  }

  const Only only(question.only);
  ASSIGN_OR_RETURN(std::vector<v1::Job> jobs, JobsOf(connection, sweep.id(), only));
  std::vector<Group> groups = GroupsOf(sweep.spec());
  if (!sweep.spec().systems().empty()) {
    std::erase_if(groups, [&](const Group& group) { return !only.Admits("system", group.system) || (systems_left && !systems_left->contains(group.system)); });
  }
  std::erase_if(jobs, [&](const v1::Job& job) { return std::ranges::none_of(groups, [&](const Group& group) { return IsOf(job, group); }); });
  if (jobs.size() > kMostJobs) {
    return UsageError(fmt::format("--lines head: the files of {} jobs are too many for a figure; at most {}", jobs.size(), kMostJobs),
                      "choose some with --only system=NAME or --only seed=0");
  }
  ASSIGN_OR_RETURN(std::string left_out, FetchSeries(connection, jobs, groups));
  if (!left_out.empty()) curves.notes.push_back(std::move(left_out));

  ASSIGN_OR_RETURN(const std::vector<LayerOfGroup> places, PlacesOf(groups, only, question));
  const bool named = groups.size() > 1;
  for (const auto& [layer, group] : places) curves.panels.push_back(PanelOf(*group, named, layer, only, question.aggregate));
  curves.panels_together = PlacesTogether(places, groups.size(), question.by_layer);
  if (curves.panels.empty()) curves.panels.push_back({.title = "", .key = "", .table = EmptyTable()});
  return curves;
}

}  // namespace longreach::client
