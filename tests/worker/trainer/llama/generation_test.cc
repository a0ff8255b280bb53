// Greedy and beam search over a table of probabilities, and the schedule of head scales.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "worker/trainer/llama/generation.h"
#include "worker/trainer/llama/head_scales.h"

namespace longreach::trainer {
namespace {

using ::testing::ElementsAre;

// The next token depends on the last one alone: log p of each row.
class Chain final : public Continuation {
 public:
  explicit Chain(std::vector<std::vector<float>> probabilities) : rows_(std::move(probabilities)) {
    for (std::vector<float>& row : rows_) {
      for (float& p : row) p = std::log(p);
    }
  }
  std::vector<std::vector<float>> Next(const std::vector<Tokens>& sequences, std::span<const int64_t> parents) override {
    // What a cache relies on: sequence i is what was parents[i], and one token more.
    EXPECT_EQ(parents.empty(), before_.empty());
    std::vector<std::vector<float>> logits;
    for (size_t i = 0; i < sequences.size(); ++i) {
      if (!parents.empty()) {
        Tokens parent = sequences[i];
        parent.pop_back();
        EXPECT_EQ(parent, before_.at(static_cast<size_t>(parents[i])));
      }
      logits.push_back(rows_[static_cast<size_t>(sequences[i].back())]);
    }
    before_ = sequences;
    return logits;
  }

 private:
  std::vector<std::vector<float>> rows_;
  std::vector<Tokens> before_;
};

// From 0 the likelier way, 1, leads to even odds; the other, 2, to certainty.
Chain Fork() { return Chain({{0.01f, 0.59f, 0.4f}, {0.34f, 0.33f, 0.33f}, {0.98f, 0.01f, 0.01f}}); }

TEST(GenerationTest, GreedyTakesTheLikelierTokenAndBeamsTheLikelierSequence) {
  Chain greedy = Fork(), beams = Fork();

  const Generated taken = Greedy(greedy, {0}, {.most_new_tokens = 2});
  EXPECT_THAT(taken.tokens, ElementsAre(1, 0));
  EXPECT_NEAR(taken.smallest_margin, std::log(0.34 / 0.33), 1e-6);

  const Generated searched = BeamSearch(beams, {0}, {.beams = 2, .most_new_tokens = 2});
  EXPECT_THAT(searched.tokens, ElementsAre(2, 0));
  EXPECT_NEAR(searched.score, std::log(0.4 * 0.98) / 2, 1e-6);
}

TEST(GenerationTest, AnEosEndsASequence) {
  Chain greedy = Fork(), beams = Fork();

  EXPECT_THAT(Greedy(greedy, {0}, {.most_new_tokens = 9, .eos = {1}}).tokens, ElementsAre(1));
  // Without a penalty for length the short one wins; its score is kept as it is.
  const Generated searched = BeamSearch(beams, {0}, {.beams = 2, .most_new_tokens = 9, .eos = {1}, .length_penalty = 0});
  EXPECT_THAT(searched.tokens, ElementsAre(1));
  EXPECT_NEAR(searched.score, std::log(0.59), 1e-6);
}

TEST(GenerationTest, NoEosComesBeforeTheLeastTokens) {
  Chain greedy = Fork(), beams = Fork();

  // From 2 all but surely to 0, which ends nothing before its time.
  EXPECT_THAT(Greedy(greedy, {2}, {.most_new_tokens = 9, .eos = {0}, .least_new_tokens = 1}).tokens, ElementsAre(1, 0));
  const Generated searched = BeamSearch(beams, {2}, {.beams = 2, .most_new_tokens = 9, .eos = {0}, .least_new_tokens = 1});
  EXPECT_THAT(searched.tokens, ElementsAre(2, 0));
  EXPECT_NEAR(searched.score, std::log(0.01 * 0.98) / 2, 1e-6);
}

TEST(HeadScalesTest, TheRateWarmsUpFromZeroAndFallsToAShare) {
  const HeadScaleSettings settings;  // The paper's: 200 steps, 20 of them warm-up.
  const auto rate_at = [&](int step) { return RateAt(settings.schedule(), settings.learning_rate, step); };

  EXPECT_EQ(rate_at(0), 0);
  EXPECT_DOUBLE_EQ(rate_at(10), 0.05);
  EXPECT_DOUBLE_EQ(rate_at(20), 0.1);
  EXPECT_DOUBLE_EQ(rate_at(110), 0.055);
  EXPECT_NEAR(rate_at(200), 0.01, 1e-15);
}

TEST(HeadScalesTest, TheBoundHoldsFactorsAfterEveryUpdateButNotWhereReluDoes) {
  for (const auto bound : {HeadScaleSettings::Bound::kClamp, HeadScaleSettings::Bound::kRelu}) {
    HeadScaleSettings settings{.bound = bound, .learning_rate = 1, .warmup_steps = 0};
    HeadScaleOptimizer optimizer(settings, 2);
    std::vector<float> factors = {1.5f, 1.5f};
    const std::vector<float> gradient = {3, -4};

    EXPECT_DOUBLE_EQ(optimizer.Step(gradient, factors), 5);

    EXPECT_FLOAT_EQ(factors[0], bound == HeadScaleSettings::Bound::kClamp ? 1.0f : 0.5f);
    EXPECT_FLOAT_EQ(factors[1], 2.5f);
  }
}

TEST(HeadScalesTest, RefusesSettingsThatTrainNothing) {
  EXPECT_TRUE(Validate(HeadScaleSettings{}).ok());
  EXPECT_FALSE(Validate(HeadScaleSettings{.steps = 0}).ok());
  EXPECT_FALSE(Validate(HeadScaleSettings{.steps = 20, .warmup_steps = 20}).ok());
  EXPECT_FALSE(Validate(HeadScaleSettings{.learning_rate = std::nan("")}).ok());
}

}  // namespace
}  // namespace longreach::trainer
