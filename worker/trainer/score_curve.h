// When a pack is tested while it is trained, and at which lengths: the settings evaluation.curve_every and curve_lengths. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "worker/trainer/engine/member_state.h"
#include "worker/trainer/train.h"

namespace longreach::trainer {

class Problem;

// Its points are after each curve_every updates, and after the last one. What is measured at the last is what the tests at the end measure, so nothing
// is tested twice.
class ScoreCurve {
 public:
  explicit ScoreCurve(const PackSettings& settings);

  // Nothing is tested on the way, and nothing of it measured.
  bool empty() const { return every_ == 0; }
  // Ascending, of each point.
  const std::vector<int>& lengths() const { return lengths_; }
  // Tests that have been made of a pack that is to go on from here, a length each, of all points before and of one at `step`; the last point's are not
  // among them.
  int TestsBy(int step) const;
  // Of the point on the way that is at this step, how many are made, where so many are of all points. None: there is no such point.
  std::optional<int> TestsOfPointAt(int step, int curve_tests) const;
  // Updates that may follow on `step` until tests are due, at least one.
  int UpdatesUntilTests(int step) const;

  // Values of each metric that it has: of each point one at each length, and their mean.
  int64_t Values() const { return empty() ? 0 : (PointsOnTheWay() + int64_t{1}) * (static_cast<int64_t>(lengths_.size()) + 1); }

  // For the log, once so many tests are made: CurveLine() of the members that still take part, by the first metric that the problem scores. Empty: they
  // do not end a point, or one that is left out, as a log is to hold other lines too.
  std::string LineAfter(int curve_tests, const Problem& problem, const std::vector<MemberState>& members) const;

  // Of a member that is done: what Problem::Scores() makes of each point, over all its lengths and at each, in the slice "step=N".
  std::vector<Measurement> Measurements(const Problem& problem, const MemberState& member) const;

 private:
  // Those before the last.
  int PointsOnTheWay() const { return empty() ? 0 : (steps_ - 1) / every_; }

  // What one of them came to.
  TestScores AtPoint(const MemberState& member, size_t point) const;

  int steps_;
  int every_;
  std::vector<int> lengths_;
  std::vector<size_t> places_;  // Of them in evaluation.lengths.
};

}  // namespace longreach::trainer
