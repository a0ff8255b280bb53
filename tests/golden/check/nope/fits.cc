// What the paper fits to its measurements.
#include <algorithm>
#include <numeric>

#include "tests/golden/check/nope/checks.h"
#include "worker/trainer/llama/fits.h"

namespace longreach::golden {

namespace {

using nlohmann::json;

constexpr double kFit = 1e-6;

// How the paper's figures are smoothed, which ours are not: the mean over the values up to width / 2 places away on either side, fewer at the
// ends.
std::vector<double> MovingAverage(const std::vector<double>& values, int64_t width) {
  std::vector<double> result;
  const int64_t count = static_cast<int64_t>(values.size()), half = width / 2;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t first = std::max<int64_t>(i - half, 0), end = std::min(i + half + 1, count);
    result.push_back(std::accumulate(values.begin() + first, values.begin() + end, 0.0) / static_cast<double>(end - first));
  }
  return result;
}

}  // namespace

void CheckNopeFits(NopeSet& set, Report& report) {
  CheckJson(set, "fit.json", report, [](const json& stored, FileCheck& check) {
    const auto best = stored.at("best_factor_by_position").get<std::vector<double>>();
    const absl::StatusOr<trainer::ScaleGrowth> fit = trainer::FitScaleGrowth(best, stored.at("pretrain_length").get<int64_t>());
    check.Require(fit.ok(), std::string(fit.status().message()));
    if (fit.ok()) {
      check.Compare("a", fit->a - stored.at("a").get<double>(), kFit);
      check.Compare("r2", fit->r2 - stored.at("r2").get<double>(), kFit);
    }
    const json& average = stored.at("moving_average");
    const auto in = average.at("in").get<std::vector<double>>(), out = average.at("out").get<std::vector<double>>();
    const std::vector<double> ours = MovingAverage(in, average.at("w").get<int64_t>());
    check.Require(ours.size() == out.size(), "moving_average has another number of values");
    for (size_t i = 0; i < out.size() && i < ours.size(); ++i) check.Compare("moving_average", ours[i] - out[i], kFit);
  });
}

}  // namespace longreach::golden
