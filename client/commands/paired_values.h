// The values of two sweeps, or of two kinds of one sweep's jobs, job beside job: those of the same system, task, encoding, learning rate and
// seed are a pair. Differences of pairs say more than those of means: what a task or a seed does to both is not in them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "longreach/v1/api.pb.h"

namespace longreach::client {

// What a job is known by within its sweep; a place for each axis, in this order.
inline constexpr std::array<std::string_view, 5> kPairAxes = {"system", "task", "encoding", "learning_rate", "seed"};
using PairKey = std::array<std::string, kPairAxes.size()>;
PairKey KeyOf(const v1::Job& job);
bool IsPairAxis(std::string_view axis);
// The place of one of kPairAxes.
size_t PlaceOf(std::string_view axis);

// What the pairs have in common that have the same values of some axes.
struct PairedGroup {
  std::vector<std::string> values;  // One for each of the axes.
  int pairs = 0;
  double first = 0, second = 0;  // Means.
  double difference = 0;         // Mean of second minus first.
  // What counts once for the interval (differences.h): a seed's pairs, which share jobs of a baseline or begin with the same weights. Where all
  // pairs have one seed, or seeds are what is compared, a task's.
  int draws = 0;
  bool of_one_seed = false;  // So its draws are tasks. Not where seeds are compared.
  // Where there are two draws at least, not all the same: half the width of the interval that has the true mean in 95 of 100 cases, by Student's distribution.
  std::optional<double> half_width;
  // As PairedP() has it; nothing of one draw.
  std::optional<double> p;
  // How many pairs it takes that the interval leaves 0, if draws stay as large as they are; more than kMostPairsNeeded: it is beyond that.
  std::optional<int> needed;
  std::optional<double> p_holm;  // By CorrectByHolm().
};

// Fills in p_holm of groups that are shown together.
void CorrectByHolm(std::vector<PairedGroup>& groups);

// The values of each axis, by its place.
using AxisValues = std::array<std::set<std::string>, kPairAxes.size()>;

// Numbers by their size, and before texts; these by the numbers in them, as tables have systems.
bool IsValueBefore(const std::string& a, const std::string& b);

struct JobValue {
  double value = 0;
  size_t job = 0;  // A hash of its id, by which the same job is known in another sweep; 0 without one.
};

// One sweep's side of a comparison.
class SweepValues {
 public:
  // Without a sweep the axes are those of the jobs that are added.
  SweepValues() = default;
  // `only`: as TableSpec.only.
  SweepValues(const v1::SweepSpec& spec, const std::vector<std::string>& only);

  // A job's value; the first of those with the same key counts. One that diverged has none.
  void Add(const v1::Job& job, std::optional<double> value);

  const std::map<PairKey, JobValue>& values() const { return values_; }
  // Of all of the sweep's jobs, done or not.
  const AxisValues& axes() const { return axes_; }
  int diverged() const { return diverged_; }

 private:
  std::map<PairKey, JobValue> values_;
  AxisValues axes_;
  int diverged_ = 0;
};

// The side that is a baseline by this axis (see PairedValues), if one is.
std::optional<size_t> BaselineSide(const AxisValues& first, const AxisValues& second, std::string_view axis);
// Whether they have none of an axis's values in common, though each has some.
bool AreDisjoint(const AxisValues& first, const AxisValues& second, std::string_view axis);

class PairedValues {
 public:
  // A side that has one system or encoding, where the other has several and not that one, is a baseline: each of its jobs is in a pair with
  // one of each of them.
  PairedValues(const SweepValues& first, const SweepValues& second);
  // Of one sweep's jobs that have nothing left in their keys but what partners have in common, and the axes that are `differing`: of each a
  // side has one value.
  static PairedValues OfOneSweep(const SweepValues& first, const SweepValues& second, std::vector<std::string_view> differing = {}) {
    return PairedValues(first, second, std::move(differing));
  }

  // What differs, so that pairs need not have it in common: axes of which each side has one value, and not the same one, and those of which one
  // side is the baseline.
  const std::vector<std::string_view>& differing() const { return differing_; }
  bool DifferIn(std::string_view axis) const { return std::ranges::find(differing_, axis) != differing_.end(); }
  size_t pairs() const { return pairs_.size(); }
  // How many of them are one job that both sides have, whose difference is 0 whatever is compared.
  size_t of_one_job() const { return of_one_job_; }
  // How many of a side's values are in a pair.
  size_t partnered(size_t side) const { return partnered_[side]; }
  // Axes of which there is more than one value among the pairs, in the order of kPairAxes.
  std::vector<std::string_view> Varying() const;
  // These, and axes of which a side has several values though its partners have one of them: which pairs these are is not known without them.
  std::vector<std::string_view> Telling() const;
  // Groups by these axes, ascending; numbers by their size. No axes: one group of all pairs.
  std::vector<PairedGroup> Groups(const std::vector<std::string_view>& axes) const;

 private:
  PairedValues(const SweepValues& first, const SweepValues& second, std::vector<std::string_view> differing);

  bool Varies(size_t axis) const;

  struct Pair {
    PairKey key;  // What both have in common, and what a baseline's partner has of its own.
    double first, second;
  };
  static PairedGroup GroupOf(const std::vector<std::string>& values, const std::vector<const Pair*>& pairs);

  std::vector<std::string_view> differing_;
  std::array<bool, kPairAxes.size()> several_ = {};  // A side has several values.
  std::vector<Pair> pairs_;
  size_t of_one_job_ = 0;
  std::array<size_t, 2> partnered_ = {};
};

}  // namespace longreach::client
