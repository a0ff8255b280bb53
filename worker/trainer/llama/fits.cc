#include "worker/trainer/llama/fits.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "proto/base/text.h"

namespace longreach::trainer {

namespace {

double Mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

absl::StatusOr<Line> FitLine(std::span<const double> x, std::span<const double> y) {
  if (x.size() != y.size() || x.size() < 2) {
    return absl::InvalidArgumentError(Text("a line cannot be fitted to ", x.size(), " and ", y.size(), " values"));
  }
  const double mean_x = Mean(x), mean_y = Mean(y);
  double xx = 0, xy = 0, yy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - mean_x) * (x[i] - mean_x);
    xy += (x[i] - mean_x) * (y[i] - mean_y);
    yy += (y[i] - mean_y) * (y[i] - mean_y);
  }
  if (!(xx > 0)) return absl::InvalidArgumentError(Text("a line cannot be fitted where all x are ", mean_x));
  return Line{.slope = xy / xx, .intercept = mean_y - xy / xx * mean_x, .correlation = yy > 0 ? xy / std::sqrt(xx * yy) : 0};
}

absl::StatusOr<ScaleGrowth> FitScaleGrowth(std::span<const double> best_factor, int64_t training_length) {
  const int64_t positions = static_cast<int64_t>(best_factor.size());
  if (training_length < 1 || positions < training_length + 2) {
    return absl::InvalidArgumentError(
        Text("the growth of the best scale needs two positions from ", training_length, " on; there are positions up to ",
            positions - 1));
  }
  const std::span<const double> beyond = best_factor.subspan(static_cast<size_t>(training_length));
  const auto log_of = [&](size_t i) { return std::log1p(static_cast<double>(i) / static_cast<double>(training_length)); };
  double numerator = 0, denominator = 0;
  for (size_t i = 0; i < beyond.size(); ++i) {
    numerator += log_of(i) * (beyond[i] - 1);
    denominator += log_of(i) * log_of(i);
  }
  ScaleGrowth fit{.a = numerator / denominator};
  const double mean = Mean(beyond);
  double left = 0, all = 0;
  for (size_t i = 0; i < beyond.size(); ++i) {
    const double error = beyond[i] - (fit.a * log_of(i) + 1);
    left += error * error;
    all += (beyond[i] - mean) * (beyond[i] - mean);
  }
  fit.r2 = all > 0 ? 1 - left / all : 0;
  return fit;
}

std::vector<double> MovingAverage(std::span<const double> values, int64_t width) {
  std::vector<double> result;
  const int64_t count = static_cast<int64_t>(values.size()), half = width / 2;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t first = std::max<int64_t>(i - half, 0), last = std::min(i + half, count - 1);
    result.push_back(Mean(values.subspan(static_cast<size_t>(first), static_cast<size_t>(last - first + 1))));
  }
  return result;
}

}  // namespace longreach::trainer
