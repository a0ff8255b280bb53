#include "tests/golden/check/nope/checks.h"
#include "worker/trainer/llama/fits.h"

namespace longreach::golden {

namespace {

using nlohmann::json;

constexpr double kFit = 1e-6;

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
    const std::vector<double> ours = trainer::MovingAverage(in, average.at("w").get<int64_t>());
    check.Require(ours.size() == out.size(), "moving_average has another number of values");
    for (size_t i = 0; i < out.size() && i < ours.size(); ++i) check.Compare("moving_average", ours[i] - out[i], kFit);
  });
}

}  // namespace longreach::golden
