#include "client/commands/paired_values.h"

#include <boost/math/distributions/students_t.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <utility>

#include "client/commands/listings.h"
#include "proto/base/text.h"
#include "proto/catalog/aggregates.h"

namespace longreach::client {
namespace {

// Numbers by their size, and before texts.
bool IsBefore(const std::string& a, const std::string& b) {
  const auto number = [](const std::string& text) -> std::optional<double> {
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    return text.empty() || *end != '\0' ? std::nullopt : std::optional(value);
  };
  const std::optional<double> x = number(a), y = number(b);
  if (x.has_value() != y.has_value()) return x.has_value();
  return x.has_value() && *x != *y ? *x < *y : a < b;
}

size_t Place(std::string_view axis) {
  return static_cast<size_t>(std::ranges::find(kPairAxes, axis) - kPairAxes.begin());
}

// Of at least two differences.
double HalfWidth(std::vector<double> differences) {
  const double count = static_cast<double>(differences.size());
  std::ranges::sort(differences);
  const boost::math::students_t distribution(count - 1);
  return boost::math::quantile(boost::math::complement(distribution, 0.025)) * *catalog::DeviationOf(differences) / std::sqrt(count);
}

std::vector<std::string_view> DifferingAxes(const SweepValues& first, const SweepValues& second) {
  std::vector<std::string_view> differing;
  for (size_t axis = 0; axis < kPairAxes.size(); ++axis) {
    const auto of = [axis](const SweepValues& side) {
      std::set<std::string> found;
      for (const auto& [key, value] : side.values()) found.insert(key[axis]);
      return found;
    };
    const std::set<std::string> of_first = of(first), of_second = of(second);
    if (of_first.size() == 1 && of_second.size() == 1 && of_first != of_second) differing.push_back(kPairAxes[axis]);
  }
  return differing;
}

}  // namespace

void SweepValues::Add(const v1::Job& job, std::optional<double> value) {
  if (!value.has_value()) {
    ++diverged_;
    return;
  }
  values_.emplace(PairKey{SystemsText(job), job.task(), job.encoding(), ShortestNumber(job.learning_rate()), std::to_string(job.seed())}, *value);
}

PairedValues::PairedValues(const SweepValues& first, const SweepValues& second) : differing_(DifferingAxes(first, second)) {
  const auto shared = [&](PairKey key) {
    for (const std::string_view axis : differing_) key[Place(axis)].clear();
    return key;
  };
  std::map<PairKey, double> partners;
  for (const auto& [key, value] : second.values()) partners.emplace(shared(key), value);
  for (const auto& [key, value] : first.values()) {
    const PairKey common = shared(key);
    if (const auto partner = partners.find(common); partner != partners.end()) pairs_.push_back({common, value, partner->second});
  }
}

std::vector<std::string_view> PairedValues::Varying() const {
  std::vector<std::string_view> varying;
  for (size_t axis = 0; axis < kPairAxes.size(); ++axis) {
    if (std::ranges::any_of(pairs_, [&](const Pair& pair) { return pair.key[axis] != pairs_.front().key[axis]; })) varying.push_back(kPairAxes[axis]);
  }
  return varying;
}

std::vector<PairedGroup> PairedValues::Groups(const std::vector<std::string_view>& axes) const {
  const auto before = [](const std::vector<std::string>& a, const std::vector<std::string>& b) {
    return std::ranges::lexicographical_compare(a, b, IsBefore);
  };
  std::map<std::vector<std::string>, std::vector<Pair>, decltype(before)> by_values(before);
  for (const Pair& pair : pairs_) {
    std::vector<std::string> values;
    for (const std::string_view axis : axes) values.push_back(pair.key[Place(axis)]);
    by_values[values].push_back(pair);
  }
  std::vector<PairedGroup> groups;
  for (const auto& [values, pairs] : by_values) {
    PairedGroup& group = groups.emplace_back();
    group.values = values;
    group.pairs = static_cast<int>(pairs.size());
    std::vector<double> differences;
    for (const Pair& pair : pairs) {
      group.first += pair.first / group.pairs;
      group.second += pair.second / group.pairs;
      differences.push_back(pair.second - pair.first);
      group.difference += differences.back() / group.pairs;
    }
    if (group.pairs > 1) group.half_width = HalfWidth(std::move(differences));
  }
  return groups;
}

}  // namespace longreach::client
