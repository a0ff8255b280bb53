#include "client/commands/only.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "proto/base/text.h"
#include "proto/catalog/catalog.h"
#include "proto/types/settings.h"

namespace longreach::client {

Only::Only(const std::vector<std::string>& texts) {
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos) continue;
    const std::string axis = text.substr(0, equals);
    for (const std::string& word : Split(std::string_view(text).substr(equals + 1), ',')) values_[axis].insert(ValueOfJobs(axis, word));
  }
}

bool Only::Admits(std::string_view axis, const std::string& value) const {
  const auto found = values_.find(axis);
  return found == values_.end() || found->second.contains(value);
}

std::string ValueOfJobs(std::string_view axis, const std::string& word) {
  const bool numbers = axis == "learning_rate" || axis == "seed" || catalog::FindSliceAxis(axis) != nullptr || IsNumberSetting(axis);
  const std::optional<double> number = numbers ? ParseDouble(word) : std::nullopt;
  return number ? ShortestNumber(*number) : word;
}

v1::Axes AxesOf(const v1::SweepSpec& spec, const v1::System& system) {
  v1::Axes axes = spec.axes();
  const v1::Axes& own = system.with().axes();
  if (!own.task().empty()) axes.clear_task();
  if (!own.encoding().empty()) axes.clear_encoding();
  if (!own.learning_rate().empty()) axes.clear_learning_rate();
  if (!own.seed().empty()) axes.clear_seed();
  axes.MergeFrom(own);
  return axes;
}

std::vector<std::string> ValuesOf(const v1::Axes& axes, std::string_view axis) {
  std::vector<std::string> values;
  if (axis == "task") values.assign(axes.task().begin(), axes.task().end());
  if (axis == "encoding") values.assign(axes.encoding().begin(), axes.encoding().end());
  if (axis == "seed") std::ranges::transform(axes.seed(), std::back_inserter(values), [](uint32_t seed) { return std::to_string(seed); });
  if (axis == "learning_rate") std::ranges::transform(axes.learning_rate(), std::back_inserter(values), ShortestNumber);
  return values;
}

}  // namespace longreach::client
