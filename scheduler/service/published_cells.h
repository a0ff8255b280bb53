// A published table beside a measured one: which of its values belongs to a cell. Pure.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "longreach/v1/api.pb.h"
#include "proto/base/status.h"
#include "proto/catalog/catalog.h"

namespace longreach::service {

class PublishedCells {
 public:
  PublishedCells() = default;
  // Of spec.published(), without which there is none. `spec` is complete. INVALID_ARGUMENT: an unknown table, or one of another metric.
  static absl::StatusOr<PublishedCells> Of(const v1::TableSpec& spec);

  // `data` is that of the cell's jobs; empty where they have none, or not the same. nullptr: nothing was published for this cell.
  const catalog::PublishedValue* Find(const std::string& row, const std::string& column, const std::string& data) const;

  // Ascending: the rows of the measured table that have published values. Of several axes none.
  std::set<std::string> Rows() const;

  // What its values have on these axes, each combination once, keys in the order of the axes. None: it lacks an axis, or nothing was published for this table.
  std::set<std::vector<std::string>> KeysOn(const std::vector<std::string>& axes) const;

  // How many pairs of a randomized encoding and the same without it have published values, in the whole table.
  int RandomizedPairs() const;

 private:
  // What the table's column `name` must have for a cell.
  std::string KeyOf(std::string_view name, const std::vector<std::string>& row, const std::vector<std::string>& column, const std::string& data) const;

  std::vector<std::string> rows_;     // Their axes,
  std::vector<std::string> columns_;  // and theirs.
  std::string length_;
  std::vector<std::string> names_;                                       // The columns that values are looked up by.
  std::map<std::vector<std::string>, catalog::PublishedValue> values_;  // By their keys.
};

}  // namespace longreach::service
