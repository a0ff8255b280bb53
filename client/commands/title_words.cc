#include "client/commands/title_words.h"

#include <fmt/format.h>

#include "client/commands/only.h"
#include "client/commands/varying_settings.h"
#include "proto/base/text.h"
#include "proto/catalog/aggregates.h"
#include "proto/catalog/catalog.h"

namespace longreach::client {

std::string WithUnit(std::string_view name, std::string_view unit) {
  return unit.empty() ? std::string(name) : fmt::format("{} ({})", name, unit);
}

std::string WithUnit(std::string_view metric) {
  const catalog::Metric* const known = catalog::FindMetric(metric);
  return WithUnit(metric, known == nullptr ? "" : known->unit);
}

std::string AtLength(int length, const std::vector<std::string>& only) {
  const Only asked(only);
  if (const AxisChoice* const lengths = asked.Of("length")) {
    return lengths->IsSingle() ? fmt::format("at length {}", Join(lengths->Words(), "")) : fmt::format("averaged over length {}", Join(lengths->Words(), " and "));
  }
  return length == 0 ? "over all test lengths" : fmt::format("at length {}", length);
}

std::string AggregatedOver(const SystemSettings& settings, const Aggregation& how) {
  std::vector<std::string> axes = AggregatedAxes(settings, how.shown, how.only);
  if (axes.empty()) return "";
  const std::string_view aggregate = catalog::AggregateInWords(how.aggregate);
  const std::string last = axes.back();
  axes.pop_back();
  return axes.empty() ? fmt::format("{} over {}", aggregate, last) : fmt::format("{} over {} and {}", aggregate, Join(axes, ", "), last);
}

}  // namespace longreach::client
