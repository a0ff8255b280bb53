#include "worker/trainer/score_curve.h"

#include <algorithm>

#include "proto/base/text.h"
#include "worker/trainer/milestones.h"
#include "worker/trainer/problems/measurements.h"

namespace longreach::trainer {

namespace {

// Of the log.
constexpr int kMostLines = 100;

// Of those that there are; where a problem scores no exact match, there are none.
std::vector<double> At(const std::vector<double>& values, const std::vector<size_t>& places) {
  std::vector<double> chosen;
  for (const size_t place : places) {
    if (place < values.size()) chosen.push_back(values[place]);
  }
  return chosen;
}

TestScores At(const TestScores& scores, const std::vector<size_t>& places) {
  return {.accuracy = At(scores.accuracy, places), .loss = At(scores.loss, places), .exact_match = At(scores.exact_match, places)};
}

}  // namespace

ScoreCurve::ScoreCurve(const PackSettings& settings)
    : steps_(settings.training.steps),
      every_(settings.training.steps > 0 ? settings.evaluation.curve_every : 0),
      lengths_(settings.evaluation.curve_lengths.empty() ? settings.evaluation.lengths : settings.evaluation.curve_lengths) {
  const std::vector<int>& tested = settings.evaluation.lengths;
  for (const int length : lengths_) places_.push_back(static_cast<size_t>(std::ranges::lower_bound(tested, length) - tested.begin()));
}

int ScoreCurve::TestsBy(int step) const {
  if (empty()) return 0;
  return std::min(step / every_, PointsOnTheWay()) * static_cast<int>(lengths_.size());
}

std::optional<int> ScoreCurve::TestsOfPointAt(int step, int curve_tests) const {
  if (empty() || step == 0 || step >= steps_ || step % every_ != 0) return std::nullopt;
  return curve_tests - (TestsBy(step) - static_cast<int>(lengths_.size()));
}

int ScoreCurve::UpdatesUntilTests(int step) const {
  const int left = std::max(1, steps_ - step);
  return empty() ? left : std::min(left, every_ - step % every_);
}

TestScores ScoreCurve::AtPoint(const MemberState& member, size_t point) const {
  std::vector<size_t> places;
  for (size_t i = 0; i < lengths_.size(); ++i) places.push_back(point * lengths_.size() + i);
  return At(member.on_the_way, places);
}

std::string ScoreCurve::LineAfter(int curve_tests, const Problem& problem, const std::vector<MemberState>& members) const {
  const int lengths = static_cast<int>(lengths_.size()), points = curve_tests / lengths;
  // The first of them all, and then as many as leave the log readable.
  const int apart = PointsOnTheWay() / kMostLines + 1;
  if (curve_tests % lengths != 0 || (points - 1) % apart != 0) return "";
  std::vector<double> means;
  std::string metric;
  for (const MemberState& member : members) {
    if (!member.live) continue;
    const Measurement mean = MeasurementsOfTests(problem, lengths_, AtPoint(member, static_cast<size_t>(points) - 1)).front();
    metric = mean.metric;
    means.push_back(mean.value);
  }
  return means.empty() ? "" : CurveLine(points * every_, steps_, metric, means, lengths_);
}

std::vector<Measurement> ScoreCurve::Measurements(const Problem& problem, const MemberState& member) const {
  std::vector<Measurement> all;
  if (empty()) return all;
  const auto add = [&](int step, const TestScores& scores) {
    std::vector<Measurement> of_point = MeasurementsOfTests(problem, lengths_, scores);
    for (Measurement& one : of_point) one.slice = Text("step=", step);
    all.insert(all.end(), of_point.begin(), of_point.end());
  };
  for (int point = 0; point < PointsOnTheWay(); ++point) {
    add((point + 1) * every_, AtPoint(member, static_cast<size_t>(point)));
  }
  add(steps_, At(member.at_end, places_));
  return all;
}

}  // namespace longreach::trainer
