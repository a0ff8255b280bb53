#include "worker/trainer/problems/measurements.h"

namespace longreach::trainer {

std::vector<Measurement> MeasurementsOfTests(const Problem& problem, const std::vector<int>& lengths, const TestScores& scored) {
  // By metric, over all lengths first.
  std::vector<std::vector<Measurement>> by_metric;
  for (size_t i = 0; i < lengths.size(); ++i) {
    const Tested tested = {.accuracy = scored.accuracy.at(i), .loss = scored.loss.at(i), .exact_match = problem.ScoresExactMatch() ? scored.exact_match.at(i) : 0};
    const std::vector<Score> scores = problem.Scores(lengths[i], tested);
    by_metric.resize(scores.size());
    for (size_t s = 0; s < scores.size(); ++s) {
      std::vector<Measurement>& of_metric = by_metric[s];
      if (of_metric.empty()) of_metric.push_back({.metric = scores[s].metric, .length = 0, .slice = "", .value = 0});
      of_metric.push_back({.metric = scores[s].metric, .length = lengths[i], .slice = "", .value = scores[s].value});
      of_metric[0].value += scores[s].value;
    }
  }
  std::vector<Measurement> all;
  for (std::vector<Measurement>& of_metric : by_metric) {
    of_metric[0].value /= static_cast<double>(lengths.size());
    all.insert(all.end(), of_metric.begin(), of_metric.end());
  }
  return all;
}

}  // namespace longreach::trainer
