#include "client/commands/paired_values.h"

#include <boost/math/distributions/students_t.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>

#include "client/commands/common.h"
#include "proto/base/text.h"

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
double HalfWidth(const std::vector<double>& differences, double mean) {
  const double count = static_cast<double>(differences.size());
  double squares = 0;
  for (const double one : differences) squares += (one - mean) * (one - mean);
  const boost::math::students_t distribution(count - 1);
  return boost::math::quantile(boost::math::complement(distribution, 0.025)) * std::sqrt(squares / (count - 1) / count);
}

}  // namespace

void PairedValues::Add(Side side, const v1::Job& job, std::optional<double> value) {
  if (!value.has_value()) {
    ++diverged_[side];
    return;
  }
  values_[side].emplace(PairKey{SystemsText(job), job.task(), job.encoding(), ShortestNumber(job.learning_rate()), std::to_string(job.seed())}, *value);
}

std::vector<std::string_view> PairedValues::Differing() const {
  std::vector<std::string_view> differing;
  for (size_t axis = 0; axis < kPairAxes.size(); ++axis) {
    std::set<std::string> of_side[2];
    for (const Side side : {kFirst, kSecond}) {
      for (const auto& [key, value] : values_[side]) of_side[side].insert(key[axis]);
    }
    if (of_side[kFirst].size() == 1 && of_side[kSecond].size() == 1 && of_side[kFirst] != of_side[kSecond]) differing.push_back(kPairAxes[axis]);
  }
  return differing;
}

std::vector<PairedValues::Pair> PairedValues::Pairs() const {
  const std::vector<std::string_view> differing = Differing();
  const auto shared = [&](PairKey key) {
    for (const std::string_view axis : differing) key[Place(axis)].clear();
    return key;
  };
  std::map<PairKey, double> second;
  for (const auto& [key, value] : values_[kSecond]) second.emplace(shared(key), value);
  std::vector<Pair> pairs;
  for (const auto& [key, value] : values_[kFirst]) {
    const PairKey common = shared(key);
    if (const auto partner = second.find(common); partner != second.end()) pairs.push_back({common, value, partner->second});
  }
  return pairs;
}

int PairedValues::Alone(Side side) const {
  return static_cast<int>(values_[side].size() - Pairs().size());
}

std::vector<std::string_view> PairedValues::Varying() const {
  const std::vector<Pair> pairs = Pairs();
  std::vector<std::string_view> varying;
  for (size_t axis = 0; axis < kPairAxes.size(); ++axis) {
    if (std::ranges::any_of(pairs, [&](const Pair& pair) { return pair.key[axis] != pairs.front().key[axis]; })) varying.push_back(kPairAxes[axis]);
  }
  return varying;
}

std::vector<PairedGroup> PairedValues::Groups(const std::vector<std::string_view>& axes) const {
  const auto before = [](const std::vector<std::string>& a, const std::vector<std::string>& b) {
    return std::ranges::lexicographical_compare(a, b, IsBefore);
  };
  std::map<std::vector<std::string>, std::vector<Pair>, decltype(before)> by_values(before);
  for (const Pair& pair : Pairs()) {
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
    if (group.pairs > 1) group.half_width = HalfWidth(differences, group.difference);
  }
  return groups;
}

}  // namespace longreach::client
