#include "worker/trainer/problems/measurements.h"

#include <algorithm>

#include "proto/base/text.h"

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

double ShareOf(const Hits& hits) { return static_cast<double>(hits.hits) / static_cast<double>(std::max<int64_t>(1, hits.counted)); }

std::vector<Measurement> OutputScores(const std::vector<int>& lengths, const std::vector<std::vector<Hits>>& by_length) {
  struct Mean {
    double sum = 0;
    int of = 0;
  };
  std::vector<Mean> means;
  std::vector<Measurement> all;
  const auto add = [&all](int length, size_t output, double value) {
    all.push_back({.metric = "output_accuracy", .length = length, .slice = Text("output=", output + 1), .value = value});
  };
  for (size_t i = 0; i < lengths.size(); ++i) {
    const std::vector<Hits>& outputs = by_length.at(i);
    means.resize(std::max(means.size(), outputs.size()));
    for (size_t o = 0; o < outputs.size(); ++o) {
      if (outputs[o].counted == 0) continue;
      add(lengths[i], o, ShareOf(outputs[o]));
      means[o].sum += ShareOf(outputs[o]);
      ++means[o].of;
    }
  }
  for (size_t o = 0; o < means.size(); ++o) {
    if (means[o].of > 0) add(0, o, means[o].sum / means[o].of);
  }
  return all;
}

}  // namespace longreach::trainer
