#include "scheduler/service/table_filter.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "proto/base/text.h"
#include "proto/catalog/axes.h"
#include "proto/catalog/catalog.h"

namespace longreach::service {

absl::StatusOr<std::vector<TableFilter>> TableFilter::AllOf(const google::protobuf::RepeatedPtrField<std::string>& texts, std::string_view field) {
  std::vector<TableFilter> filters;
  for (const std::string& text : texts) {
    ASSIGN_OR_RETURN(TableFilter filter, Of(text, field));
    if (std::ranges::find(filters, filter.axis(), &TableFilter::axis) != filters.end()) {
      return absl::InvalidArgumentError(fmt::format("{}: '{}' is there twice; write all its values into one: {}=VALUE,VALUE", field, filter.axis(), filter.axis()));
    }
    filters.push_back(std::move(filter));
  }
  return filters;
}

absl::StatusOr<TableFilter> TableFilter::Of(const std::string& text, std::string_view field) {
  const size_t equals = text.find('=');
  const bool empty = equals != std::string::npos && equals + 1 == text.size();
  if (equals == std::string::npos || (empty && !IsSettingPath(text.substr(0, equals)))) {
    return absl::InvalidArgumentError(fmt::format("{}: '{}' is not AXIS=VALUE; write task=even_pairs or seed=0,1", field, text));
  }
  TableFilter filter;
  filter.field_ = std::string(field);
  filter.axis_ = text.substr(0, equals);
  std::vector<std::string> axes = catalog::TableAxes();
  std::erase(axes, "length");
  RETURN_IF_ERROR(CheckAxis(field, "axis", filter.axis_, axes));
  const bool number = filter.axis_ == "learning_rate" || filter.axis_ == "seed" || filter.IsOfSlices() || IsNumberSetting(filter.axis_);
  for (const std::string& word : Split(text.substr(equals + 1), ',')) {
    // As the jobs have it: 1e-3 is 0.001.
    const std::optional<double> value = number ? ParseDouble(word) : std::nullopt;
    filter.values_.insert(value ? ShortestNumber(*value) : word);
  }
  return filter;
}

absl::Status TableFilter::Check() const {
  if (IsOfSlices() && seen_.empty()) return absl::OkStatus();  // Nothing was measured so, or not yet.
  for (const std::string& value : values_) {
    if (IsOfSlices() && value == catalog::kWholeSlice) continue;
    if (!seen_.contains(value)) return Refuse(value);
  }
  return absl::OkStatus();
}

absl::Status TableFilter::Refuse(const std::string& value) const {
  if (seen_.empty()) return absl::InvalidArgumentError(fmt::format("{}: unknown {} '{}'\n  no job is there yet", field_, axis_, value));
  if (!IsSettingPath(axis_)) return RefuseWord(field_, axis_, value, {seen_.begin(), seen_.end()});
  std::vector<std::string> known;
  for (const std::string& one : seen_) known.push_back(ShownKey(one));
  if (value.empty()) {
    return absl::InvalidArgumentError(fmt::format("{}: no job is without the setting {}\n  known are {}", field_, axis_, Join(known, ", ")));
  }
  if (seen_.size() == 1 && seen_.contains("")) {
    return absl::InvalidArgumentError(fmt::format("{}: unknown {} '{}'\n  no job has this setting", field_, axis_, value));
  }
  return RefuseWord(field_, axis_, value, known);
}

std::string TableFilter::Text() const {
  std::vector<std::string> words;
  for (const std::string& value : values_) words.push_back(IsSettingPath(axis_) ? ShownKey(value) : value);
  return fmt::format("{} {}", axis_, Join(words, " or "));
}

bool SeeAxesOf(const v1::SweepSpec& sweep, std::span<TableFilter> filters) {
  constexpr int kMostValues = 100'000;
  if (std::ranges::none_of(filters, &TableFilter::IsOfAxes)) return true;
  int looked_at = 0;
  const auto see = [&](const v1::Axes& own, const std::string& system) {
    const auto of = [](const auto& values, const auto& of_sweep) -> const auto& { return values.empty() ? of_sweep : values; };
    const auto &tasks = of(own.task(), sweep.axes().task()), &encodings = of(own.encoding(), sweep.axes().encoding());
    const auto& rates = of(own.learning_rate(), sweep.axes().learning_rate());
    const auto& seeds = of(own.seed(), sweep.axes().seed());
    const int count = std::max({1, tasks.size(), encodings.size(), rates.size(), seeds.size()});
    looked_at = std::min(looked_at, kMostValues) + std::min(count, kMostValues);
    for (int i = 0; i < count && looked_at <= kMostValues; ++i) {
      // With one value of each axis; each filter looks at its own.
      const auto at = [i](const auto& values) { return values[std::min(i, values.size() - 1)]; };
      TableJob job;
      job.system = system;
      if (!tasks.empty()) job.task = at(tasks);
      if (!encodings.empty()) job.encoding = at(encodings);
      if (!rates.empty()) job.learning_rate = at(rates);
      if (!seeds.empty()) job.seed = at(seeds);
      for (TableFilter& filter : filters) {
        if (filter.IsOfAxes()) filter.See(job);
      }
    }
  };
  if (sweep.systems().empty()) see(sweep.axes(), "");
  for (const v1::System& system : sweep.systems()) see(system.with().axes(), system.name());
  return looked_at <= kMostValues;
}

void SeeSettings(const SettingValues& settings, std::span<TableFilter> filters) {
  TableJob at;
  at.settings = &settings;
  for (TableFilter& filter : filters) {
    if (IsSettingPath(filter.axis())) filter.See(at);
  }
}

}  // namespace longreach::service
