// Which jobs, and which slices of what they measured, a results table is of: those with some values of an axis. Pure.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proto/base/status.h"
#include "proto/types/axis_choice.h"
#include "scheduler/service/table_axes.h"

namespace longreach::service {

class TableFilter {
 public:
  // One for each "AXIS=VALUE[,VALUE...]", as TableSpec::only; a value of numbers may be a range, FIRST..LAST. `field` is what the caller calls
  // them. The empty value of a setting is that of jobs which do not have it. INVALID_ARGUMENT: one is none, an axis is unknown, or there twice.
  static absl::StatusOr<std::vector<TableFilter>> AllOf(const google::protobuf::RepeatedPtrField<std::string>& texts, std::string_view field);

  const std::string& axis() const { return choice_.axis(); }
  // Of the values of jobs, not of the jobs: of lengths or slices.
  bool IsOfValues() const { return service::IsOfValues(axis()); }
  // Of what a sweep's specification lists, or of its systems.
  bool IsOfAxes() const { return !IsOfValues() && !IsSettingPath(axis()); }
  // Of one value at most.
  bool IsSingle() const { return choice_.IsSingle(); }
  // The job's value is asked for.
  bool Has(const TableJob& job) const { return choice_.Has(KeyOf(job, axis())); }
  // Notes a value that the jobs have, asked for or not.
  void See(const TableJob& job) { seen_.insert(KeyOf(job, axis())); }
  // INVALID_ARGUMENT: a value is asked for that none of the jobs has which were seen, or a range in which none has one.
  absl::Status Check() const;
  // "seed 0 or 1", "length 41 to 60".
  std::string Text() const;

 private:
  TableFilter(std::string_view field, std::string axis) : field_(field), choice_(std::move(axis)) {}
  static absl::StatusOr<TableFilter> Of(const std::string& text, std::string_view field);
  absl::Status Refuse(const std::string& value) const;

  std::string field_;
  AxisChoice choice_;
  std::set<std::string> seen_;
};

// Shows filters of axes the values that jobs of a sweep have or will have, by its axes and systems. False: there are very many, and not all were looked at.
bool SeeAxesOf(const v1::SweepSpec& sweep, std::span<TableFilter> filters);
// Shows filters of settings those of one system's jobs.
void SeeSettings(const SettingsByJob& settings, std::span<TableFilter> filters);

}  // namespace longreach::service
