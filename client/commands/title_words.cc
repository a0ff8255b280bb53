#include "client/commands/title_words.h"

#include <fmt/format.h>

#include <algorithm>

#include "client/commands/varying_settings.h"
#include "proto/base/text.h"
#include "proto/catalog/catalog.h"

namespace longreach::client {

std::string WithUnit(std::string_view name, std::string_view unit) {
  return unit.empty() ? std::string(name) : fmt::format("{} ({})", name, unit);
}

std::string WithUnit(std::string_view metric) {
  const catalog::Metric* const known = catalog::FindMetric(metric);
  return WithUnit(metric, known == nullptr ? "" : known->unit);
}

std::string AtLength(int length) {
  return length == 0 ? "over all test lengths" : fmt::format("at length {}", length);
}

std::string AggregatedOver(const v1::SweepSpec& spec, const Aggregation& how) {
  std::vector<std::string> axes;
  const auto add = [&](std::string_view axis, int64_t values, std::string_view plural) {
    for (const std::string& only : how.only) {
      if (only.starts_with(fmt::format("{}=", axis))) values = std::ranges::count(only, ',') + 1;
    }
    if (values > 1 && std::ranges::find(how.shown, axis) == how.shown.end()) axes.emplace_back(plural);
  };
  add("seed", spec.axes().seed_size(), "seeds");
  add("learning_rate", spec.axes().learning_rate_size(), "learning rates");
  add("encoding", spec.axes().encoding_size(), "encodings");
  add("task", spec.axes().task_size(), "tasks");
  const std::vector<std::string> systems = AggregatedSystems(spec, how.shown, how.only);
  axes.insert(axes.end(), systems.begin(), systems.end());
  if (axes.empty()) return "";
  const std::string aggregate = how.aggregate == "max" ? "maximum" : how.aggregate == "min" ? "minimum" : how.aggregate;
  const std::string last = axes.back();
  axes.pop_back();
  return axes.empty() ? fmt::format("{} over {}", aggregate, last) : fmt::format("{} over {} and {}", aggregate, Join(axes, ", "), last);
}

}  // namespace longreach::client
