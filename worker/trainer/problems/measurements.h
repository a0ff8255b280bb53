// What a member's tests come to, as its job is told.
#pragma once

#include <vector>

#include "worker/trainer/engine/member_state.h"
#include "worker/trainer/problems/problem.h"

namespace longreach::trainer {

// Metric by metric, of each the mean over all lengths and then the lengths, all of which the member was tested at; without a slice. What studies of passkeys
// and the like measure is not among them.
std::vector<Measurement> MeasurementsOfTests(const Problem& problem, const std::vector<int>& lengths, const TestScores& scores);

// The share of hits; 0 where nothing counts.
double ShareOf(const Hits& hits);

// Accuracy at each place among the outputs, at each of these lengths, and then the mean over those of them that have the place. A place that counts in no
// sequence has none.
std::vector<Measurement> OutputScores(const std::vector<int>& lengths, const std::vector<std::vector<Hits>>& by_length);

}  // namespace longreach::trainer
