#include "proto/base/line_fit.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "proto/base/text.h"

namespace longreach {

namespace {

double Mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Not by their distances from the mean: that of equal values may be off by a rounding.
bool AreAlike(std::span<const double> values) {
  return std::ranges::all_of(values, [&values](double value) { return value == values.front(); });
}

}  // namespace

absl::StatusOr<FittedLine> FitLine(std::span<const double> x, std::span<const double> y) {
  if (x.size() != y.size() || x.size() < 2) {
    return absl::InvalidArgumentError(Text("a line cannot be fitted to ", x.size(), " and ", y.size(), " values"));
  }
  if (AreAlike(x)) return absl::InvalidArgumentError(Text("a line cannot be fitted where all x are ", x.front()));
  if (AreAlike(y)) return FittedLine{.slope = 0, .intercept = y.front()};
  const double mean_x = Mean(x), mean_y = Mean(y);
  double xx = 0, xy = 0, yy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - mean_x) * (x[i] - mean_x);
    xy += (x[i] - mean_x) * (y[i] - mean_y);
    yy += (y[i] - mean_y) * (y[i] - mean_y);
  }
  if (!(xx > 0)) return absl::InvalidArgumentError(Text("a line cannot be fitted where all x are ", mean_x));
  FittedLine line{.slope = xy / xx, .intercept = mean_y - xy / xx * mean_x};
  if (yy > 0) line.correlation = xy / std::sqrt(xx * yy);
  return line;
}

}  // namespace longreach
