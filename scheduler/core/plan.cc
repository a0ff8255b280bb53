#include "scheduler/core/plan.h"

#include <algorithm>
#include <cmath>

namespace longreach::core {
namespace {

// Of fewer attempts than this no range can be read off: then it is a factor of two either way.
constexpr size_t kEnough = 20;
constexpr double kUnknownFactor = 2;

// Models within this factor are of about one size: twice the width is four times the parameters, and training keeps four times what a test does.
constexpr double kLikeMemory = 8;
// A shorter attempt says nothing of jobs that need so many times as much.
constexpr double kLongSeconds = 60;
constexpr double kMuchMore = 10;

// `sorted` is not empty.
double Quantile(std::span<const double> sorted, double part) {
  const double at = part * static_cast<double>(sorted.size() - 1);
  const size_t below = static_cast<size_t>(at);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace

bool TellsOf(const WorkSize& measured, double seconds, const WorkSize& open) {
  if (measured.experiment != open.experiment) return false;
  if (measured.memory_bytes > kLikeMemory * open.memory_bytes || open.memory_bytes > kLikeMemory * measured.memory_bytes) return false;
  return seconds >= kLongSeconds || open.flops <= kMuchMore * measured.flops;
}

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  return Quantile(values, 0.5);
}

Estimate EstimateHours(double flops, std::span<const double> worker_rates, std::span<const double> measured) {
  const double usual = Median({measured.begin(), measured.end()});
  double rate = 0;
  for (const double worker : worker_rates) rate += worker > 0 ? worker : usual;
  if (flops <= 0 || rate <= 0 || usual <= 0) return {};
  Estimate estimate;
  estimate.hours = flops / rate / 3600;
  double slow = kUnknownFactor;
  double fast = kUnknownFactor;
  if (measured.size() >= kEnough) {
    std::vector<double> sorted(measured.begin(), measured.end());
    std::ranges::sort(sorted);
    slow = usual / Quantile(sorted, 0.05);
    fast = Quantile(sorted, 0.95) / usual;
  }
  estimate.hours_low = estimate.hours / fast;
  estimate.hours_high = estimate.hours * slow;
  return estimate;
}

}  // namespace longreach::core
