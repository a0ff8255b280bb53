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
    const std::set<std::string>&of_first = first.axes()[axis], &of_second = second.axes()[axis];
    if (of_first.size() == 1 && of_second.size() == 1 && of_first != of_second) differing.push_back(kPairAxes[axis]);
  }
  return differing;
}

// What `only` admits of an axis; nothing: all.
std::optional<std::set<std::string>> Admitted(std::string_view axis, const std::vector<std::string>& only) {
  for (const std::string& one : only) {
    if (!one.starts_with(axis) || one.size() <= axis.size() || one[axis.size()] != '=') continue;
    std::set<std::string> values;
    for (const std::string& word : Split(one.substr(axis.size() + 1), ',')) values.insert(KeyValue(axis, word));
    return values;
  }
  return std::nullopt;
}

void Insert(const v1::Axes& axes, AxisValues& values) {
  values[PlaceOf("task")].insert(axes.task().begin(), axes.task().end());
  values[PlaceOf("encoding")].insert(axes.encoding().begin(), axes.encoding().end());
  for (const double rate : axes.learning_rate()) values[PlaceOf("learning_rate")].insert(ShortestNumber(rate));
  for (const uint32_t seed : axes.seed()) values[PlaceOf("seed")].insert(std::to_string(seed));
}

// Of one system's jobs.
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

}  // namespace

SweepValues::SweepValues(const v1::SweepSpec& spec, const std::vector<std::string>& only) {
  // Which systems a setting chooses is the scheduler's to say: then the axes are those of the jobs.
  const auto is_of_pairs = [](const std::string& one) { return std::ranges::find(kPairAxes, one.substr(0, one.find('='))) != kPairAxes.end(); };
  if (!std::ranges::all_of(only, is_of_pairs)) return;
  const auto add = [&](const v1::Axes& axes, const std::string& system) {
    AxisValues own;
    own[PlaceOf("system")].insert(system);
    Insert(axes, own);
    for (size_t axis = 0; axis < kPairAxes.size(); ++axis) {
      const auto admitted = Admitted(kPairAxes[axis], only);
      if (admitted) std::erase_if(own[axis], [&](const std::string& value) { return !admitted->contains(value); });
      if (admitted && own[axis].empty()) return;  // None of its jobs is asked for.
    }
    for (size_t axis = 0; axis < kPairAxes.size(); ++axis) axes_[axis].insert(own[axis].begin(), own[axis].end());
  };
  if (spec.systems().empty()) add(spec.axes(), "");
  for (const v1::System& system : spec.systems()) add(AxesOf(spec, system), system.name());
}

size_t PlaceOf(std::string_view axis) { return static_cast<size_t>(std::ranges::find(kPairAxes, axis) - kPairAxes.begin()); }

std::string KeyValue(std::string_view axis, const std::string& word) {
  const std::optional<double> number = axis == "learning_rate" ? ParseDouble(word) : std::nullopt;
  return number ? ShortestNumber(*number) : word;
}

PairKey KeyOf(const v1::Job& job) {
  return {SystemsText(job), job.task(), job.encoding(), ShortestNumber(job.learning_rate()), std::to_string(job.seed())};
}

void SweepValues::Add(const v1::Job& job, std::optional<double> value) {
  const PairKey key = KeyOf(job);
  for (size_t axis = 0; axis < kPairAxes.size(); ++axis) axes_[axis].insert(key[axis]);
  if (value.has_value()) values_.emplace(key, *value);
  else ++diverged_;
}

PairedValues::PairedValues(const SweepValues& first, const SweepValues& second) : PairedValues(first, second, DifferingAxes(first, second)) {}

PairedValues::PairedValues(const SweepValues& first, const SweepValues& second, std::vector<std::string_view> differing) : differing_(std::move(differing)) {
  const auto shared = [&](PairKey key) {
    for (const std::string_view axis : differing_) key[PlaceOf(axis)].clear();
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
    for (const std::string_view axis : axes) values.push_back(pair.key[PlaceOf(axis)]);
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
