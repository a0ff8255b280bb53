#include "scheduler/experiments/llama_mixture.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "proto/base/text.h"
#include "proto/catalog/limits.h"
#include "scheduler/experiments/data_kind.h"

namespace longreach::experiments {

void CheckMixture(const v1::Training& training, Checks& checks) {
  const auto& names = training.mixture();
  const auto& weights = training.mixture_weights();
  if (names.size() > catalog::kMaxMixture) {
    checks.Refuse(fmt::format("training.mixture: {} data sets; at most {}\n  import some of them as one", names.size(), catalog::kMaxMixture));
  }
  for (auto name = names.begin(); name != names.end(); ++name) {
    if (name->empty()) {
      checks.Refuse("training.mixture: '' names no data set\n  'longreach list data' shows those that workers have");
    } else {
      CheckDataName("training.mixture", *name, checks);
    }
    if (std::find(names.begin(), name, *name) != name) {
      checks.Refuse(fmt::format("training.mixture: '{}' is there twice\n  name it once, with the sum of its weights", *name));
    }
  }
  if (weights.size() != names.size()) {
    return checks.Refuse(fmt::format("training.mixture_weights: {} weights, and training.mixture names {} data sets\n  give each of them one, in their order",
                                     weights.size(), names.size()));
  }
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (int i = 0; i < weights.size(); ++i) {
    if (!std::isfinite(weights[i]) || weights[i] <= 0) {
      checks.Refuse(fmt::format("training.mixture_weights: {} is not a finite number above 0\n  set another, or take '{}' out", ShortestNumber(weights[i]),
                                names[i]));
    }
    if (weights[i] / sum < catalog::kLeastMixtureShare) {
      checks.Refuse(fmt::format("training.mixture_weights: {} of {} in all is so little that nothing is drawn from '{}'\n  set more, or take it out",
                                ShortestNumber(weights[i]), ShortestNumber(sum), names[i]));
    }
  }
}

void CompleteMixture(v1::Training& training) {
  if (training.steps() == 0) {
    training.clear_mixture();
    training.clear_mixture_weights();
  }
  if (training.mixture_size() != training.mixture_weights_size()) return;  // Refused.
  std::vector<std::pair<std::string, double>> parts;
  for (int i = 0; i < training.mixture_size(); ++i) parts.emplace_back(training.mixture(i), training.mixture_weights(i));
  std::ranges::sort(parts);
  for (int i = 0; i < training.mixture_size(); ++i) {
    const auto& [name, weight] = parts[static_cast<size_t>(i)];
    training.set_mixture(i, name);
    training.set_mixture_weights(i, weight);
  }
}

}  // namespace longreach::experiments
