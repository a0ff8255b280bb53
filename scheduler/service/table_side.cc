#include "scheduler/service/table_side.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "proto/base/text.h"
#include "proto/catalog/axes.h"
#include "proto/types/axis_list.h"

namespace longreach::service {

absl::StatusOr<TableSide> TableSide::Of(std::string_view field, const std::string& axes) {
  TableSide side;
  for (const std::string& axis : AxesIn(axes)) {
    if (axis.empty()) return absl::InvalidArgumentError(fmt::format("{}: '{}' lacks an axis beside a ','; write task,system", field, axes));
    RETURN_IF_ERROR(CheckAxis(field, axis, catalog::TableAxes()));
    if (side.Has(axis)) return absl::InvalidArgumentError(fmt::format("{}: '{}' is there twice; name each axis once", field, axis));
    side.axes_.push_back(axis);
  }
  return side;
}

bool TableSide::Has(std::string_view axis) const { return std::ranges::find(axes_, axis) != axes_.end(); }

bool TableSide::IsOfValues() const {
  return std::ranges::any_of(axes_, [](const std::string& axis) { return service::IsOfValues(axis); });
}

std::string TableSide::KeyOf(const TableJob& job) const {
  if (axes_.size() == 1) return service::KeyOf(job, axes_.front());
  std::vector<std::string> keys;
  for (const std::string& axis : axes_) keys.push_back(service::KeyOf(job, axis));
  return JoinKeys(keys);
}

std::string TableSide::KeyOn(std::string_view axis, const std::string& key) const {
  const auto found = std::ranges::find(axes_, axis);
  return found == axes_.end() ? std::string() : SplitKeys(key, axes_.size())[static_cast<size_t>(found - axes_.begin())];
}

std::string TableSide::JobsKeyOf(const std::string& key) const {
  std::vector<std::string> keys = SplitKeys(key, axes_.size());
  for (size_t i = 0; i < axes_.size(); ++i) {
    if (service::IsOfValues(axes_[i])) keys[i].clear();
  }
  return JoinKeys(keys);
}

bool TableSide::SameKey(const TableJob& a, const TableJob& b) const {
  return std::ranges::all_of(axes_, [&](const std::string& axis) { return service::SameKey(a, b, axis); });
}

std::vector<std::string> TableSide::InOrder(const std::set<std::string>& keys, const google::protobuf::RepeatedPtrField<std::string>& order) const {
  if (axes_.size() == 1) return service::InOrder(axes_.front(), keys, order);
  std::vector<std::pair<std::vector<size_t>, std::string>> ranked;
  for (const std::string& key : keys) ranked.emplace_back(std::vector<size_t>(), key);
  for (size_t i = 0; i < axes_.size(); ++i) {
    std::set<std::string> of_axis;
    for (const auto& [ranks, key] : ranked) of_axis.insert(SplitKeys(key, axes_.size())[i]);
    std::map<std::string, size_t> rank_of;
    for (const std::string& one : service::InOrder(axes_[i], of_axis, order)) rank_of.emplace(one, rank_of.size());
    for (auto& [ranks, key] : ranked) ranks.push_back(rank_of.at(SplitKeys(key, axes_.size())[i]));
  }
  std::ranges::sort(ranked);
  std::vector<std::string> sorted;
  for (auto& [ranks, key] : ranked) sorted.push_back(std::move(key));
  return sorted;
}

v1::TableAxisEntry TableSide::EntryOf(const std::string& key) const {
  if (axes_.size() == 1) return service::EntryOf(axes_.front(), key);
  v1::TableAxisEntry whole;
  std::vector<std::string> labels;
  const std::vector<std::string> keys = SplitKeys(key, axes_.size());
  for (size_t i = 0; i < axes_.size(); ++i) {
    const v1::TableAxisEntry entry = service::EntryOf(axes_[i], keys[i]);
    labels.push_back(entry.label());
    // Those of a group stand together where the groups are of the first axis.
    if (i == 0) whole.set_group(entry.group());
    if (!entry.mark().empty()) whole.set_mark(entry.mark());
  }
  whole.set_key(key);
  whole.set_label(Join(labels, ", "));
  return whole;
}

}  // namespace longreach::service
