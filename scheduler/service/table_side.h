// The rows or the columns of a results table: one axis (table_axes.h), or several, whose keys and labels stand together in one. Pure.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "longreach/v1/api.pb.h"
#include "proto/base/status.h"
#include "scheduler/service/table_axes.h"

namespace longreach::service {

class TableSide {
 public:
  TableSide() = default;
  // As TableSpec names them. INVALID_ARGUMENT, of `field`: an axis is unknown, or there twice.
  static absl::StatusOr<TableSide> Of(std::string_view field, const std::string& axes);

  const std::vector<std::string>& axes() const { return axes_; }
  bool Has(std::string_view axis) const;
  // It is this axis alone.
  bool Is(std::string_view axis) const { return axes_.size() == 1 && axes_.front() == axis; }
  // Some axis is of values rather than of jobs.
  bool IsOfValues() const;

  std::string KeyOf(const TableJob& job) const;
  // What a key has on one of the axes.
  std::string KeyOn(std::string_view axis, const std::string& key) const;
  // What of a key is of jobs rather than of their values.
  std::string JobsKeyOf(const std::string& key) const;
  bool SameKey(const TableJob& a, const TableJob& b) const;
  // By the first axis, then by the next. `order` names values of any of them: each axis has its own in that order.
  std::vector<std::string> InOrder(const std::set<std::string>& keys, const google::protobuf::RepeatedPtrField<std::string>& order) const;
  v1::TableAxisEntry EntryOf(const std::string& key) const;

 private:
  std::vector<std::string> axes_;
};

}  // namespace longreach::service
