#include "worker/trainer/llama/passkey_study.h"

#include <algorithm>
#include <numeric>

#include "proto/base/text.h"
#include "worker/trainer/llama/evaluation.h"
#include "worker/trainer/llama/passkey_prompts.h"

namespace longreach::trainer {

namespace {

constexpr uint32_t kAuthorsSeed = 42;

PasskeyRule RuleOf(const PackSettings::Evaluation& evaluation) {
  return {.seed = kAuthorsSeed + evaluation.seed,
          .lengths = {evaluation.passkey_lengths.begin(), evaluation.passkey_lengths.end()},
          .depths = evaluation.passkey_depths,
          .tests = evaluation.passkey_tests};
}

double MeanOf(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

PasskeyStudy::PasskeyStudy(const PackSettings& settings, int threads, std::unique_ptr<tokenizer::Tokenizer> tokenizer)
    : settings_(settings), cells_(PasskeyTasks(RuleOf(settings.evaluation))), model_(settings, at::kCPU), pool_(threads), tokenizer_(std::move(tokenizer)) {}

absl::StatusOr<double> PasskeyStudy::Accuracy(const Tensor& member, int cell, const std::function<void()>& between) {
  const PasskeyCell& tests = cells_[static_cast<size_t>(cell)];
  const ParameterSet parameters = ViewParameters(model_.layout(), member.to(at::kCPU));
  const torch::NoGradGuard no_gradient;
  FrozenModel model{.decoder = &model_.decoder(), .parameters = &parameters, .head_factors = model_.HeadFactors(parameters)};
  const auto is_right = [&](const PasskeyIds& ids) {
    DecoderContinuation continuation(model, DecoderContinuation::Memory::kCache);
    return Greedy(continuation, ids.prompt, {.most_new_tokens = static_cast<int64_t>(ids.answer.size())}).tokens == ids.answer;
  };
  std::vector<PasskeyIds> prompts;
  for (size_t test = 0; test < tests.keys.size(); ++test) {
    const int64_t position = tests.positions[test];
    const std::string& key = tests.keys[test];
    ASSIGN_OR_RETURN(prompts.emplace_back(), tokenizer_ != nullptr ? MakePasskeyIds(*tokenizer_, tests.length, position, key)
                                                                   : MakePasskeyBytes(tests.length, position, key));
  }
  int64_t right = 0;
  if (tests.length >= kSharedPasskeyLength) {
    model.pool = &pool_;
    model.between = between;
    for (const PasskeyIds& ids : prompts) right += is_right(ids);
  } else {
    const int64_t count = static_cast<int64_t>(prompts.size());
    for (int64_t done = 0; done < count; done += pool_.threads()) {
      std::vector<char> answered(static_cast<size_t>(std::min<int64_t>(pool_.threads(), count - done)), 0);
      pool_.Run(static_cast<int64_t>(answered.size()), [&](int64_t i) {
        const c10::InferenceMode inference;
        answered[static_cast<size_t>(i)] = is_right(prompts[static_cast<size_t>(done + i)]);
      });
      right += std::ranges::count(answered, 1);
      between();
    }
  }
  return static_cast<double>(right) / static_cast<double>(prompts.size());
}

std::vector<Measurement> PasskeyStudy::Measurements(const std::vector<double>& shares) const {
  const int depths = settings_.evaluation.passkey_depths;
  std::vector<std::vector<double>> by_depth(static_cast<size_t>(depths));
  std::vector<Measurement> all;
  const auto add = [&](int64_t length, const std::string& slice, double value) {
    all.push_back({.metric = "passkey_accuracy", .length = static_cast<int>(length), .slice = slice, .value = value});
  };
  const auto slice_of = [&](int depth) { return Text("depth=", ShortestNumber(static_cast<double>(depth) / depths)); };
  for (size_t first = 0; first < cells_.size(); first += static_cast<size_t>(depths)) {
    std::vector<double> of_length;
    for (int depth = 0; depth < depths; ++depth) {
      const double share = shares[first + static_cast<size_t>(depth)];
      of_length.push_back(share);
      by_depth[static_cast<size_t>(depth)].push_back(share);
      add(cells_[first].length, slice_of(depth), share);
    }
    add(cells_[first].length, "", MeanOf(of_length));
  }
  for (int depth = 0; depth < depths; ++depth) add(0, slice_of(depth), MeanOf(by_depth[static_cast<size_t>(depth)]));
  add(0, "", MeanOf(shares));
  return all;
}

}  // namespace longreach::trainer
