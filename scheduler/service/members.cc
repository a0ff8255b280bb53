#include "scheduler/service/members.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "proto/catalog/catalog.h"
#include "scheduler/service/replies.h"

namespace longreach::service {
absl::Status ForEachJob(sql::Connection& db, const Members& members, int64_t from, const store::JobFilter& which, const LiveBoard::State& live,
                        const std::function<absl::StatusOr<bool>(const store::ListedJob&, v1::Job&)>& use) {
  int64_t after = from - 1;
  while (true) {
    ASSIGN_OR_RETURN(const std::vector<store::ListedJob> rows, store::ListSweepJobs(db, members.sweep, after, which, members.metric, members.at_once));
    for (const store::ListedJob& row : rows) {
      v1::Job job = ToJob(row, live);
      if (const std::string system = experiments::SystemAt(members.systems, row.position); !system.empty()) job.add_systems(system);
      ASSIGN_OR_RETURN(const bool goes_on, use(row, job));
      if (!goes_on) return absl::OkStatus();
    }
    if (std::ssize(rows) < members.at_once) return absl::OkStatus();
    after = rows.back().position;
  }
}

Only::Only(const v1::SweepSpec& spec, const Members& members, std::vector<TableFilter> filters) : filters_(std::move(filters)) {
  std::vector<std::string> paths;
  for (const TableFilter& filter : filters_) {
    if (IsSettingPath(filter.axis())) paths.push_back(filter.axis());
  }
  std::vector<SettingsByJob> values = experiments::SettingsOfSystems(spec, paths);
  for (size_t i = 0; i < values.size(); ++i) settings_.emplace(members.systems.empty() ? "" : members.systems[i].name, std::move(values[i]));
}

absl::StatusOr<Only> Only::OfJobs(const google::protobuf::RepeatedPtrField<std::string>& texts, const v1::SweepSpec& spec, const Members& members) {
  ASSIGN_OR_RETURN(std::vector<TableFilter> filters, TableFilter::AllOf(texts, "only"));
  for (const TableFilter& one : filters) {
    if (one.IsOfValues()) return absl::InvalidArgumentError(fmt::format("only: '{}' tells values of a job apart, not jobs; leave it out, or see the values with 'longreach results SWEEP --jobs'", one.axis()));
  }
  return Only(spec, members, std::move(filters));
}

bool Only::AllAreListed(const v1::SweepSpec& spec) const {
  std::vector<TableFilter> asked;  // Copies: a refusal names what jobs have, and not what they may come to have.
  std::ranges::copy_if(filters_, std::back_inserter(asked), [](const TableFilter& filter) { return !filter.IsOfValues(); });
  SeeAxesOf(spec, asked);
  for (const auto& [system, settings] : settings_) SeeSettings(settings, asked);
  return std::ranges::all_of(asked, [](const TableFilter& filter) { return filter.Check().ok(); });
}

absl::Status Only::Check(sql::Connection& db, const v1::SweepSpec& spec, const Members& members) {
  if (AllAreListed(spec)) return absl::OkStatus();
  RETURN_IF_ERROR(ForEachJob(db, members, 0, {}, LiveBoard::State(), [this](const store::ListedJob&, const v1::Job& job) -> absl::StatusOr<bool> {
    const TableJob at = PlaceOf(job);
    for (TableFilter& filter : filters_) {
      if (!filter.IsOfValues()) filter.See(at);
    }
    return true;
  }));
  for (const TableFilter& filter : filters_) {
    if (!filter.IsOfValues()) RETURN_IF_ERROR(filter.Check());
  }
  return absl::OkStatus();
}

absl::Status Only::CheckOfPage(sql::Connection& db, const store::SweepRow& sweep, const Members& members, bool is_first) {
  if (!is_first || filters_.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const v1::SweepSpec spec, SpecOf(sweep));
  return Check(db, spec, members);
}

bool Only::Takes(const v1::Job& job) const {
  if (filters_.empty()) return true;
  const TableJob at = PlaceOf(job);
  return std::ranges::all_of(filters_, [&at](const TableFilter& filter) { return filter.IsOfValues() || filter.Has(at); });
}

bool Only::TakesValue(int length, std::string_view slice) const {
  if (std::ranges::none_of(filters_, &TableFilter::IsOfValues)) return true;
  TableJob at;
  at.length = length;
  at.slice = catalog::SliceKeys(slice);
  return std::ranges::all_of(filters_, [&at](const TableFilter& filter) { return !filter.IsOfValues() || filter.Has(at); });
}

TableJob Only::PlaceOf(const v1::Job& job) const {
  TableJob out;
  out.task = job.task();
  out.encoding = job.encoding();
  out.learning_rate = job.learning_rate();
  out.seed = job.seed();
  if (!job.systems().empty()) out.system = job.systems(0);
  const auto of_system = settings_.find(out.system);
  if (of_system == settings_.end()) return out;
  if (const auto found = of_system->second.find({out.task, out.encoding}); found != of_system->second.end()) out.settings = &found->second;
  return out;
}

}  // namespace longreach::service
