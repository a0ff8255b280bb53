#include "client/commands/reached_lengths.h"

#include <cmath>
#include <numeric>
#include <utility>

namespace longreach::client {
namespace {

// Far more than the rounding of a mean of float64, and far less than one of a million test sequences makes.
constexpr double kRounding = 1e-9;

// At place `at` of the values of all test lengths.
double SmoothedAt(const std::vector<double>& values, size_t at, size_t beside) {
  const auto from = values.begin() + static_cast<std::ptrdiff_t>(at - std::min(at, beside));
  const auto to = values.begin() + static_cast<std::ptrdiff_t>(std::min(values.size(), at + beside + 1));
  return std::accumulate(from, to, 0.0) / static_cast<double>(to - from);
}

}  // namespace

bool Bound::Admits(double measured) const {
  const double slack = kRounding * std::abs(value);
  return at_least ? measured >= value - slack : measured <= value + slack;
}

Reach ReachOf(const std::map<int, double>& values, const Bound& bound, int smooth) {
  Reach reach{.tested_from = values.begin()->first, .tested_to = values.rbegin()->first};
  std::vector<double> in_order;
  for (const auto& [length, value] : values) in_order.push_back(value);
  size_t at = 0;
  for (const auto& [length, value] : values) {
    if (!bound.Admits(SmoothedAt(in_order, at++, static_cast<size_t>(smooth / 2)))) break;
    reach.length = length;
  }
  return reach;
}

std::vector<ReachGroup> ReachGroups(const std::vector<KeyedReach>& jobs, const std::vector<std::string_view>& axes) {
  const auto before = [](const std::vector<std::string>& a, const std::vector<std::string>& b) { return std::ranges::lexicographical_compare(a, b, IsValueBefore); };
  std::map<std::vector<std::string>, std::vector<Reach>, decltype(before)> by_values(before);
  for (const KeyedReach& job : jobs) {
    std::vector<std::string> values;
    for (const std::string_view axis : axes) values.push_back(job.key[PlaceOf(axis)]);
    by_values[std::move(values)].push_back(job.reach);
  }
  std::vector<ReachGroup> groups;
  for (auto& [values, reached] : by_values) {
    // Of two that got equally far, who was tested no further may be the better one.
    std::ranges::sort(reached, [](const Reach& a, const Reach& b) { return std::pair(a.length, a.ToTheEnd()) < std::pair(b.length, b.ToTheEnd()); });
    groups.push_back({.values = values, .jobs = std::move(reached)});
  }
  return groups;
}

}  // namespace longreach::client
