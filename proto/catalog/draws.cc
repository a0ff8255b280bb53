#include "proto/catalog/draws.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace longreach::catalog {
namespace {

// Stored values may be off by some units of the last digit, as means over lengths are. What a test of one more example or a weight of float32
// makes of a value is a million times as much.
constexpr double kRounding = 64 * std::numeric_limits<double>::epsilon();

bool AreTheSame(const std::vector<Draw>& draws, double mean, double largest) {
  const auto [least, greatest] = std::ranges::minmax_element(draws, {}, &Draw::mean);
  return std::isfinite(mean) && std::isfinite(largest) && greatest->mean - least->mean <= kRounding * largest;
}

}  // namespace

double SquaredErrorOfMean(const std::vector<Draw>& draws, double mean, double largest) {
  if (AreTheSame(draws, mean, largest)) return 0;
  double pairs = 0;
  for (const Draw& draw : draws) pairs += draw.pairs;
  double squared_error = 0;
  for (const Draw& draw : draws) {
    const double share = draw.pairs / pairs, rest = (pairs - draw.pairs) / pairs;
    const double distance = share * (draw.mean - mean);
    squared_error += distance * distance / rest;  // A draw pulls the mean towards itself: `rest` is what that leaves of its variance.
  }
  return squared_error;
}

}  // namespace longreach::catalog
