// How MeasurePackLimit() finds out how many jobs are worth training together.
#pragma once

#include <span>

#include "worker/trainer/train.h"

namespace longreach::trainer {

inline constexpr int kLargestTrial = 128;

// As in train.h, where each size has at least so many seconds, and an update of each length. INVALID_ARGUMENT: seconds below 0, too.
absl::StatusOr<PackLimit> MeasurePackLimit(const PackLimitRequest& request, double seconds_each);

// The smallest of them that is nearly as fast as the fastest; 1 of none.
int WorthwhilePack(std::span<const PackTrial> trials);

}  // namespace longreach::trainer
