#include "scheduler/experiments/length_scaling.h"

#include <string>

#include <fmt/format.h>

namespace longreach::experiments {

void SetNoLengthScaling(v1::Model& model) {
  model.set_length_scaling("none");
  model.set_length_scaling_from(0);
}

void CheckLengthScaling(const v1::Axes& axes, const Settings& settings, Checks& checks) {
  const v1::Model& model = settings.model;
  CheckWord("model.length_scaling", model.length_scaling(), {"log", "log_beyond", "none"}, checks);
  checks.Range("model.length_scaling_from", model.length_scaling_from(), 0, kMaxSize);
  if (model.length_scaling_from() == 1) checks.Refuse("model.length_scaling_from: 1 has the logarithm 0\n  set at least 2");
  if (model.length_scaling() == "none") return;
  for (const std::string& encoding : axes.encoding()) {
    if (encoding != "relative" && encoding != "relative:randomized") continue;
    checks.Refuse(fmt::format("model.length_scaling: '{}' multiplies products of queries and keys, and {} has terms beside them\n  leave one of the two out",
                              model.length_scaling(), encoding));
  }
  if (model.length_scaling_from() == 0 && settings.training.steps() == 0 && settings.training.lengths().empty()) {
    checks.Refuse("model.length_scaling_from: is not given, and there is no training to take it from\n"
                  "  set the longest tape that the weights were trained on, or training.lengths as they were trained at");
  }
}

void CompleteLengthScaling(v1::Model& model) {
  if (model.length_scaling() == "none") model.clear_length_scaling_from();
}

}  // namespace longreach::experiments
