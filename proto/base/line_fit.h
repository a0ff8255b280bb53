// The straight line through points: what the NoPE paper says of its heads' scales and entropies, and what `plot` does.
#pragma once

#include <optional>
#include <span>

#include "proto/base/status.h"

namespace longreach {

struct FittedLine {
  double slope = 0;
  double intercept = 0;
  std::optional<double> correlation = {};  // Pearson's r; nothing where all y are alike.
};

// Least squares of y on x. INVALID_ARGUMENT: fewer than two points, another number of each, or all x alike.
// Source: fig/fig_scale_vs_ent.ipynb of AntNLP/nope_head_scale.
absl::StatusOr<FittedLine> FitLine(std::span<const double> x, std::span<const double> y);

}  // namespace longreach
