// How long open work will take, from how fast such work went before.
#pragma once

#include <span>
#include <vector>

namespace longreach::core {

// Hours with the range in which nine of ten such estimates fall; all 0: nothing was measured yet.
struct Estimate {
  double hours = 0;
  double hours_low = 0;
  double hours_high = 0;
};

// `worker_rates`: FLOP per second of each worker at hand, 0 for one that was never measured: it counts as the median of
// `measured`. `measured`: rates of finished attempts, one each, from which the range follows.
Estimate EstimateHours(double flops, std::span<const double> worker_rates, std::span<const double> measured);

// 0 of nothing.
double Median(std::vector<double> values);

}  // namespace longreach::core
