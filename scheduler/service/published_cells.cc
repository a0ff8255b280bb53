#include "scheduler/service/published_cells.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "proto/base/text.h"
#include "proto/catalog/encoding_name.h"
#include "proto/types/axis_list.h"
#include "scheduler/service/table_axes.h"

namespace longreach::service {
namespace {

// The header's last field, which is also the name of what a published table holds: "accuracy_percent".
std::string_view QuantityOf(const catalog::File& file) {
  const std::string_view header = Trim(file.text.substr(0, file.text.find('\n')));
  return header.substr(header.rfind(',') + 1);
}

// Values of some slices or lengths alone are not those that were published.
bool IsOfSomeValues(const v1::TableSpec& spec) {
  return !spec.slice().empty() || std::ranges::any_of(spec.only(), [&spec](const std::string& only) {
           const std::string axis = only.substr(0, only.find('='));
           return IsOfValues(axis) && !HasAxis(spec.rows(), axis) && !HasAxis(spec.columns(), axis);
         });
}

}  // namespace

absl::StatusOr<PublishedCells> PublishedCells::Of(const v1::TableSpec& spec) {
  PublishedCells cells;
  if (spec.published().empty()) return cells;
  const catalog::File* file = catalog::FindPublishedTable(spec.published());
  if (file == nullptr) {
    std::vector<std::string> names;
    for (const catalog::File& known : catalog::PublishedTables()) names.emplace_back(known.name);
    return RefuseWord("table.published", "published table", spec.published(), names);
  }
  const std::string_view quantity = QuantityOf(*file);
  if (!quantity.starts_with(spec.metric())) {
    return absl::InvalidArgumentError(fmt::format("table.published: '{}' holds {}, not {}; leave it out, or ask for that metric",
                                                  spec.published(), quantity, spec.metric()));
  }
  std::vector<catalog::PublishedValue> values = catalog::PublishedValues(spec.published());
  if (values.empty() || IsOfSomeValues(spec)) return cells;
  for (const auto& [name, key] : values.front().keys) cells.names_.push_back(name);
  const auto has = [&cells](std::string_view name) { return std::ranges::find(cells.names_, name) != cells.names_.end(); };
  cells.rows_ = AxesIn(spec.rows());
  cells.columns_ = AxesIn(spec.columns());
  for (const std::vector<std::string>& axes : {cells.rows_, cells.columns_}) {
    // A published table without tasks is of one alone.
    if (std::ranges::any_of(axes, [&has](const std::string& axis) { return axis != "task" && !has(axis); })) return PublishedCells();
  }
  // One without lengths is over all of them.
  if (!has("length") && spec.length() != 0) return PublishedCells();
  cells.length_ = std::to_string(spec.length());
  for (catalog::PublishedValue& value : values) {
    std::vector<std::string> keys;
    for (const auto& [name, key] : value.keys) keys.push_back(key);
    cells.values_.emplace(std::move(keys), std::move(value));
  }
  return cells;
}

std::string PublishedCells::KeyOf(std::string_view name, const std::vector<std::string>& row, const std::vector<std::string>& column, const std::string& data) const {
  if (const auto found = std::ranges::find(rows_, name); found != rows_.end()) return row[static_cast<size_t>(found - rows_.begin())];
  if (const auto found = std::ranges::find(columns_, name); found != columns_.end()) return column[static_cast<size_t>(found - columns_.begin())];
  if (name == "data") return data;
  if (name == "length") return length_;
  return catalog::FindSliceAxis(name) != nullptr ? std::string(catalog::kWholeSlice) : std::string();
}

const catalog::PublishedValue* PublishedCells::Find(const std::string& row, const std::string& column, const std::string& data) const {
  if (values_.empty()) return nullptr;
  const std::vector<std::string> of_row = SplitKeys(row, rows_.size()), of_column = SplitKeys(column, columns_.size());
  std::vector<std::string> keys;
  for (const std::string& name : names_) keys.push_back(KeyOf(name, of_row, of_column, data));
  const auto found = values_.find(keys);
  return found == values_.end() ? nullptr : &found->second;
}

std::set<std::string> PublishedCells::Rows() const {
  std::set<std::string> rows;
  if (rows_.size() != 1) return rows;
  const auto name = std::ranges::find(names_, rows_.front());
  if (name == names_.end()) return rows;
  for (const auto& [keys, value] : values_) rows.insert(keys[static_cast<size_t>(name - names_.begin())]);
  return rows;
}

std::set<std::vector<std::string>> PublishedCells::KeysOn(const std::vector<std::string>& axes) const {
  std::vector<size_t> at;
  for (const std::string& axis : axes) {
    const auto name = std::ranges::find(names_, axis);
    if (name == names_.end()) return {};
    at.push_back(static_cast<size_t>(name - names_.begin()));
  }
  std::set<std::vector<std::string>> all;
  for (const auto& [keys, value] : values_) {
    std::vector<std::string> some;
    for (const size_t place : at) some.push_back(keys[place]);
    all.insert(std::move(some));
  }
  return all;
}

int PublishedCells::RandomizedPairs() const {
  const auto encoding = std::ranges::find(names_, "encoding");
  if (encoding == names_.end()) return 0;
  const auto at = static_cast<size_t>(encoding - names_.begin());
  int pairs = 0;
  for (const auto& [keys, value] : values_) {
    std::vector<std::string> randomized = keys;
    randomized[at] = catalog::ToText({.name = randomized[at], .randomized = true});
    pairs += values_.contains(randomized) ? 1 : 0;
  }
  return pairs;
}

}  // namespace longreach::service
