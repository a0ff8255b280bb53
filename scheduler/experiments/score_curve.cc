#include "scheduler/experiments/score_curve.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "proto/catalog/limits.h"

namespace longreach::experiments {

void CheckScoreCurve(const Settings& settings, Checks& checks) {
  const v1::Training& training = settings.training;
  const v1::Evaluation& evaluation = settings.evaluation;
  checks.Range("evaluation.curve_every", evaluation.curve_every(), 0, std::numeric_limits<int32_t>::max());
  if (evaluation.curve_every() == 0) {
    if (!evaluation.curve_lengths().empty()) {
      checks.Refuse("evaluation.curve_lengths: are tested while a job is trained only with evaluation.curve_every\n  set it to the updates between two tests");
    }
    return;
  }
  if (training.steps() > 0 && evaluation.curve_every() > training.steps()) {
    checks.Refuse(fmt::format("evaluation.curve_every: {} updates are more than training.steps, {}: nothing would be tested before the end\n"
                              "  set fewer, or leave it out", evaluation.curve_every(), training.steps()));
  }
  if (const int64_t values = CurveValues(training, evaluation); values > catalog::kMaxValuesOfMetric) {
    const int64_t a_point = int64_t{CurveLengths(evaluation).size()} + 1, points = catalog::kMaxValuesOfMetric / a_point;
    checks.Refuse(fmt::format("evaluation.curve_every: {} points of {} lengths and their mean are more than {} values of a metric\n  {}",
                              values / a_point, a_point - 1, catalog::kMaxValuesOfMetric,
                              points == 0 ? "name fewer of evaluation.lengths in evaluation.curve_lengths"
                                          : fmt::format("set evaluation.curve_every to at least {}, or name fewer of evaluation.lengths in evaluation.curve_lengths",
                                                        (training.steps() + points - 1) / points)));
  }
}

void CompleteScoreCurve(const v1::Training& training, v1::Evaluation& evaluation) {
  if (training.steps() == 0 || evaluation.curve_every() == 0) {
    evaluation.clear_curve_every();
    evaluation.clear_curve_lengths();
  }
  if (std::ranges::equal(evaluation.curve_lengths(), evaluation.lengths())) evaluation.clear_curve_lengths();
}

int64_t CurvePointsOnTheWay(const v1::Training& training, const v1::Evaluation& evaluation) {
  if (training.steps() <= 0 || evaluation.curve_every() <= 0) return 0;
  return (training.steps() - 1) / evaluation.curve_every();
}

int64_t CurveValues(const v1::Training& training, const v1::Evaluation& evaluation) {
  if (training.steps() <= 0 || evaluation.curve_every() <= 0) return 0;
  return (CurvePointsOnTheWay(training, evaluation) + 1) * (int64_t{CurveLengths(evaluation).size()} + 1);
}

}  // namespace longreach::experiments
