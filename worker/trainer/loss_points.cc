#include "worker/trainer/loss_points.h"

#include <algorithm>
#include <cstdint>

#include "proto/catalog/limits.h"

namespace longreach::trainer {

namespace {

// Updates from one point to the next.
int PointInterval(int steps) { return std::max(1, steps / catalog::kMaxLossPoints + (steps % catalog::kMaxLossPoints != 0)); }

}  // namespace

std::vector<LossPoint> AddLosses(const std::vector<StepResult>& results, int steps, PackState& state) {
  std::vector<LossPoint> points;
  ++state.loss_updates;
  const bool complete = state.step % PointInterval(steps) == 0 || state.step == steps;
  for (size_t m = 0; m < results.size(); ++m) {
    MemberState& member = state.members[m];
    if (!member.live) continue;
    member.loss_sum += results[m].loss;
    if (!complete) continue;
    member.curve.push_back(member.loss_sum / state.loss_updates);
    points.push_back({.member = static_cast<int>(m), .step = state.step, .loss = member.curve.back()});
    member.loss_sum = 0;
  }
  if (complete) state.loss_updates = 0;
  return points;
}

std::vector<LossPoint> PointsSoFar(const PackState& state, int steps) {
  std::vector<LossPoint> points;
  for (size_t m = 0; m < state.members.size(); ++m) {
    const std::vector<double>& curve = state.members[m].curve;
    for (size_t i = 0; i < curve.size(); ++i) {
      const int64_t step = static_cast<int64_t>(i + 1) * PointInterval(steps);
      points.push_back({.member = static_cast<int>(m), .step = static_cast<int>(std::min<int64_t>(step, steps)), .loss = curve[i]});
    }
  }
  return points;
}

}  // namespace longreach::trainer
