#include "worker/trainer/llama/passkey_questions.h"

#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "proto/base/text.h"
#include "worker/trainer/llama/config.h"
#include "worker/trainer/llama/landmark_prompts.h"
#include "worker/trainer/llama/passkey_prompts.h"

namespace longreach::trainer {

namespace {

constexpr uint32_t kAuthorsSeed = 42;

double MeanOf(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

Measurement AccuracyAt(int64_t length, const std::string& slice, double value) {
  return {.metric = "passkey_accuracy", .length = static_cast<int>(length), .slice = slice, .value = value};
}

PasskeyRule RuleOf(const PackSettings::Evaluation& evaluation) {
  return {.seed = kAuthorsSeed + evaluation.seed,
          .lengths = {evaluation.passkey_lengths.begin(), evaluation.passkey_lengths.end()},
          .depths = evaluation.passkey_depths,
          .tests = evaluation.passkey_tests};
}

class NopeQuestions final : public PasskeyQuestions {
 public:
  NopeQuestions(const PackSettings::Evaluation& tests, std::unique_ptr<tokenizer::Tokenizer> tokenizer)
      : depths_(tests.passkey_depths), cells_(PasskeyTasks(RuleOf(tests))), tokenizer_(std::move(tokenizer)) {}

  int cells() const override { return static_cast<int>(cells_.size()); }
  int64_t LengthOf(int cell) const override { return cells_[static_cast<size_t>(cell)].length; }

  absl::StatusOr<std::vector<AskedPasskey>> Of(int cell, const std::function<void()>&) override {
    const PasskeyCell& tests = cells_[static_cast<size_t>(cell)];
    std::vector<AskedPasskey> questions;
    for (size_t test = 0; test < tests.keys.size(); ++test) {
      const int64_t position = tests.positions[test];
      const std::string& key = tests.keys[test];
      ASSIGN_OR_RETURN(PasskeyIds ids, tokenizer_ != nullptr ? MakePasskeyIds(*tokenizer_, tests.length, position, key)
                                                             : MakePasskeyBytes(tests.length, position, key));
      AskedPasskey& question = questions.emplace_back();
      question.prompt = std::move(ids.prompt);
      question.rule.most_new_tokens = static_cast<int64_t>(ids.answer.size());
      question.is_right = [key_ids = std::move(ids.answer)](const Tokens& answer) -> absl::StatusOr<bool> { return answer == key_ids; };
    }
    return questions;
  }

  std::vector<Measurement> Measurements(const std::vector<double>& shares) const override {
    std::vector<std::vector<double>> by_depth(static_cast<size_t>(depths_));
    std::vector<Measurement> all;
    const auto slice_of = [&](int depth) { return Text("depth=", ShortestNumber(static_cast<double>(depth) / depths_)); };
    for (size_t first = 0; first < cells_.size(); first += static_cast<size_t>(depths_)) {
      std::vector<double> of_length;
      for (int depth = 0; depth < depths_; ++depth) {
        const double share = shares[first + static_cast<size_t>(depth)];
        of_length.push_back(share);
        by_depth[static_cast<size_t>(depth)].push_back(share);
        all.push_back(AccuracyAt(cells_[first].length, slice_of(depth), share));
      }
      all.push_back(AccuracyAt(cells_[first].length, "", MeanOf(of_length)));
    }
    for (int depth = 0; depth < depths_; ++depth) all.push_back(AccuracyAt(0, slice_of(depth), MeanOf(by_depth[static_cast<size_t>(depth)])));
    all.push_back(AccuracyAt(0, "", MeanOf(shares)));
    return all;
  }

 private:
  int depths_;
  std::vector<PasskeyCell> cells_;
  std::unique_ptr<tokenizer::Tokenizer> tokenizer_;
};

class LandmarkQuestions final : public PasskeyQuestions {
 public:
  LandmarkQuestions(const PackSettings& settings, std::unique_ptr<tokenizer::Tokenizer> tokenizer)
      : tests_(settings.evaluation), lengths_(tests_.passkey_lengths.rbegin(), tests_.passkey_lengths.rend()), tokenizer_(std::move(tokenizer)) {
    if (settings.model.config) rule_.eos = settings.model.config->eos;
  }

  int cells() const override { return static_cast<int>(lengths_.size()); }
  int64_t LengthOf(int cell) const override { return lengths_[static_cast<size_t>(cell)]; }

  absl::StatusOr<std::vector<AskedPasskey>> Of(int cell, const std::function<void()>& between) override {
    const int64_t length = LengthOf(cell);
    std::vector<AskedPasskey> questions;
    for (int test = 0; test < tests_.passkey_tests; ++test) {
      const LandmarkDraw draw = DrawLandmark(tests_.seed, length, test);
      ASSIGN_OR_RETURN(LandmarkIds ids, MakeLandmarkIds(tokenizer_.get(), length, draw, between));
      questions.push_back({.prompt = std::move(ids.prompt),
                           .rule = rule_,
                           .is_right = [this, key = draw.key](const Tokens& answer) -> absl::StatusOr<bool> {
                             ASSIGN_OR_RETURN(const std::string text, TextOf(answer));
                             return LandmarkAnswer(text) == key;
                           }});
    }
    return questions;
  }

  std::vector<Measurement> Measurements(const std::vector<double>& shares) const override {
    std::vector<Measurement> all;
    for (size_t cell = 0; cell < lengths_.size(); ++cell) all.push_back(AccuracyAt(lengths_[cell], "", shares[cell]));
    all.push_back(AccuracyAt(0, "", MeanOf(shares)));
    return all;
  }

 private:
  absl::StatusOr<std::string> TextOf(const Tokens& answer) const {
    if (tokenizer_ != nullptr) return tokenizer_->Decode(answer);
    return std::string(answer.begin(), answer.end());
  }

  PackSettings::Evaluation tests_;
  std::vector<int64_t> lengths_;
  std::unique_ptr<tokenizer::Tokenizer> tokenizer_;
  GenerationRule rule_{.most_new_tokens = kLandmarkAnswer};
};

}  // namespace

std::unique_ptr<PasskeyQuestions> MakePasskeyQuestions(const PackSettings& settings, std::unique_ptr<tokenizer::Tokenizer> tokenizer) {
  if (settings.evaluation.passkey_prompts == "landmark") return std::make_unique<LandmarkQuestions>(settings, std::move(tokenizer));
  return std::make_unique<NopeQuestions>(settings.evaluation, std::move(tokenizer));
}

}  // namespace longreach::trainer
