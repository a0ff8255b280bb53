// Windows, continuations and head-scale tuning of a small model.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/worker/trainer/llama/tiny.h"
#include "worker/trainer/llama/evaluation.h"
#include "worker/trainer/llama/tuning.h"

namespace longreach::trainer {
namespace {

using ::testing::HasSubstr;

class LlamaEvaluationTest : public ::testing::Test {
 protected:
  FrozenModel Model() { return {.decoder = &decoder_, .parameters = &parameters_, .head_factors = {}}; }

  LlamaDecoder decoder_{TinyConfig()};
  ParameterSet parameters_ = ViewParameters(decoder_.layout(), DrawParameters(decoder_, 1) * 3);
  std::vector<int64_t> document_ = {3, 9, 27, 31, 43, 29, 37, 11, 33, 49};
};

TEST_F(LlamaEvaluationTest, AWindowsLossIsTheMeanOverItsScoredTokens) {
  LlamaFeed feed;
  feed.batch = 1;
  feed.length = 6;
  feed.tokens = at::tensor(std::vector<int64_t>(document_.begin() + 2, document_.begin() + 8), at::kLong);
  const torch::NoGradGuard no_gradient;
  const Tensor losses = decoder_.TokenLosses(parameters_, feed)[0];

  EXPECT_NEAR(*WindowLoss(Model(), document_, {0, 2, 8, 2}, -1), losses.narrow(0, 3, 2).mean().item<double>(), 1e-5);
  // All of them are scored: the first has nothing before it.
  EXPECT_NEAR(*WindowLoss(Model(), document_, {0, 2, 8, 6}, -1), losses.mean().item<double>(), 1e-5);
  // Behind a BOS it has.
  EXPECT_NE(*WindowLoss(Model(), document_, {0, 2, 8, 6}, 1), *WindowLoss(Model(), document_, {0, 2, 8, 6}, -1));
}

TEST_F(LlamaEvaluationTest, RefusesWindowsAndTokensThatDoNotFit) {
  EXPECT_THAT(std::string(WindowLoss(Model(), document_, {0, 5, 11, 2}, -1).status().message()),
      HasSubstr("from 5 to 11 that scores 2 tokens does not fit a document of 10"));
  EXPECT_FALSE(WindowLoss(Model(), document_, {0, 5, 6, 1}, -1).ok());
  document_[4] = 50;
  EXPECT_THAT(std::string(WindowLoss(Model(), document_, {0, 2, 8, 2}, -1).status().message()),
      HasSubstr("token 50 is not in the model's vocabulary of 50"));
}

TEST_F(LlamaEvaluationTest, ACacheChangesNoTokenOfGreedyAndBeams) {
  const GenerationRule greedy{.most_new_tokens = 20}, beams{.beams = 4, .most_new_tokens = 12};
  std::vector<Tokens> by_greedy, by_beams;
  for (const auto memory : {DecoderContinuation::Memory::kNone, DecoderContinuation::Memory::kCache,
      DecoderContinuation::Memory::kCacheAsTransformers}) {
    DecoderContinuation one(Model(), memory), other(Model(), memory);
    by_greedy.push_back(Greedy(one, document_, greedy).tokens);
    by_beams.push_back(BeamSearch(other, document_, beams).tokens);
  }
  EXPECT_EQ(by_greedy[0].size(), 20u);
  EXPECT_EQ(by_beams[0].size(), 12u);
  for (size_t i = 1; i < by_greedy.size(); ++i) {
    EXPECT_EQ(by_greedy[i], by_greedy[0]);
    EXPECT_EQ(by_beams[i], by_beams[0]);
  }
}

TEST_F(LlamaEvaluationTest, TuningLowersTheLossAndAMemberOfAPackIsTunedAsAlone) {
  const std::vector<HeadScaleSettings> settings =
      {{.bound = HeadScaleSettings::Bound::kNone, .learning_rate = 0.05, .steps = 30, .warmup_steps = 3},
                                                   {.bound = HeadScaleSettings::Bound::kClamp, .learning_rate = 0.2,
                                                       .steps = 30, .warmup_steps = 3}};
  const Tensor initial = at::stack({at::full({2, 4}, 1.0f), at::full({2, 4}, 1.5f)});
  const Tensor before = DrawParameters(decoder_, 1) * 3;
  const Tensor tokens = (at::arange(2 * 25, at::kLong) * 7 + 3).remainder(50).view({2, 25});
  HeadScaleTuner pack(decoder_, parameters_, settings, initial, nullptr);
  HeadScaleTuner alone(decoder_, parameters_, {settings[1]}, initial.narrow(0, 1, 1), nullptr);

  std::vector<TuningStep> first, last;
  for (int step = 0; step < 30; ++step) {
    last = pack.Step(tokens);
    if (step == 0) first = last;
    EXPECT_EQ(alone.Step(tokens)[0].loss, last[1].loss);
  }

  EXPECT_TRUE(at::equal(pack.factors()[1], alone.factors()[0]));
  EXPECT_LT(last[0].loss, first[0].loss);
  EXPECT_LT(last[1].loss, first[1].loss);
  EXPECT_GE(pack.factors()[1].min().item<float>(), 1.0f);
  for (size_t i = 0; i < parameters_.size(); ++i) {
    EXPECT_TRUE(at::equal(parameters_[i], ViewParameters(decoder_.layout(), before)[i])) << "a frozen weight has changed";
  }
}

}  // namespace
}  // namespace longreach::trainer
