#include "client/commands/system_settings.h"

#include <algorithm>

#include "client/commands/only.h"
#include "client/commands/tables.h"

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
    table.set_rows("system");
    table.set_columns(path);
    absl::StatusOr<v1::Table> found = FetchTable(connection, sweep.id(), table);
    // Hundreds of systems, each with a value of its own, are more than a table holds. They do say it themselves.
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
    learnt_[table.rows(i / table.columns_size()).key()].insert_or_assign(path, table.columns(i % table.columns_size()).key());
  }
}

const std::string* SystemSettings::Learnt(const v1::System& system, const std::string& path) const {
  const auto of_system = learnt_.find(system.name());
  if (of_system == learnt_.end()) return nullptr;
  const auto found = of_system->second.find(path);
  return found == of_system->second.end() ? nullptr : &found->second;
}

std::string SystemSettings::Of(const v1::System& system, const std::string& path) const {
  if (const std::string* learnt = Learnt(system, path)) return *learnt;
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
  if (value.empty() && Learnt(system, path) == nullptr) return true;
  return asked.Has(ValueOfJobs(path, value));
}

}  // namespace longreach::client
