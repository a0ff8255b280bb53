#include "scheduler/service/table_cell.h"

#include <algorithm>
#include <utility>

#include "proto/base/text.h"
#include "proto/catalog/aggregates.h"

namespace longreach::service {

bool IsOpen(store::State state) {
  return state == store::State::kWaiting || state == store::State::kQueued || state == store::State::kLeased;
}

std::optional<double> CellJobs::Group::Deviation() const {
  std::vector<double> means;
  for (const OfJob& job : by_job) means.push_back(job.sum / job.count);
  std::ranges::sort(means);
  return catalog::DeviationOf(means);
}

bool CellJobs::Add(const TableJob& job, const std::string& group, double factor) {
  const int another = job.more ? 0 : 1;
  if (jobs == 0) data = job.data;
  if (data != job.data) data.clear();
  jobs += another;
  if (job.state == store::State::kFailed) failed += another;
  const auto take = [&] {
    Group& of = groups[group];
    of.values.push_back(*job.value * factor);
    if (!job.more) of.by_job.emplace_back();
    of.by_job.back().sum += of.values.back();
    ++of.by_job.back().count;
    return true;
  };
  // Losses of training are there before the job is done.
  if (IsOpen(job.state)) return job.value.has_value() && take();
  if (job.state != store::State::kSucceeded) return false;
  succeeded += another;
  if (job.diverged) {
    diverged += another;
    return false;
  }
  if (!job.value.has_value()) {
    ++unmeasured[job.system];
    return false;
  }
  if (!job.system.empty()) measured_systems.insert(job.system);
  if (builds.empty() || last_builds != job.builds) {
    last_builds = job.builds;
    for (std::string& build : Split(last_builds, '\n')) builds.insert(std::move(build));
  }
  if (last_engines != job.engines) {
    last_engines = job.engines;
    for (std::string& engine : Split(last_engines, '\n')) engines.insert(std::move(engine));
    engines.erase("");
  }
  return take();
}

std::set<std::string> CellJobs::Best(std::string_view aggregate, bool higher) const {
  std::set<std::string> best;
  double of_best = 0;
  for (const auto& [value, group] : groups) {
    if (groups.size() == 1) return {value};
    std::vector<double> values = group.values;
    std::ranges::sort(values);
    const double of_group = catalog::AggregateOf(values, aggregate);
    if (!best.empty() && of_group != of_best && !(higher ? of_group > of_best : of_group < of_best)) continue;
    if (of_group != of_best) best.clear();
    best.insert(value);
    of_best = of_group;
  }
  return best;
}

void SetMeasured(v1::TableCell& cell, const CellJobs& jobs, std::string_view aggregate, const CellJobs::Group* group) {
  cell.set_jobs(jobs.jobs);
  cell.set_succeeded(jobs.succeeded);
  cell.set_diverged(jobs.diverged);
  cell.set_failed(jobs.failed);
  cell.set_builds(static_cast<int>(jobs.builds.size()));
  if (group == nullptr) return;
  std::vector<double> values = group->values;
  std::ranges::sort(values);
  cell.set_measured_jobs(static_cast<int>(group->by_job.size()));
  cell.set_measured(catalog::AggregateOf(values, aggregate));
  cell.set_median(catalog::MedianOf(values));
  if (const std::optional<double> deviation = group->Deviation()) cell.set_deviation(*deviation);
}

}  // namespace longreach::service
