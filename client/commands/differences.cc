#include "client/commands/differences.h"

#include <boost/math/distributions/students_t.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace longreach::client {
namespace {

double Freedom(const DrawnDifferences& differences) { return (differences.count - 1) * differences.evenness; }

// As if there were `count` draws of this deviation.
double HalfWidthOf(DrawnDifferences differences, int count) {
  differences.count = count;
  const boost::math::students_t distribution(Freedom(differences));
  return boost::math::quantile(boost::math::complement(distribution, kErrorRate / 2)) * differences.deviation / std::sqrt(count);
}

}  // namespace

DrawnDifferences FromDraws(const std::vector<Draw>& draws, double mean, double largest) {
  const double count = static_cast<double>(draws.size());
  double pairs = 0;
  for (const Draw& draw : draws) pairs += draw.pairs;
  // How certain the standard error is itself: sums over draws, and over every two of them.
  double shares = 0, weights = 0, weights_of_two = 0;
  for (const Draw& draw : draws) {
    const double share = draw.pairs / pairs, rest = (pairs - draw.pairs) / pairs;
    const double weight = share * share / rest;
    shares += share * share;
    weights_of_two += 2 * weight * weights;  // With each before it. As a difference of squares it would be inexact where one draw has almost all pairs.
    weights += weight;
  }
  const double freedom = 1 / (shares + weights_of_two);
  return {.count = static_cast<int>(draws.size()),
          .mean = mean,
          .deviation = std::sqrt(catalog::SquaredErrorOfMean(draws, mean, largest) * count),
          .evenness = std::min(1.0, freedom / (count - 1))};
}

double HalfWidth(const DrawnDifferences& differences) { return HalfWidthOf(differences, differences.count); }

std::optional<double> PairedP(const DrawnDifferences& differences) {
  if (differences.deviation == 0) return std::nullopt;
  const double t = std::abs(differences.mean) / differences.deviation * std::sqrt(differences.count);
  if (!std::isfinite(t)) return std::nullopt;
  const boost::math::students_t distribution(Freedom(differences));
  return 2 * boost::math::cdf(boost::math::complement(distribution, t));
}

std::optional<int> DrawsNeeded(const DrawnDifferences& differences) {
  const double mean = std::abs(differences.mean);
  const auto is_enough = [&](int count) { return HalfWidthOf(differences, count) < mean; };
  const bool has_zero = mean <= HalfWidth(differences);  // Not where either is NaN.
  if (!has_zero || mean == 0) return std::nullopt;
  if (differences.count >= kMostPairsNeeded || !is_enough(kMostPairsNeeded)) return kMostPairsNeeded + 1;
  // The more draws, the narrower the interval.
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
