#include "client/commands/only.h"

#include <algorithm>
#include <iterator>

#include "proto/base/text.h"

namespace longreach::client {

Only::Only(const std::vector<std::string>& texts) {
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos) continue;
    const std::string axis = text.substr(0, equals);
    // What it cannot mean is the scheduler's to refuse.
    choices_.try_emplace(axis, axis).first->second.Add(std::string_view(text).substr(equals + 1)).IgnoreError();
  }
}

bool Only::Admits(std::string_view axis, const std::string& value) const {
  const AxisChoice* const choice = Of(axis);
  return choice == nullptr || choice->Has(value);
}

const AxisChoice* Only::Of(std::string_view axis) const {
  const auto found = choices_.find(axis);
  return found == choices_.end() ? nullptr : &found->second;
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
