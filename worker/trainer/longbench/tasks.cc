#include "worker/trainer/longbench/tasks.h"

#include <algorithm>

#include "worker/trainer/longbench/metrics.h"

namespace longreach::longbench {

namespace {

constexpr Task kTasks[] = {{"narrativeqa", "NQA", Metric::kTokenF1, 128, false},
                           {"qasper", "Qsp", Metric::kTokenF1, 128, false},
                           {"multifieldqa_en", "MulF", Metric::kTokenF1, 64, false},
                           {"hotpotqa", "HpQA", Metric::kTokenF1, 32, false},
                           {"2wikimqa", "2WQA", Metric::kTokenF1, 32, false},
                           {"musique", "Musq", Metric::kTokenF1, 32, false},
                           {"gov_report", "GRpt", Metric::kRougeL, 512, false},
                           {"qmsum", "QSum", Metric::kRougeL, 512, false},
                           {"multi_news", "MulN", Metric::kRougeL, 512, false},
                           {"trec", "TREC", Metric::kClassMatch, 64, true},
                           {"triviaqa", "TrQA", Metric::kTokenF1, 32, true},
                           {"samsum", "SSum", Metric::kRougeL, 128, true},
                           {"passage_count", "PsgC", Metric::kCount, 32, false},
                           {"passage_retrieval_en", "PsgR", Metric::kRetrieval, 32, false},
                           {"lcc", "Lcc", Metric::kCodeSimilarity, 64, false},
                           {"repobench-p", "Re-P", Metric::kCodeSimilarity, 64, false}};

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

std::span<const Task> Tasks() { return kTasks; }

const Task* FindTask(std::string_view name) {
  const auto found = std::ranges::find(kTasks, name, &Task::name);
  return found == std::end(kTasks) ? nullptr : &*found;
}

double Score(const Task& task, std::string_view prediction, std::span<const std::string> answers,
    std::span<const std::string> classes,
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
