#include "proto/base/line_fit.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "proto/base/text.h"

namespace longreach {

namespace {

// The power of two of the largest value. With it divided out no sum of squares can overflow, or vanish; that changes no digit.
int PowerOfTwo(std::span<const double> values) {
  double largest = 0;
  for (const double value : values) largest = std::max(largest, std::abs(value));
  return largest > 0 && std::isfinite(largest) ? std::ilogb(largest) : 0;
}

std::vector<double> Divided(std::span<const double> values, int power) {
  std::vector<double> divided;
  for (const double value : values) divided.push_back(std::ldexp(value, -power));
  return divided;
}

double Mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Not by their distances from the mean: that of equal values may be off by a rounding.
bool AreAlike(std::span<const double> values) {
  return std::ranges::all_of(values, [&values](double value) { return value == values.front(); });
}

}  // namespace

absl::StatusOr<FittedLine> FitLine(std::span<const double> all_x, std::span<const double> all_y) {
  if (all_x.size() != all_y.size() || all_x.size() < 2) {
    return absl::InvalidArgumentError(Text("a line cannot be fitted to ", all_x.size(), " and ", all_y.size(), " values"));
  }
  if (AreAlike(all_x)) return absl::InvalidArgumentError(Text("a line cannot be fitted where all x are ", all_x.front()));
  if (AreAlike(all_y)) return FittedLine{.slope = 0, .intercept = all_y.front()};
  const int power_x = PowerOfTwo(all_x), power_y = PowerOfTwo(all_y);
  const std::vector<double> x = Divided(all_x, power_x), y = Divided(all_y, power_y);
  const double mean_x = Mean(x), mean_y = Mean(y);
  double xx = 0, xy = 0, yy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - mean_x) * (x[i] - mean_x);
    xy += (x[i] - mean_x) * (y[i] - mean_y);
    yy += (y[i] - mean_y) * (y[i] - mean_y);
  }
  if (!(xx > 0)) return absl::InvalidArgumentError(Text("a line cannot be fitted where all x are ", std::ldexp(mean_x, power_x)));
  FittedLine line{.slope = std::ldexp(xy / xx, power_y - power_x), .intercept = std::ldexp(mean_y - xy / xx * mean_x, power_y)};
  if (yy > 0) line.correlation = xy / std::sqrt(xx * yy);
  return line;
}

}  // namespace longreach
