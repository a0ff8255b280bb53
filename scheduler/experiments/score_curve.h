// Tests while a job is trained: evaluation.curve_every and curve_lengths, which the trainer makes a curve of scores of (worker/trainer/score_curve.h).
#pragma once

#include <cstdint>

#include "scheduler/experiments/transformer.h"

namespace longreach::experiments {

// Whether they fit the training, and are not more than is kept.
void CheckScoreCurve(const Settings& settings, Checks& checks);
// Leaves out what says nothing, so that a job that was made before there were curves is the same job. Lengths are in order.
void CompleteScoreCurve(const v1::Training& training, v1::Evaluation& evaluation);

// Of complete settings, or of ones that were checked.
// Times that each length of the curve is tested at before the end, which is a point as well.
int64_t CurvePointsOnTheWay(const v1::Training& training, const v1::Evaluation& evaluation);
// Values of each metric: at each length and over all of them, at each point.
int64_t CurveValues(const v1::Training& training, const v1::Evaluation& evaluation);
inline const google::protobuf::RepeatedField<int32_t>& CurveLengths(const v1::Evaluation& evaluation) {
  return evaluation.curve_lengths().empty() ? evaluation.lengths() : evaluation.curve_lengths();
}
// What tests at all lengths of the curve cost together, on the way, by what one length costs.
double CurveFlops(const v1::JobSpec& job, const auto& flops_at) {
  double of_point = 0;
  for (const int length : CurveLengths(job.evaluation())) of_point += flops_at(length);
  return static_cast<double>(CurvePointsOnTheWay(job.training(), job.evaluation())) * of_point;
}

}  // namespace longreach::experiments
