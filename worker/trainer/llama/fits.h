// What the paper fits to its measurements: a line, the growth of the best scale with length, a moving average. Without torch.
// Source: fig/fig_fit.ipynb and fig/fig_scale_vs_ent.ipynb of AntNLP/nope_head_scale.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "proto/base/status.h"

namespace longreach::trainer {

struct Line {
  double slope = 0;
  double intercept = 0;
  double correlation = 0;  // Pearson's r.
};

// Least squares of y on x. INVALID_ARGUMENT: fewer than two points, another number of each, or all x alike.
absl::StatusOr<Line> FitLine(std::span<const double> x, std::span<const double> y);

struct ScaleGrowth {
  double a = 0;   // The best factor at position i is a ln(i / L) + 1.
  double r2 = 0;  // Against the mean of the factors.
};

// From the best factor of each position from 0 on, over those from the training length L on. INVALID_ARGUMENT: fewer than two
// positions beyond it.
absl::StatusOr<ScaleGrowth> FitScaleGrowth(std::span<const double> best_factor, int64_t training_length);

// The mean over the values up to width / 2 places away on either side, fewer at the ends.
std::vector<double> MovingAverage(std::span<const double> values, int64_t width);

}  // namespace longreach::trainer
