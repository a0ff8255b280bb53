#include "scheduler/service/table_axes.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "proto/base/name_order.h"
#include "proto/base/text.h"
#include "proto/catalog/axes.h"
#include "proto/catalog/catalog.h"
#include "proto/catalog/encoding_name.h"
#include "proto/types/meant_name.h"
#include "proto/types/words.h"

namespace longreach::service {
namespace {

using Words = std::vector<std::pair<std::string, double>>;

// What the keys of an axis are sorted by: tasks by level, encodings plain before randomized, numbers by size, systems by the numbers in their
// names.
std::tuple<double, Words, std::string> RankOf(std::string_view axis, const std::string& key) {
  if (axis == "task") {
    const catalog::Task* task = catalog::FindTask(key);
    // Tasks outside of the hierarchy come last.
    const bool has_level = task != nullptr && task->level != catalog::Level::kNone;
    return {has_level ? static_cast<double>(task->level) : 1e9, {}, key};
  }
  if (axis == "encoding") return {catalog::IsRandomized(key) ? 1.0 : 0.0, {}, key};
  if (axis == "system") return {0.0, NumberedWords(key), key};
  return {ParseDouble(key).value_or(0), {}, key};
}

// The last word of a setting's path; all of it where that is an axis itself, or ends other paths too: "evaluation.seed 5".
std::string_view ShortNameOf(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('.') + 1);
  const auto ends_so = [name](const std::string& one) { return one == name || (one.ends_with(name) && one[one.size() - name.size() - 1] == '.'); };
  const bool axis = std::ranges::any_of(catalog::TableAxes(), ends_so);
  return axis || std::ranges::count_if(SettingPaths(), ends_so) > 1 ? path : name;
}

}  // namespace

bool IsOfValues(std::string_view axis) { return axis == "length" || catalog::FindSliceAxis(axis) != nullptr; }

absl::Status CheckAxis(std::string_view field, const std::string& axis, const std::vector<std::string>& known) {
  if (IsSettingPath(axis) || std::ranges::find(known, axis) != known.end()) return absl::OkStatus();
  if (axis.find('.') != std::string::npos) {
    if (NamesSettingGroup(axis)) return RefuseWord(field, "setting", axis, SettingPathsNear(axis));
    const std::string closest = ClosestWord(axis, SettingPaths());
    return absl::InvalidArgumentError(fmt::format("{}: unknown setting '{}'\n  {}{}", field, axis, closest.empty() ? "" : fmt::format("did you mean '{}'? ", closest), WhereSettingsAre()));
  }
  const std::vector<std::string> meant = AxesMeant(axis, known);
  return absl::InvalidArgumentError(fmt::format("{}: unknown axis '{}'\n  {}known are {}, or a setting by its path, as model.layers", field, axis,
                                                meant.empty() ? "" : fmt::format("did you mean '{}'? ", Join(meant, "' or '")), Join(known, ", ")));
}

std::string KeyOf(const TableJob& job, std::string_view axis) {
  if (axis == "task") return job.task;
  if (axis == "encoding") return job.encoding;
  if (axis == "system") return job.system;
  if (axis == "learning_rate") return ShortestNumber(job.learning_rate);
  if (axis == "length") return std::to_string(job.length);
  if (axis == "seed") return std::to_string(job.seed);
  if (IsSettingPath(axis)) {
    if (job.settings == nullptr) return "";
    const auto setting = job.settings->find(axis);
    return setting == job.settings->end() ? std::string() : setting->second;
  }
  const auto found = job.slice.find(axis);
  return found == job.slice.end() ? std::string(catalog::kWholeSlice) : found->second;
}

bool SameKey(const TableJob& a, const TableJob& b, std::string_view axis) {
  if (axis == "task") return a.task == b.task;
  if (axis == "encoding") return a.encoding == b.encoding;
  if (axis == "system") return a.system == b.system;
  if (axis == "learning_rate") return a.learning_rate == b.learning_rate;
  if (axis == "length") return a.length == b.length;
  if (axis == "seed") return a.seed == b.seed;
  if (a.settings == b.settings && IsSettingPath(axis)) return true;
  return KeyOf(a, axis) == KeyOf(b, axis);
}

std::vector<std::string> InOrder(std::string_view axis, const std::set<std::string>& keys,
                                 const google::protobuf::RepeatedPtrField<std::string>& order) {
  std::vector<std::string> listed;
  for (const std::string& key : order) {
    if (keys.contains(key)) listed.push_back(key);
  }
  std::vector<std::string> rest;
  for (const std::string& key : keys) {
    if (std::ranges::find(listed, key) == listed.end()) rest.push_back(key);
  }
  std::ranges::sort(rest, {}, [&](const std::string& key) { return RankOf(axis, key); });
  listed.insert(listed.end(), rest.begin(), rest.end());
  return listed;
}

std::string ShownKey(const std::string& key) { return key.empty() ? "not set" : key; }

v1::TableAxisEntry EntryOf(std::string_view axis, const std::string& key) {
  v1::TableAxisEntry entry;
  entry.set_key(key);
  entry.set_label(key);
  if (axis == "task") {
    if (const catalog::DataTask* task = catalog::FindDataTask(key)) entry.set_label(std::string(task->label));
    if (const catalog::Task* task = catalog::FindTask(key)) {
      entry.set_label(std::string(task->label));
      entry.set_group(std::string(catalog::Abbreviation(task->level)));
      if (task->permutation_invariant) entry.set_mark("permutation_invariant");
    }
  } else if (axis == "encoding") {
    const std::optional<EncodingName> name = ParseEncodingName(key);
    const catalog::Encoding* encoding = name ? catalog::FindEncoding(name->name) : nullptr;
    if (encoding != nullptr) entry.set_label(fmt::format("{}{}", name->randomized ? "Randomized " : "", encoding->label));
  } else if (IsSettingPath(axis)) {
    entry.set_label(fmt::format("{} {}", ShortNameOf(axis), ShownKey(key)));
  } else if (axis == "seed") {
    entry.set_label("seed " + key);
  } else if (axis == "length") {
    entry.set_label("length " + key);
  } else if (const catalog::SliceAxis* slice = catalog::FindSliceAxis(axis); slice != nullptr && !slice->label.empty()) {
    entry.set_label(key == catalog::kWholeSlice ? key : fmt::format("{} {}", slice->label, key));
  }
  return entry;
}

absl::Status RefuseWord(std::string_view field, std::string_view what, std::string_view value, const std::vector<std::string>& known) {
  // Between numbers, and their ranges, nothing is near enough to be meant.
  const std::string meant = ParseDouble(value) || value.find("..") != std::string_view::npos ? std::string() : MeantName(what, value, known);
  // Of thousands of seeds or steps the first say what they look like.
  constexpr size_t kNamed = 40;
  const std::vector<std::string> named(known.begin(), known.begin() + static_cast<ptrdiff_t>(std::min(known.size(), kNamed)));
  return absl::InvalidArgumentError(fmt::format("{}: unknown {} '{}'\n  {}{}known are {}{}", field, what, value, meant, meant.empty() ? "" : " ", Join(named, ", "),
                                                known.size() > kNamed ? fmt::format(", and {} more", known.size() - kNamed) : ""));
}

}  // namespace longreach::service
