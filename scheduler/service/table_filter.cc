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
  TableFilter filter(field, text.substr(0, equals));
  RETURN_IF_ERROR(CheckAxis(field, filter.axis(), catalog::TableAxes()));
  if (const absl::Status added = filter.choice_.Add(std::string_view(text).substr(equals + 1)); !added.ok()) {
    return absl::InvalidArgumentError(fmt::format("{}: {}", field, std::string(added.message())));
  }
  return filter;
}

absl::Status TableFilter::Check() const {
  if (IsOfValues() && seen_.empty()) return absl::OkStatus();  // Nothing was measured so, or not yet.
  for (const std::string& value : choice_.values()) {
    if (IsOfValues() && value == catalog::kWholeSlice) continue;
    if (!seen_.contains(value)) return Refuse(value);
  }
  for (const AxisChoice::Range& range : choice_.ranges()) {
    if (std::ranges::none_of(seen_, [&range](const std::string& value) { return range.Has(value); })) return Refuse(range.Text());
  }
  return absl::OkStatus();
}

absl::Status TableFilter::Refuse(const std::string& value) const {
  if (seen_.empty()) return absl::InvalidArgumentError(fmt::format("{}: unknown {} '{}'\n  no job is there yet", field_, axis(), value));
  if (seen_.size() == 1 && seen_.contains("") && !value.empty() && (IsSettingPath(axis()) || axis() == "system")) {
    const std::string_view what = axis() == "system" ? "is of a system" : "has this setting";
    return absl::InvalidArgumentError(fmt::format("{}: unknown {} '{}'\n  no job {}", field_, axis(), value, what));
  }
  std::vector<std::string> known;
  for (const std::string& one : InOrder(axis(), seen_, {})) known.push_back(IsSettingPath(axis()) ? ShownKey(one) : one);
  if (value.empty() && IsSettingPath(axis())) {
    return absl::InvalidArgumentError(fmt::format("{}: no job is without the setting {}\n  known are {}", field_, axis(), Join(known, ", ")));
  }
  if (!IsNumberAxis(axis()) && value.find("..") != std::string::npos) {
    return absl::InvalidArgumentError(fmt::format("{}: unknown {} '{}'\n  ranges are of numbers, as seed=0..4; known are {}", field_, axis(), value, Join(known, ", ")));
  }
  return RefuseWord(field_, axis(), value, known);
}

std::string TableFilter::Text() const {
  std::vector<std::string> words;
  for (const std::string& word : choice_.Words()) words.push_back(IsSettingPath(axis()) ? ShownKey(word) : word);
  return fmt::format("{} {}", axis(), Join(words, " or "));
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

void SeeSettings(const SettingsByJob& settings, std::span<TableFilter> filters) {
  TableJob at;
  for (const auto& [job, values] : settings) {
    at.settings = &values;
    for (TableFilter& filter : filters) {
      if (IsSettingPath(filter.axis())) filter.See(at);
    }
  }
}

}  // namespace longreach::service
