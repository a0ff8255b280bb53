// What a sweep says for nothing.
#pragma once

#include <string>
#include <vector>

#include "scheduler/experiments/expansion.h"

namespace longreach::experiments {

// Paths of settings ("model.t5_buckets"), ascending, to which the sweep or one of its systems gives another value than the default, and which none of its
// jobs has, nor any that makes an input of theirs. `expansion` is of that sweep; of a larger one than kMostLookedAt jobs nothing is said.
inline constexpr int64_t kMostLookedAt = 20'000;
std::vector<std::string> UnusedSettings(const v1::SweepSpec& sweep, Expansion& expansion);

}  // namespace longreach::experiments
