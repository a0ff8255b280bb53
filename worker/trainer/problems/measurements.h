// What a member's tests come to, as its job is told.
#pragma once

#include <vector>

#include "worker/trainer/engine/member_state.h"
#include "worker/trainer/problems/problem.h"

namespace longreach::trainer {

// Metric by metric, of each the mean over all lengths and then the lengths, all of which the member was tested at; without a slice. What studies of passkeys
// and the like measure is not among them.
std::vector<Measurement> MeasurementsOfTests(const Problem& problem, const std::vector<int>& lengths, const TestScores& scores);

}  // namespace longreach::trainer
