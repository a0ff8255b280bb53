// Which jobs, and which slices of what they measured, a results table is of: those with some values of an axis. Pure.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "proto/base/status.h"
#include "scheduler/service/table_axes.h"

namespace longreach::service {

class TableFilter {
 public:
  // One for each "AXIS=VALUE[,VALUE...]", as TableSpec::only; `field` is what the caller calls them. The empty value of a setting is that of
  // jobs which do not have it. INVALID_ARGUMENT: one is none, an axis is unknown or "length", or there twice.
  static absl::StatusOr<std::vector<TableFilter>> AllOf(const google::protobuf::RepeatedPtrField<std::string>& texts, std::string_view field);

  const std::string& axis() const { return axis_; }
  // Of the values of jobs, not of the jobs.
  bool IsOfSlices() const { return IsOfValues(axis_); }
  // Of what a sweep's specification lists, or of its systems.
  bool IsOfAxes() const { return !IsOfSlices() && !IsSettingPath(axis_); }
  // The job's value is asked for.
  bool Has(const TableJob& job) const { return values_.contains(KeyOf(job, axis_)); }
  // Notes a value that the jobs have, asked for or not.
  void See(const TableJob& job) { seen_.insert(KeyOf(job, axis_)); }
  // INVALID_ARGUMENT: a value is asked for that none of the jobs has which were seen.
  absl::Status Check() const;
  // "seed 0 or 1".
  std::string Text() const;

 private:
  TableFilter() = default;
  static absl::StatusOr<TableFilter> Of(const std::string& text, std::string_view field);
  absl::Status Refuse(const std::string& value) const;

  std::string field_;
  std::string axis_;
  std::set<std::string> values_;
  std::set<std::string> seen_;
};

// Shows filters of axes the values that jobs of a sweep have or will have, by its axes and systems. False: there are very many, and not all were looked at.
bool SeeAxesOf(const v1::SweepSpec& sweep, std::span<TableFilter> filters);
// Shows filters of settings those of one system.
void SeeSettings(const SettingValues& settings, std::span<TableFilter> filters);

}  // namespace longreach::service
