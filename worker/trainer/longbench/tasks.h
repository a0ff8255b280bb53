// LongBench's sixteen English and code tasks: what each is scored by and how much may be generated.
// Source: eval.py and config/dataset2maxlen.json of THUDM/LongBench.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "worker/trainer/longbench/similarity.h"

namespace longreach::longbench {

enum class Metric { kTokenF1, kRougeL, kClassMatch, kCount, kRetrieval, kCodeSimilarity };

struct Task {
  std::string_view name;
  std::string_view column;  // In the paper's table.
  Metric metric;
  int most_new_tokens;
  bool first_line_only;  // The prediction ends with its first line.
};

std::span<const Task> Tasks();      // In the order of the table.
const Task* FindTask(std::string_view name);

// The best score over the reference answers, 0 to 1.
double Score(const Task& task, std::string_view prediction, std::span<const std::string> answers,
    std::span<const std::string> classes,
             LineMatcher matcher = LineMatcher::kDifflib);

}  // namespace longreach::longbench
