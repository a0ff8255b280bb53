#include "client/commands/varying_settings.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "client/commands/only.h"
#include "proto/base/text.h"
#include "proto/types/settings.h"

namespace longreach::client {
namespace {

struct JobAxis {
  std::string_view name;
  std::string_view plural;
};
constexpr std::array<JobAxis, 4> kJobAxes = {{{"seed", "seeds"}, {"learning_rate", "learning rates"}, {"encoding", "encodings"}, {"task", "tasks"}}};

// The jobs of a system, or of a sweep that has none.
struct Part {
  const v1::System* system = nullptr;
  std::array<std::vector<std::string>, kJobAxes.size()> values = {};  // Of each of kJobAxes, as far as they are asked for.
};

// nullopt: `only` leaves none of its jobs.
std::optional<Part> PartOf(const SystemSettings& settings, const v1::System* system, const Only& only) {
  Part part{.system = system};
  const v1::Axes axes = system == nullptr ? settings.spec().axes() : AxesOf(settings.spec(), *system);
  for (size_t i = 0; i < kJobAxes.size(); ++i) {
    std::vector<std::string>& values = part.values[i] = ValuesOf(axes, kJobAxes[i].name);
    if (values.empty()) continue;
    std::erase_if(values, [&](const std::string& value) { return !only.Admits(kJobAxes[i].name, value); });
    if (values.empty()) return std::nullopt;
  }
  if (system == nullptr) return part;
  if (!only.Admits("system", system->name())) return std::nullopt;
  for (const auto& [axis, choice] : only.choices()) {
    if (IsSettingPath(axis) && !settings.MayBe(*system, choice)) return std::nullopt;
  }
  return part;
}

std::vector<Part> PartsLeft(const SystemSettings& settings, const std::vector<std::string>& texts) {
  const Only only(texts);
  std::vector<const v1::System*> systems;
  for (const v1::System& system : settings.spec().systems()) systems.push_back(&system);
  if (systems.empty()) systems.push_back(nullptr);
  std::vector<Part> parts;
  for (const v1::System* system : systems) {
    if (std::optional<Part> part = PartOf(settings, system, only)) parts.push_back(*std::move(part));
  }
  return parts;
}

using Parts = std::vector<const Part*>;

// By path: those in which the systems differ, with how many values there are.
std::map<std::string, size_t> Differing(const SystemSettings& settings, const Parts& parts) {
  std::map<std::string, size_t> differing;
  for (const std::string& path : SettingPaths()) {
    std::set<std::string> values;
    for (const Part* part : parts) {
      if (part->system != nullptr) values.insert(settings.Of(*part->system, path));
    }
    if (values.size() > 1) differing.emplace(path, values.size());
  }
  return differing;
}

size_t Combinations(const std::map<std::string, size_t>& differing) {
  size_t all = 1;
  for (const auto& [path, values] : differing) all *= values;
  return all;
}

// What a system has of its own beside single settings, and those of its axes that are not `shown`.
std::string BesideSettings(const Part& part, const std::vector<std::string>& shown) {
  if (part.system == nullptr) return "";
  v1::SweepSpec with = part.system->with();
  ClearSettings(with);
  with.clear_axes();
  std::string text = with.SerializeAsString();
  for (size_t i = 0; i < kJobAxes.size(); ++i) {
    if (std::ranges::find(shown, kJobAxes[i].name) == shown.end()) text += "\n" + Join(part.values[i], ",");
  }
  return text;
}

bool DifferBesideSettings(const Parts& parts, const std::vector<std::string>& shown) {
  const std::string first = BesideSettings(*parts.front(), shown);
  return std::ranges::any_of(parts, [&](const Part* part) { return BesideSettings(*part, shown) != first; });
}

using ShownPlace = std::vector<std::string>;

// Where its jobs have their values: at each combination of its values on the axes that are shown.
std::vector<ShownPlace> PlacesOf(const SystemSettings& settings, const Part& part, const std::vector<std::string>& shown) {
  std::vector<ShownPlace> places = {{}};
  for (const std::string& axis : shown) {
    std::vector<std::string> values = {""};
    if (part.system != nullptr && axis == "system") values = {part.system->name()};
    if (part.system != nullptr && IsSettingPath(axis)) values = {settings.Of(*part.system, axis)};
    for (size_t i = 0; i < kJobAxes.size(); ++i) {
      if (axis == kJobAxes[i].name && !part.values[i].empty()) values = part.values[i];
    }
    std::vector<ShownPlace> longer;
    for (const ShownPlace& place : places) {
      for (const std::string& value : values) longer.emplace_back(place).push_back(value);
    }
    places = std::move(longer);
  }
  return places;
}

Parts PointersTo(const std::vector<Part>& parts) {
  Parts pointers;
  for (const Part& part : parts) pointers.push_back(&part);
  return pointers;
}

}  // namespace

std::vector<std::string> VaryingSettings(const SystemSettings& settings, const std::vector<std::string>& only) {
  const std::vector<Part> parts = PartsLeft(settings, only);
  std::vector<std::string> paths;
  for (const auto& [path, values] : Differing(settings, PointersTo(parts))) paths.push_back(path);
  return paths;
}

bool IsGridOfSettings(const SystemSettings& settings, const std::vector<std::string>& only) {
  const std::vector<Part> parts = PartsLeft(settings, only);
  const Parts all = PointersTo(parts);
  return !all.empty() && all.size() == Combinations(Differing(settings, all)) && !DifferBesideSettings(all, {});
}

std::vector<std::string> AggregatedAxes(const SystemSettings& settings, const std::vector<std::string>& shown, const std::vector<std::string>& only) {
  const std::vector<Part> parts = PartsLeft(settings, only);
  std::map<ShownPlace, Parts> together;
  for (const Part& part : parts) {
    for (const ShownPlace& place : PlacesOf(settings, part, shown)) together[place].push_back(&part);
  }
  std::array<bool, kJobAxes.size()> several = {};
  std::set<std::string> paths;
  bool other = false;
  std::set<Parts> seen;  // Places mostly have the systems of others.
  for (const auto& [place, of_place] : together) {
    if (!seen.insert(of_place).second) continue;
    for (size_t i = 0; i < kJobAxes.size(); ++i) {
      if (std::ranges::find(shown, kJobAxes[i].name) != shown.end()) continue;
      std::set<std::string> values;
      for (const Part* part : of_place) values.insert(part->values[i].begin(), part->values[i].end());
      several[i] = several[i] || values.size() > 1;
    }
    if (of_place.size() < 2) continue;
    const std::map<std::string, size_t> differing = Differing(settings, of_place);
    for (const auto& [path, values] : differing) paths.insert(path);
    // More of them than a grid has differ in something else as well. Where no setting is shown, systems are what a reader thinks of.
    other = other || of_place.size() > Combinations(differing) || std::ranges::none_of(shown, IsSettingPath) || DifferBesideSettings(of_place, shown);
  }
  std::vector<std::string> axes;
  for (size_t i = 0; i < kJobAxes.size(); ++i) {
    if (several[i]) axes.emplace_back(kJobAxes[i].plural);
  }
  if (other) axes.emplace_back("systems");
  else axes.insert(axes.end(), paths.begin(), paths.end());
  return axes;
}

}  // namespace longreach::client
