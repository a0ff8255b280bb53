#include "scheduler/service/mixed_axes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "proto/base/text.h"
#include "proto/catalog/aggregates.h"

namespace longreach::service {
namespace {

const std::string& ValueOf(const TableJob& job, std::string_view axis) {
  return axis == "task" ? job.task : axis == "encoding" ? job.encoding : job.system;
}

}  // namespace

MixedAxes::MixedAxes(const TableSide& rows, const TableSide& columns) {
  for (const std::string_view axis : {"encoding", "system", "task"}) {
    if (!rows.Has(axis) && !columns.Has(axis)) axes_.push_back({.name = axis});
  }
}

void MixedAxes::Add(Mixture& mixture, const TableJob& job) const {
  if (mixture.first.empty()) {
    for (const Axis& axis : axes_) mixture.first.push_back(ValueOf(job, axis.name));
    return;
  }
  for (size_t i = 0; i < axes_.size(); ++i) {
    const std::string& value = ValueOf(job, axes_[i].name);
    if (value == mixture.first[i]) continue;
    mixture.keys.resize(axes_.size());
    if (mixture.keys[i].empty()) mixture.keys[i].insert(mixture.first[i]);
    mixture.keys[i].insert(value);
  }
}

void MixedAxes::Count(const Mixture& mixture) {
  for (size_t i = 0; i < mixture.keys.size(); ++i) {
    axes_[i].keys.insert(mixture.keys[i].begin(), mixture.keys[i].end());
    axes_[i].most = std::max(axes_[i].most, mixture.keys[i].size());
  }
}

std::string MixedAxes::Note(const v1::TableSpec& spec) const {
  std::vector<std::string> mixed;
  std::string rows = spec.rows(), columns = spec.columns();
  for (const Axis& axis : axes_) {
    if (axis.keys.empty()) continue;
    const std::string some = axis.most < axis.keys.size() ? fmt::format("up to {} of ", axis.most) : "";
    mixed.push_back(fmt::format("{}{} {}s ({})", some, axis.keys.size(), axis.name, JoinSome(InOrder(axis.name, axis.keys, {}))));
    // Encodings are compared side by side, within a row.
    (axis.name == "encoding" ? columns : rows) += fmt::format(",{}", axis.name);
  }
  if (mixed.empty()) return "";
  std::vector<std::string> apart;
  if (rows != spec.rows()) apart.push_back("--rows " + rows);
  if (columns != spec.columns()) apart.push_back("--columns " + columns);
  return fmt::format("cells are the {} over {}; {} tells them apart", catalog::AggregateInWords(spec.aggregate()), Join(mixed, " and "), Join(apart, " "));
}

}  // namespace longreach::service
