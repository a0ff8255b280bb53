#include "client/commands/varying_settings.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "proto/base/text.h"
#include "proto/types/settings.h"

namespace longreach::client {
namespace {

// What is said nowhere is a default, which the scheduler knows: it may be meant.
bool MayBe(const std::string& value, const std::string& asked) {
  const std::optional<double> number = ParseDouble(asked);
  return value.empty() || value == asked || (number && ParseDouble(value) == number);
}

std::vector<const v1::System*> SystemsLeft(const v1::SweepSpec& spec, const std::vector<std::string>& only) {
  std::vector<const v1::System*> left;
  for (const v1::System& system : spec.systems()) left.push_back(&system);
  for (const std::string& one : only) {
    const size_t equals = one.find('=');
    const std::string axis = one.substr(0, equals);
    if (equals == std::string::npos || (axis != "system" && !IsSettingPath(axis))) continue;
    const std::vector<std::string> asked = Split(std::string_view(one).substr(equals + 1), ',');
    std::erase_if(left, [&](const v1::System* system) {
      const std::string value = axis == "system" ? system->name() : SettingOfSystem(spec, *system, axis);
      return std::ranges::none_of(asked, [&value](const std::string& word) { return MayBe(value, word); });
    });
  }
  return left;
}

std::vector<std::string> Differing(const v1::SweepSpec& spec, const std::vector<const v1::System*>& systems) {
  std::vector<std::string> paths;
  for (const std::string& path : SettingPaths()) {
    std::set<std::string> values;
    for (const v1::System* system : systems) values.insert(SettingOfSystem(spec, *system, path));
    if (values.size() > 1) paths.push_back(path);
  }
  return paths;
}

}  // namespace

std::string SettingOfSystem(const v1::SweepSpec& spec, const v1::System& system, const std::string& path) {
  std::string own = SettingOf(system.with(), path);
  return own.empty() ? SettingOf(spec, path) : own;
}

std::vector<std::string> VaryingSettings(const v1::SweepSpec& spec, const std::vector<std::string>& only) {
  return Differing(spec, SystemsLeft(spec, only));
}

std::vector<std::string> AggregatedSystems(const v1::SweepSpec& spec, const std::vector<std::string>& shown, const std::vector<std::string>& only) {
  if (std::ranges::find(shown, "system") != shown.end()) return {};
  std::map<std::vector<std::string>, std::vector<const v1::System*>> together;
  for (const v1::System* system : SystemsLeft(spec, only)) {
    std::vector<std::string> place;
    for (const std::string& axis : shown) place.push_back(IsSettingPath(axis) ? SettingOfSystem(spec, *system, axis) : "");
    together[place].push_back(system);
  }
  std::set<std::string> names;
  for (const auto& [place, systems] : together) {
    if (systems.size() < 2) continue;
    const std::vector<std::string> differing = Differing(spec, systems);
    names.insert(differing.begin(), differing.end());
    size_t values = 1;
    for (const std::string& path : differing) {
      std::set<std::string> of_path;
      for (const v1::System* system : systems) of_path.insert(SettingOfSystem(spec, *system, path));
      values *= of_path.size();
    }
    // More than a grid of them has: they differ in something else as well.
    if (systems.size() > values || std::ranges::none_of(shown, IsSettingPath)) return {"systems"};
  }
  return {names.begin(), names.end()};
}

}  // namespace longreach::client
