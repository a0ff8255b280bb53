// Scores of LongBench's tasks, which proto/catalog lists.
// Source: eval.py of THUDM/LongBench.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "proto/catalog/longbench.h"
#include "worker/trainer/longbench/similarity.h"

namespace longreach::longbench {

using Metric = catalog::LongBenchMetric;
using Task = catalog::LongBenchTask;

// The best score over the reference answers, 0 to 1.
double Score(const Task& task, std::string_view prediction, std::span<const std::string> answers, std::span<const std::string> classes,
             LineMatcher matcher = LineMatcher::kDifflib);

}  // namespace longreach::longbench
