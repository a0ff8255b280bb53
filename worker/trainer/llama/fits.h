// What the paper fits to its measurements: the growth of the best scale with length. Without torch.
// Source: fig/fig_fit.ipynb of AntNLP/nope_head_scale.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "proto/base/status.h"

namespace longreach::trainer {

struct ScaleGrowth {
  double a = 0;   // The best factor at position i is a ln(i / L) + 1.
  double r2 = 0;  // Against the mean of the factors; 0 where these are all the same.
};

// From the best factor of each position from 0 on, over those from the training length L on. INVALID_ARGUMENT: fewer than two
// positions beyond it.
absl::StatusOr<ScaleGrowth> FitScaleGrowth(std::span<const double> best_factor, int64_t training_length);

// Of losses by scale and bin: the place of the first scale with the least sum over `bins`. One whose sum is not finite, as attention may overflow at a
// large scale, is never the best; nothing where none is finite.
std::optional<size_t> LeastLoss(std::span<const std::vector<double>> losses, std::span<const size_t> bins);

}  // namespace longreach::trainer
