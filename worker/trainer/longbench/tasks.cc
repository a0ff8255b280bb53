#include "worker/trainer/longbench/tasks.h"

#include <algorithm>

#include "worker/trainer/longbench/metrics.h"

namespace longreach::longbench {

namespace {

double ScoreOne(Metric metric, std::string_view prediction, std::string_view answer, std::span<const std::string> classes,
                LineMatcher matcher) {
  switch (metric) {
    case Metric::kTokenF1: return TokenF1(prediction, answer);
    case Metric::kRougeL: return RougeL(prediction, answer);
    case Metric::kClassMatch: return ClassMatch(prediction, answer, classes);
    case Metric::kCount: return Count(prediction, answer);
    case Metric::kRetrieval: return Retrieval(prediction, answer);
    case Metric::kCodeSimilarity: return CodeSimilarity(prediction, answer, matcher);
  }
  return 0;
}

}  // namespace

double Score(const Task& task, std::string_view prediction, std::span<const std::string> answers, std::span<const std::string> classes,
             LineMatcher matcher) {
  if (task.first_line_only) {
    prediction.remove_prefix(std::min(prediction.find_first_not_of('\n'), prediction.size()));
    prediction = prediction.substr(0, prediction.find('\n'));
  }
  double best = 0;
  for (const std::string& answer : answers) best = std::max(best, ScoreOne(task.metric, prediction, answer, classes, matcher));
  return best;
}

}  // namespace longreach::longbench
