#include "client/commands/system_settings.h"

#include <fmt/format.h>

#include <algorithm>

#include "client/commands/only.h"
#include "client/commands/tables.h"
#include "proto/types/axis_list.h"

namespace longreach::client {

absl::StatusOr<SystemSettings> SystemSettings::Fetch(Connection& connection, const v1::Sweep& sweep, const std::vector<std::string>& others) {
  SystemSettings settings(sweep.spec());
  if (sweep.spec().systems().empty()) return settings;
  std::set<std::string> paths(others.begin(), others.end());
  for (const std::string& path : SettingPaths()) {
    const auto sets = [&path](const v1::System& system) { return !SettingOf(system.with(), path).empty(); };
    if (std::ranges::any_of(sweep.spec().systems(), sets)) paths.insert(path);
  }
  for (const std::string& path : paths) {
    if (!IsSettingPath(path)) continue;
    v1::TableSpec table;
    // Values are rows: as columns they would be mostly empty, where each of many systems has one of its own.
    table.set_rows(fmt::format("system,task,{}", path));
    table.set_columns("encoding");
    absl::StatusOr<v1::Table> found = FetchTable(connection, sweep.id(), table);
    // More systems, tasks and encodings than a table holds. Systems do say themselves what they set.
    if (found.status().code() == absl::StatusCode::kResourceExhausted) continue;
    RETURN_IF_ERROR(found.status());
    settings.Learn(path, *found);
  }
  return settings;
}

absl::StatusOr<SystemSettings> SystemSettings::FetchFor(Connection& connection, const v1::Sweep& sweep, const std::vector<std::string>& shown,
                                                        const std::vector<std::string>& only) {
  std::vector<std::string> axes = shown;
  const Only asked(only);
  for (const auto& [axis, choice] : asked.choices()) axes.push_back(axis);
  std::erase_if(axes, [](const std::string& axis) { return !IsSettingPath(axis); });
  if (axes.empty()) return SystemSettings(sweep.spec());
  return Fetch(connection, sweep, axes);
}

void SystemSettings::Learn(const std::string& path, const v1::Table& table) {
  for (int i = 0; i < table.cells_size(); ++i) {
    if (table.cells(i).jobs() == 0) continue;
    const std::vector<std::string> row = SplitKeys(table.rows(i / table.columns_size()).key(), 3);  // System, task, value.
    Values& values = learnt_[{row[0], path}];
    values.of.insert_or_assign({row[1], table.columns(i % table.columns_size()).key()}, row[2]);
    if (values.first.empty()) values.first = row[2];
  }
}

const SystemSettings::Values* SystemSettings::Learnt(const std::string& system, const std::string& path) const {
  const auto found = learnt_.find({system, path});
  return found == learnt_.end() ? nullptr : &found->second;
}

std::string SystemSettings::OfJob(const v1::Job& job, const std::string& path) const {
  const Values* learnt = job.systems().empty() ? nullptr : Learnt(job.systems(0), path);
  if (learnt == nullptr) return "";
  const auto found = learnt->of.find({job.task(), job.encoding()});
  return found == learnt->of.end() ? std::string() : found->second;
}

std::string SystemSettings::Of(const v1::System& system, const std::string& path) const {
  if (const Values* learnt = Learnt(system.name(), path)) return learnt->first;
  std::string own = SettingOf(system.with(), path);
  return own.empty() ? SettingOf(spec_, path) : own;
}

std::set<std::string> SystemSettings::AllOf(const std::string& path) const {
  std::set<std::string> all;
  for (const v1::System& system : spec_.systems()) {
    if (std::string value = ValueOfJobs(path, Of(system, path)); !value.empty()) all.insert(std::move(value));
  }
  return all;
}

bool SystemSettings::MayBe(const v1::System& system, const AxisChoice& asked) const {
  const std::string& path = asked.axis();
  const std::string value = Of(system, path);
  if (value.empty() && Learnt(system.name(), path) == nullptr) return true;
  return asked.Has(ValueOfJobs(path, value));
}

}  // namespace longreach::client
