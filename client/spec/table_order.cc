#include "client/spec/table_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <string_view>
#include <utility>

#include "client/errors.h"
#include "client/output/text.h"
#include "client/spec/field_parser.h"
#include "proto/base/text.h"
#include "proto/catalog/catalog.h"
#include "proto/types/axis_choice.h"
#include "proto/types/axis_list.h"
#include "proto/types/settings.h"
#include "proto/types/usual_axes.h"

namespace longreach::client {
namespace {

constexpr size_t kMostSystemsNamed = 20;
constexpr std::string_view kDidYouMean = "did you mean";

void AddSystemsOf(const v1::SweepSpec& spec, std::set<std::string>& names) {
  for (const v1::System& system : spec.systems()) names.insert(system.name());
}

// Without any system all may be meant: --set may make some, whose names are not known here.
absl::Status CheckSystemKey(const std::string& key, const std::set<std::string>& systems) {
  if (systems.empty() || systems.contains(key)) return absl::OkStatus();
  const std::vector<std::string> known(systems.begin(), systems.end());
  return UsageError(fmt::format("unknown system '{}'", Printable(key)),
                    JoinHints(DidYouMean(key, known), known.size() > kMostSystemsNamed ? "" : fmt::format("there are: {}", Printable(Join(known, ", ")))));
}

// Tables have each number in one way of writing it.
absl::Status CheckNumberKey(const std::string& axis, const std::string& key) {
  if (const std::string value = ValueOfJobs(axis, key); value != key) {
    return UsageError(fmt::format("'{}' is not as tables have that number", Printable(key)), fmt::format("did you mean '{}'?", value));
  }
  if (catalog::FindSliceAxis(axis) != nullptr || ParseDouble(key)) return absl::OkStatus();
  return UsageError(fmt::format("'{}' is no number, as values of {} are", Printable(key), axis), "list each as tables show it");
}

absl::Status CheckKeyOn(const std::string& axis, const std::string& key, const std::set<std::string>& systems) {
  if (axis == "system") return CheckSystemKey(key, systems);
  if (axis == "task" || axis == "encoding") {
    v1::Axes one;
    return ParseIntoField(key, *v1::Axes::descriptor()->FindFieldByName(axis), one);
  }
  if (IsFlagSetting(axis) && key != "true" && key != "false") {
    return UsageError(fmt::format("'{}' is no value of {}", Printable(key), axis), "it has true and false");
  }
  return IsNumberAxis(axis) ? CheckNumberKey(axis, key) : absl::OkStatus();
}

// OK: the key is a value of one of them.
absl::Status CheckKey(const std::vector<std::string>& axes, const std::string& key, const std::set<std::string>& systems) {
  std::string meant;
  absl::Status refusal;
  for (const std::string& axis : axes) {
    refusal = CheckKeyOn(axis, key, systems);
    if (refusal.ok()) return refusal;
    if (const std::string hint = SplitError(refusal).hint; meant.empty() && hint.starts_with(kDidYouMean)) meant = hint;
  }
  return axes.size() < 2 ? refusal : UsageError(fmt::format("'{}' is a value of none of {}", Printable(key), Join(axes, ", ")), meant);
}

// Of a key of the rows' order that is one of the columns, or the other way round.
std::string HintOfOtherSide(bool of_rows, const std::vector<std::string>& other) {
  return fmt::format("it belongs into '{}': {} are {}", of_rows ? "column_order" : "row_order", of_rows ? "columns" : "rows", Join(other, ", "));
}

// The keys of a list, which stand at the place of this node.
std::vector<std::string> KeysAt(const YamlNode& node, std::string_view name) {
  v1::TableSpec table;
  const google::protobuf::FieldDescriptor& field = *v1::TableSpec::descriptor()->FindFieldByName(std::string(name));
  if (!ParseIntoField(node.text, field, table).ok()) return {};  // Refused by the reader.
  const google::protobuf::Reflection& reflection = *table.GetReflection();
  std::vector<std::string> keys;
  for (int i = 0; i < reflection.FieldSize(table, &field); ++i) keys.push_back(reflection.GetRepeatedString(table, &field, i));
  return keys;
}

}  // namespace

absl::Status CheckTableOrder(const YamlTree& tree, const YamlNode& node, const v1::TableSpec& table, v1::SweepSpec spec, const FieldGrid& grid) {
  std::set<std::string> systems;  // The file's own, and those that its grid makes of them.
  AddSystemsOf(spec, systems);
  if (!CrossGrid(grid, spec).ok()) return absl::OkStatus();  // What is wrong with it is told once --set has had its say.
  AddSystemsOf(spec, systems);
  v1::TableSpec full = table;
  SetUsualAxes(spec, full);
  const std::vector<std::string> rows = AxesIn(full.rows()), columns = AxesIn(full.columns());
  for (const YamlNode::Entry& entry : node.entries) {
    const bool of_rows = entry.key == "row_order";
    if (!of_rows && entry.key != "column_order") continue;
    const std::vector<std::string>&own = of_rows ? rows : columns, &other = of_rows ? columns : rows;
    const auto check = [&](const YamlNode& at) {
      for (const std::string& key : KeysAt(at, entry.key)) {
        // Columns of other jobs come last, wherever they are listed.
        if (!of_rows && std::ranges::any_of(table.extra_columns(), [&key](const v1::ExtraColumn& extra) { return extra.key() == key; })) continue;
        const absl::Status status = CheckKey(own, key, systems);
        if (status.ok()) continue;
        const auto [message, hint] = SplitError(status);
        const bool is_of_other = !hint.starts_with(kDidYouMean) && CheckKey(other, key, systems).ok();
        return tree.ErrorAt(at.place, fmt::format("table.{}: {}", entry.key, message), is_of_other ? HintOfOtherSide(of_rows, other) : hint);
      }
      return absl::OkStatus();
    };
    const YamlNode& list = tree.node(entry.value);
    if (list.kind != YamlNode::Kind::kSequence) RETURN_IF_ERROR(check(list));
    for (const int item : list.items) RETURN_IF_ERROR(check(tree.node(item)));
  }
  return absl::OkStatus();
}

void ListCrossedSystems(const std::vector<std::string>& before, const v1::SweepSpec& crossed, v1::TableSpec& table) {
  if (before.empty()) return;
  const size_t each = static_cast<size_t>(crossed.systems_size()) / before.size();
  const auto expand = [&](google::protobuf::RepeatedPtrField<std::string>& keys) {
    google::protobuf::RepeatedPtrField<std::string> expanded;
    for (const std::string& key : keys) {
      const auto place = static_cast<size_t>(std::ranges::find(before, key) - before.begin());
      if (place == before.size()) *expanded.Add() = key;
      for (size_t i = place * each; i < (place + 1) * each && place < before.size(); ++i) *expanded.Add() = crossed.systems(static_cast<int>(i)).name();
    }
    keys.Swap(&expanded);
  };
  expand(*table.mutable_row_order());
  expand(*table.mutable_column_order());
}

}  // namespace longreach::client
