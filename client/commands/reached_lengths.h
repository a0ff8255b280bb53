// Up to which test length a job's values stay good, and what several jobs reach together.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "client/commands/paired_values.h"

namespace longreach::client {

// What a value must be for its length to count.
struct Bound {
  double value = 0;      // As values are stored.
  bool at_least = true;  // Else it is the most that a value may be.

  // What differs from the bound by rounding alone is within it: a mean of values that are all 0.9 may be a little below that. NaN never is.
  bool Admits(double measured) const;
};

// How far one job got.
struct Reach {
  int length = 0;       // The longest test length up to which, from the shortest one on, all are within the bound. 0: the shortest one is not.
  int tested_from = 0;  // The shortest and the longest test length.
  int tested_to = 0;

  // Nobody knows how much further it would get.
  bool ToTheEnd() const { return length == tested_to; }
  bool operator==(const Reach&) const = default;
};

// Of a job with these values by test length, of which there is one at least. Each length counts with the mean over `smooth` (an odd number) test
// lengths, half of the others before it and half behind it: near the shortest and the longest one over as many of these as there are.
Reach ReachOf(const std::map<int, double>& values, const Bound& bound, int smooth);

// What the jobs reach that have the same values of some axes.
struct ReachGroup {
  std::vector<std::string> values;  // One for each of the axes.
  std::vector<Reach> jobs;          // One at least, ascending by what is reached.

  const Reach& All() const { return jobs.front(); }
  // That at least half of them reach.
  const Reach& Half() const { return jobs[jobs.size() / 2]; }
  const Reach& Best() const { return jobs.back(); }
  size_t ToTheEnd() const { return static_cast<size_t>(std::ranges::count_if(jobs, &Reach::ToTheEnd)); }
};

struct KeyedReach {
  PairKey key;
  Reach reach;
};

// By these of kPairAxes, in the order of their values. No axes: one group of all; nothing of no jobs.
std::vector<ReachGroup> ReachGroups(const std::vector<KeyedReach>& jobs, const std::vector<std::string_view>& axes);

}  // namespace longreach::client
