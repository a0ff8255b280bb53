#include "client/commands/known_values.h"

#include <algorithm>
#include <set>
#include <utility>

#include "client/commands/paired_values.h"
#include "client/commands/varying_settings.h"

namespace longreach::client {

std::vector<ValuesOfAxis> KnownValues(const SystemSettings& settings) {
  std::vector<ValuesOfAxis> known;
  const auto add = [&known](std::string axis, std::set<std::string> values) {
    values.erase("");  // The system of a sweep without systems.
    if (values.empty()) return;
    std::vector<std::string> sorted(values.begin(), values.end());
    std::ranges::sort(sorted, IsValueBefore);
    known.push_back({.axis = std::move(axis), .values = std::move(sorted)});
  };
  const SweepValues of_sweep(settings.spec(), {});
  for (const std::string_view axis : kPairAxes) add(std::string(axis), of_sweep.axes()[PlaceOf(axis)]);
  for (const std::string& path : VaryingSettings(settings)) add(path, settings.AllOf(path));
  return known;
}

}  // namespace longreach::client
