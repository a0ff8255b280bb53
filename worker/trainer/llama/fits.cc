#include "worker/trainer/llama/fits.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "proto/base/text.h"

namespace longreach::trainer {

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
  const double mean = std::accumulate(beyond.begin(), beyond.end(), 0.0) / static_cast<double>(beyond.size());
  double left = 0, all = 0;
  for (size_t i = 0; i < beyond.size(); ++i) {
    const double error = beyond[i] - (fit.a * log_of(i) + 1);
    left += error * error;
    all += (beyond[i] - mean) * (beyond[i] - mean);
  }
  // The mean of equal factors may be off by a rounding, and a quotient by the square of that is no number of a fit.
  const auto [least, most] = std::ranges::minmax(beyond);
  fit.r2 = least < most ? 1 - left / all : 0;
  return fit;
}

std::optional<size_t> LeastLoss(std::span<const std::vector<double>> losses, std::span<const size_t> bins) {
  std::optional<size_t> best;
  double least = 0;
  for (size_t scale = 0; scale < losses.size(); ++scale) {
    double sum = 0;
    for (const size_t bin : bins) sum += losses[scale][bin];
    if (!std::isfinite(sum) || (best && sum >= least)) continue;
    best = scale;
    least = sum;
  }
  return best;
}

}  // namespace longreach::trainer
