// How long open work will take, from how fast such work went before.
#pragma once

#include <compare>
#include <span>
#include <string_view>
#include <vector>

namespace longreach::core {

// What decides how fast a worker gets on with jobs.
struct WorkSize {
  std::string_view experiment;  // A kind's own name.
  double memory_bytes = 0;      // Of one job's parameters and all that training keeps of them.
  double flops = 0;             // Of one job.

  auto operator<=>(const WorkSize&) const = default;
};

// Whether an attempt at jobs of one size, which took so long, says how fast jobs of another are: those of another kind or of models of another
// size may be a hundred times as fast, and so may be those beside which a short attempt was hardly more than its start.
bool TellsOf(const WorkSize& measured, double seconds, const WorkSize& open);

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
