#include "client/commands/paired_values.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <set>
#include <unordered_set>
#include <utility>

#include "client/commands/differences.h"
#include "client/commands/listings.h"
#include "client/commands/only.h"
#include "proto/base/name_order.h"
#include "proto/base/text.h"
#include "proto/types/settings.h"

namespace longreach::client {
namespace {

std::vector<std::string_view> DifferingAxes(const AxisValues& first, const AxisValues& second) {
  std::vector<std::string_view> differing;
  for (size_t axis = 0; axis < kPairAxes.size(); ++axis) {
    const bool one_each = first[axis].size() == 1 && second[axis].size() == 1 && first[axis] != second[axis];
    if (one_each || BaselineSide(first, second, kPairAxes[axis])) differing.push_back(kPairAxes[axis]);
  }
  return differing;
}

void Insert(const v1::Axes& axes, AxisValues& values) {
  for (const std::string_view axis : kPairAxes) {
    for (std::string& value : ValuesOf(axes, axis)) values[PlaceOf(axis)].insert(std::move(value));
  }
}

}  // namespace

bool IsValueBefore(const std::string& a, const std::string& b) {
  const auto number = [](const std::string& text) -> std::optional<double> {
    const std::optional<double> value = ParseDouble(text);
    return value && std::isfinite(*value) ? value : std::nullopt;  // NaN is before nothing; it may be a system's name.
  };
  const std::optional<double> x = number(a), y = number(b);
  if (x.has_value() != y.has_value()) return x.has_value();
  if (x.has_value()) return *x != *y ? *x < *y : a < b;
  return std::pair(NumberedWords(a), a) < std::pair(NumberedWords(b), b);
}

SweepValues::SweepValues(const v1::SweepSpec& spec, const std::vector<std::string>& texts) {
  const Only only(texts);
  // Which systems a setting chooses is the scheduler's to say: then the axes are those of the jobs.
  if (std::ranges::any_of(only.choices(), [](const auto& one) { return IsSettingPath(one.first); })) return;
  const auto add = [&](const v1::Axes& axes, const std::string& system) {
    AxisValues own;
    own[PlaceOf("system")].insert(system);
    Insert(axes, own);
    for (size_t axis = 0; axis < kPairAxes.size(); ++axis) {
      const bool some = !own[axis].empty();
      std::erase_if(own[axis], [&](const std::string& value) { return !only.Admits(kPairAxes[axis], value); });
      if (some && own[axis].empty()) return;  // None of its jobs is asked for.
    }
    for (size_t axis = 0; axis < kPairAxes.size(); ++axis) axes_[axis].insert(own[axis].begin(), own[axis].end());
  };
  if (spec.systems().empty()) add(spec.axes(), "");
  for (const v1::System& system : spec.systems()) add(AxesOf(spec, system), system.name());
}

bool IsPairAxis(std::string_view axis) { return PlaceOf(axis) < kPairAxes.size(); }

size_t PlaceOf(std::string_view axis) { return static_cast<size_t>(std::ranges::find(kPairAxes, axis) - kPairAxes.begin()); }

PairKey KeyOf(const v1::Job& job) {
  return {SystemsText(job), job.task(), job.encoding(), ShortestNumber(job.learning_rate()), std::to_string(job.seed())};
}

void SweepValues::Add(const v1::Job& job, std::optional<double> value) {
  const PairKey key = KeyOf(job);
  for (size_t axis = 0; axis < kPairAxes.size(); ++axis) axes_[axis].insert(key[axis]);
  if (value.has_value()) values_.emplace(key, JobValue{.value = *value, .job = job.id().empty() ? 0 : std::hash<std::string>()(job.id())});
  else ++diverged_;
}

bool AreDisjoint(const AxisValues& first, const AxisValues& second, std::string_view axis) {
  const std::set<std::string>&of_first = first[PlaceOf(axis)], &of_second = second[PlaceOf(axis)];
  return !of_first.empty() && !of_second.empty() && std::ranges::none_of(of_first, [&](const std::string& value) { return of_second.contains(value); });
}

std::optional<size_t> BaselineSide(const AxisValues& first, const AxisValues& second, std::string_view axis) {
  // Others are in one row, where one job's partners would pass for independent pairs.
  if ((axis != "system" && axis != "encoding") || !AreDisjoint(first, second, axis)) return std::nullopt;
  const size_t of_first = first[PlaceOf(axis)].size(), of_second = second[PlaceOf(axis)].size();
  if ((of_first == 1) == (of_second == 1)) return std::nullopt;
  return of_first == 1 ? 0 : 1;
}

PairedValues::PairedValues(const SweepValues& first, const SweepValues& second) : PairedValues(first, second, DifferingAxes(first.axes(), second.axes())) {}

PairedValues::PairedValues(const SweepValues& first, const SweepValues& second, std::vector<std::string_view> differing) : differing_(std::move(differing)) {
  for (size_t axis = 0; axis < kPairAxes.size(); ++axis) several_[axis] = first.axes()[axis].size() > 1 || second.axes()[axis].size() > 1;
  const auto shared = [&](PairKey key) {
    for (const std::string_view axis : differing_) key[PlaceOf(axis)].clear();
    return key;
  };
  const auto shown = [&](PairKey key, const PairKey& of_first, const PairKey& of_second) {
    for (const std::string_view axis : differing_) {
      const std::optional<size_t> baseline = BaselineSide(first.axes(), second.axes(), axis);
      if (baseline) key[PlaceOf(axis)] = (*baseline == 0 ? of_second : of_first)[PlaceOf(axis)];
    }
    return key;
  };
  std::multimap<PairKey, const std::pair<const PairKey, JobValue>*> partners;
  // In their order, but where an axis that is not shared has several values.
  for (const auto& one : second.values()) partners.emplace_hint(partners.end(), shared(one.first), &one);
  std::unordered_set<const PairKey*> met;
  for (const auto& [key, of] : first.values()) {
    const PairKey common = shared(key);
    const auto [from, to] = partners.equal_range(common);
    if (from != to) ++partnered_[0];
    for (auto partner = from; partner != to; ++partner) {
      const auto& [other_key, other] = *partner->second;
      pairs_.push_back({shown(common, key, other_key), of.value, other.value});
      if (of.job != 0 && of.job == other.job) ++of_one_job_;
      met.insert(&other_key);
    }
  }
  partnered_[1] = met.size();
}

bool PairedValues::Varies(size_t axis) const {
  return std::ranges::any_of(pairs_, [&](const Pair& pair) { return pair.key[axis] != pairs_.front().key[axis]; });
}

std::vector<std::string_view> PairedValues::Varying() const {
  std::vector<std::string_view> varying;
  for (size_t axis = 0; axis < kPairAxes.size(); ++axis) {
    if (Varies(axis)) varying.push_back(kPairAxes[axis]);
  }
  return varying;
}

std::vector<std::string_view> PairedValues::Telling() const {
  std::vector<std::string_view> telling;
  for (size_t axis = 0; axis < kPairAxes.size() && !pairs_.empty(); ++axis) {
    // Of what is compared, keys have nothing.
    const bool is_one_of_several = several_[axis] && !pairs_.front().key[axis].empty();
    if (is_one_of_several || Varies(axis)) telling.push_back(kPairAxes[axis]);
  }
  return telling;
}

void CorrectByHolm(std::vector<PairedGroup>& groups) {
  std::vector<std::optional<double>> p;
  for (const PairedGroup& group : groups) p.push_back(group.p);
  const std::vector<std::optional<double>> corrected = CorrectedByHolm(p);
  for (size_t i = 0; i < groups.size(); ++i) groups[i].p_holm = corrected[i];
}

PairedGroup PairedValues::GroupOf(const std::vector<std::string>& values, const std::vector<const Pair*>& pairs) {
  const std::string& first_seed = pairs.front()->key[PlaceOf("seed")];
  const bool of_seeds = std::ranges::any_of(pairs, [&first_seed](const Pair* pair) { return pair->key[PlaceOf("seed")] != first_seed; });
  PairedGroup group;
  group.values = values;
  group.pairs = static_cast<int>(pairs.size());
  group.of_one_seed = !of_seeds && !first_seed.empty();
  std::map<std::string_view, Draw> draws;
  double largest = 0;
  for (const Pair* pair : pairs) {
    const double difference = pair->second - pair->first;
    largest = std::max({largest, std::abs(pair->first), std::abs(pair->second)});
    group.first += pair->first / group.pairs;
    group.second += pair->second / group.pairs;
    group.difference += difference / group.pairs;
    Draw& draw = draws[pair->key[PlaceOf(of_seeds ? "seed" : "task")]];
    ++draw.pairs;
    draw.mean += difference;  // A sum until all are there.
  }
  group.draws = static_cast<int>(draws.size());
  if (group.draws == 1) return group;
  std::vector<Draw> in_order;
  for (const auto& [name, draw] : draws) in_order.push_back({.pairs = draw.pairs, .mean = draw.mean / draw.pairs});
  const DrawnDifferences drawn = FromDraws(in_order, group.difference, largest);
  group.p = PairedP(drawn);
  if (!group.p.has_value()) return group;  // One of no width would say that the mean is known, where it is the spread that is not.
  group.half_width = HalfWidth(drawn);
  if (const std::optional<int> needed = DrawsNeeded(drawn)) {
    const int64_t pairs_needed = (int64_t{*needed} * group.pairs + group.draws - 1) / group.draws;
    group.needed = static_cast<int>(std::min<int64_t>(pairs_needed, kMostPairsNeeded + 1));
  }
  return group;
}

std::vector<PairedGroup> PairedValues::Groups(const std::vector<std::string_view>& axes) const {
  const auto before = [](const std::vector<std::string>& a, const std::vector<std::string>& b) {
    return std::ranges::lexicographical_compare(a, b, IsValueBefore);
  };
  std::map<std::vector<std::string>, std::vector<const Pair*>, decltype(before)> by_values(before);
  auto group_of_last = by_values.end();  // Neighbours are mostly in one.
  for (const Pair& pair : pairs_) {
    std::vector<std::string> values;
    for (const std::string_view axis : axes) values.push_back(pair.key[PlaceOf(axis)]);
    if (group_of_last == by_values.end() || group_of_last->first != values) group_of_last = by_values.try_emplace(std::move(values)).first;
    group_of_last->second.push_back(&pair);
  }
  std::vector<PairedGroup> groups;
  for (const auto& [values, pairs] : by_values) groups.push_back(GroupOf(values, pairs));
  return groups;
}

}  // namespace longreach::client
