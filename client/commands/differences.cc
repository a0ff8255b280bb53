#include "client/commands/differences.h"

#include <boost/math/distributions/students_t.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "proto/catalog/aggregates.h"

namespace longreach::client {
namespace {

// Stored values may be off by some units of the last digit, as means over lengths are. What a test of one more example or a weight of float32
// makes of a value is a million times as much.
constexpr double kRounding = 64 * std::numeric_limits<double>::epsilon();

double HalfWidthOf(int count, double deviation) {
  const boost::math::students_t distribution(count - 1);
  return boost::math::quantile(boost::math::complement(distribution, kErrorRate / 2)) * deviation / std::sqrt(count);
}

}  // namespace

double SpreadOf(const std::vector<double>& ascending, double largest) {
  const bool same = std::isfinite(largest) && ascending.back() - ascending.front() <= kRounding * largest;
  return same ? 0 : catalog::DeviationOf(ascending).value_or(0);
}

double HalfWidth(const DifferencesOfPairs& differences) { return HalfWidthOf(differences.count, differences.deviation); }

std::optional<double> PairedP(const DifferencesOfPairs& differences) {
  if (differences.deviation == 0) return std::nullopt;
  const double t = std::abs(differences.mean) / differences.deviation * std::sqrt(differences.count);
  if (!std::isfinite(t)) return std::nullopt;
  const boost::math::students_t distribution(differences.count - 1);
  return 2 * boost::math::cdf(boost::math::complement(distribution, t));
}

std::optional<int> PairsNeeded(const DifferencesOfPairs& differences) {
  const double mean = std::abs(differences.mean);
  const auto is_enough = [&](int count) { return HalfWidthOf(count, differences.deviation) < mean; };
  const bool has_zero = mean <= HalfWidth(differences);  // Not where either is NaN.
  if (!has_zero || mean == 0) return std::nullopt;
  if (differences.count >= kMostPairsNeeded || !is_enough(kMostPairsNeeded)) return kMostPairsNeeded + 1;
  // The more pairs, the narrower the interval.
  int too_few = differences.count, enough = kMostPairsNeeded;
  while (enough - too_few > 1) {
    const int middle = too_few + (enough - too_few) / 2;
    (is_enough(middle) ? enough : too_few) = middle;
  }
  return enough;
}

std::vector<std::optional<double>> CorrectedByHolm(const std::vector<std::optional<double>>& p) {
  std::vector<size_t> ascending;  // Places of those that are there.
  for (size_t i = 0; i < p.size(); ++i) {
    if (p[i].has_value()) ascending.push_back(i);
  }
  std::ranges::sort(ascending, [&p](size_t a, size_t b) { return *p[a] < *p[b]; });
  std::vector<std::optional<double>> corrected(p.size());
  double least = 0;  // None is less than one before it.
  for (size_t rank = 0; rank < ascending.size(); ++rank) {
    least = std::max(least, std::min(1.0, static_cast<double>(ascending.size() - rank) * *p[ascending[rank]]));
    corrected[ascending[rank]] = least;
  }
  return corrected;
}

}  // namespace longreach::client
