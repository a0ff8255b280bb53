#include "scheduler/experiments/llama_checks.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "proto/base/text.h"
#include "proto/catalog/limits.h"
#include "proto/catalog/longbench.h"

namespace longreach::experiments {

namespace {

void CheckScales(const v1::Evaluation& evaluation, Checks& checks) {
  const auto& scales = evaluation.attention_scales();
  if (scales.size() > catalog::kMaxAttentionScales) {
    checks.Refuse(fmt::format("evaluation.attention_scales: {} scales; at most {} are tried\n  set fewer", scales.size(), catalog::kMaxAttentionScales));
  }
  // Over the lengths there is a best one, too.
  if (!scales.empty() && evaluation.position_bins() >= catalog::kMaxValuesOfMetric) {
    checks.Refuse(fmt::format("evaluation.position_bins: the best scales of {} bins and that over the lengths are more than {} values\n  set fewer",
                              evaluation.position_bins(), catalog::kMaxValuesOfMetric));
  }
  if (!scales.empty() && evaluation.position_bins() == 0) {
    checks.Refuse("evaluation.attention_scales: the best one is that of the least loss in a bin of positions\n  set evaluation.position_bins");
  }
  for (int i = 0; i < scales.size(); ++i) {
    if (!IsAboveZeroInFloat32(scales[i])) {
      checks.Refuse(fmt::format("evaluation.attention_scales: {} is not a finite number above 0 in float32", ShortestNumber(scales[i])));
    }
    if (i > 0 && scales[i] <= scales[i - 1]) {
      checks.Refuse(fmt::format("evaluation.attention_scales: {} does not follow {}\n  write them in ascending order", ShortestNumber(scales[i]),
                                ShortestNumber(scales[i - 1])));
    }
  }
}

void CheckPasskeys(const v1::Evaluation& evaluation, Checks& checks) {
  CheckWord("evaluation.passkey_prompts", evaluation.passkey_prompts(), {std::string(kLandmarkPrompts), "nope"}, checks);
  const auto& lengths = evaluation.passkey_lengths();
  if (lengths.empty()) return;
  const bool landmark = evaluation.passkey_prompts() == kLandmarkPrompts;
  const int shortest = *std::ranges::min_element(lengths), least = landmark ? catalog::kLeastLandmarkBytes : catalog::kLeastPasskeyBytes;
  if (shortest < least) {
    checks.Refuse(fmt::format("evaluation.passkey_lengths: {} bytes or tokens have no room for the text around a key and its question, which take {}\n"
                              "  set longer ones", shortest, least));
  }
  checks.Range("evaluation.passkey_tests", evaluation.passkey_tests(), 1, catalog::kMaxPasskeyTests);
  if (landmark) {
    if (lengths.size() >= catalog::kMaxValuesOfMetric) {
      checks.Refuse(fmt::format("evaluation.passkey_lengths: {} lengths and the mean over them are more than {} values\n  set fewer", lengths.size(),
                                catalog::kMaxValuesOfMetric));
    }
    return;
  }
  // A range of positions must hold one.
  checks.Range("evaluation.passkey_depths", evaluation.passkey_depths(), 1, catalog::kLeastPasskeyBytes);
  if ((int64_t{lengths.size()} + 1) * (int64_t{evaluation.passkey_depths()} + 1) > catalog::kMaxValuesOfMetric) {
    checks.Refuse(fmt::format("evaluation.passkey_depths: {} depths at {} lengths are more than {} values\n  set fewer", evaluation.passkey_depths(),
                              lengths.size(), catalog::kMaxValuesOfMetric));
  }
}

void CheckLongBench(const v1::Evaluation& evaluation, Checks& checks) {
  if (evaluation.longbench().empty()) {
    if (evaluation.has_longbench_window() || !evaluation.longbench_tasks().empty()) {
      checks.Refuse("evaluation.longbench: is not given, and settings for it are\n  name the data set that 'longreach data import longbench' made");
    }
    return;
  }
  CheckDataName("evaluation.longbench", evaluation.longbench(), checks);
  const std::vector<std::string> known = Names(catalog::kLongBenchTasks);
  std::vector<std::string> seen;
  for (const std::string& task : evaluation.longbench_tasks()) {
    CheckWord("evaluation.longbench_tasks", task, known, checks);
    if (std::ranges::find(seen, task) != seen.end()) checks.Refuse(fmt::format("evaluation.longbench_tasks: '{}' is there twice", task));
    seen.push_back(task);
  }
  if (!evaluation.has_longbench_window()) {
    checks.Refuse("evaluation.longbench_window: is not given\n  set the most tokens that a prompt may have, such as 3500 for a model of 4096");
  }
  checks.Range("evaluation.longbench_window", evaluation.longbench_window(), catalog::kLeastLongBenchWindow, kMaxSize);
  checks.Range("evaluation.longbench_beams", evaluation.longbench_beams(), 1, catalog::kMaxLongBenchBeams);
  checks.Range("evaluation.longbench_samples", evaluation.longbench_samples(), 0, kMaxSize);
}

}  // namespace

void CheckFolder(const v1::SweepSpec& sweep, Checks& checks) {
  const v1::Model& model = sweep.model();
  for (const std::string& task : sweep.axes().task()) {
    if (model.folder().empty() == (task != kTokensTask)) continue;
    checks.Refuse(model.folder().empty() ? "model.folder: the task 'tokens' is for a published model\n  set the data set that holds it, or take the task 'bytes'"
                                         : fmt::format("axes.task: '{}': the model of '{}' reads ids of its tokenizer\n  take the task 'tokens'", task,
                                                       model.folder()));
  }
  if (model.folder().empty()) {
    if (!sweep.evaluation().longbench().empty()) {
      checks.Refuse("evaluation.longbench: its texts are for a published model and its tokenizer\n  set model.folder and the task 'tokens', or leave it out");
    }
    return;
  }
  CheckDataName("model.folder", model.folder(), checks);
  // Their results would look like a spread of none.
  if (const int seeds = sweep.axes().seed_size(); seeds > 1) {
    checks.Refuse(fmt::format("axes.seed: {} seeds, which draw initial weights, and those of '{}' are trained already: the jobs would be one and the same\n"
                              "  give one; training.data_seed and evaluation.seed draw other data", seeds, model.folder()));
  }
  const int given = model.has_layers() + model.has_embedding_dim() + model.has_heads() + model.has_kv_heads() + model.has_mlp_dim();
  if (given != 0 && given != 5) {
    checks.Refuse(fmt::format("model: {} of layers, embedding_dim, heads, kv_heads and mlp_dim are given beside model.folder\n"
                              "  leave them out, or give all of them: the sizes in the folder's config.json", given));
  }
}

void CheckScaleByPosition(const v1::Model& model, const v1::Training& training, Checks& checks) {
  checks.Range("model.attention_scale_from", model.attention_scale_from(), 0, kMaxSize);
  const double growth = model.attention_scale_growth();
  if (!(std::abs(growth) <= kMostFactor)) {
    checks.Refuse(fmt::format("model.attention_scale_growth: {} is not a number from -{} to {}", ShortestNumber(growth), ShortestNumber(kMostFactor), ShortestNumber(kMostFactor)));
  }
  if (growth != 0 && model.attention_scale_from() == 0) {
    checks.Refuse(fmt::format("model.attention_scale_growth: {} is a factor of ln(position / attention_scale_from)\n"
                              "  set model.attention_scale_from to the first position that it is for, such as the training length", ShortestNumber(growth)));
  }
  if (model.attention_scale_from() > 0 && training.steps() > 0) {
    checks.Refuse(fmt::format("model.attention_scale_from: {} is for tests, and training.steps is {}\n"
                              "  set training.steps to 0 and give the trained weights (the input 'weights', or model.folder), or leave it out",
                              model.attention_scale_from(), training.steps()));
  }
}

void CheckTuning(const v1::Training& training, Checks& checks) {
  CheckWord("training.trainable", training.trainable(), {"all", "head_scales"}, checks);
  CheckWord("training.scale_bound", training.scale_bound(), {"clamp", "none", "relu"}, checks);
  if (!(std::abs(training.scale_lower_bound()) <= kMostFactor)) {
    checks.Refuse(fmt::format("training.scale_lower_bound: {} is not a number from -{} to {}", ShortestNumber(training.scale_lower_bound()),
                              ShortestNumber(kMostFactor), ShortestNumber(kMostFactor)));
  }
  if (!(training.weight_decay() >= 0 && training.weight_decay() < 1)) {
    checks.Refuse(fmt::format("training.weight_decay: {} is not in [0, 1)", ShortestNumber(training.weight_decay())));
  }
}

void CheckTests(const v1::Evaluation& evaluation, bool folder, Checks& checks) {
  const auto& lengths = evaluation.lengths();
  const int shortest = lengths.empty() ? 0 : *std::ranges::min_element(lengths);
  const int longest = lengths.empty() ? 0 : *std::ranges::max_element(lengths);
  checks.Range("evaluation.stride", evaluation.stride(), 0, kMaxSize);
  if (evaluation.stride() >= shortest) {
    checks.Refuse(fmt::format("evaluation.stride: {} {} of a window of {} cannot be scored: the first has none before it\n"
                              "  set fewer than the shortest of evaluation.lengths", evaluation.stride(), folder ? "tokens" : "bytes", shortest));
  }
  if (evaluation.has_perplexity_protocol()) {
    CheckWord("evaluation.perplexity_protocol", evaluation.perplexity_protocol(), {"nope", "nope_in_order", "yarn"}, checks);
    if (evaluation.stride() == 0) {
      checks.Refuse(fmt::format("evaluation.perplexity_protocol: '{}' is one of sliding windows, and evaluation.stride is 0\n  set evaluation.stride, such as 256",
                                evaluation.perplexity_protocol()));
    }
  }
  checks.Range("evaluation.position_bins", evaluation.position_bins(), 0, catalog::kMaxValuesOfMetric);
  if (evaluation.position_bins() > 0 && longest % evaluation.position_bins() != 0) {
    checks.Refuse(fmt::format("evaluation.position_bins: {} bins do not divide the longest of evaluation.lengths, {}",
                              evaluation.position_bins(), longest));
  }
  CheckScales(evaluation, checks);
  CheckPasskeys(evaluation, checks);
  CheckLongBench(evaluation, checks);
  if (evaluation.dropout()) checks.Refuse("evaluation.dropout: true: this model has none\n  leave it out");
  if (!evaluation.attention_lengths().empty()) {
    checks.Refuse("evaluation.attention_lengths: this kind keeps no attention matrices\n  evaluation.position_bins measures their entropies");
  }
}

}  // namespace longreach::experiments
