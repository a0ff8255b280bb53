// The loss curves of a pack's members: of each update a loss, of many updates a point.
#pragma once

#include <vector>

#include "worker/trainer/engine/engine.h"
#include "worker/trainer/engine/state.h"
#include "worker/trainer/train.h"

namespace longreach::trainer {

// Adds the losses of the update that the state has just counted, of a training of so many steps; returns the points that it completes.
std::vector<LossPoint> AddLosses(const std::vector<StepResult>& results, int steps, PackState& state);
// All points that there are.
std::vector<LossPoint> PointsSoFar(const PackState& state, int steps);

}  // namespace longreach::trainer
