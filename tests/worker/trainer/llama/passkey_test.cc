// Passkey prompts, and what the paper fits to its measurements.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/catalog/limits.h"
#include "tests/support/passkey_lengths.h"
#include "worker/trainer/llama/fits.h"
#include "worker/trainer/llama/passkey_prompts.h"

namespace longreach::trainer {
namespace {

using ::longreach::testing::PasskeyLengths;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(PasskeyTest, PositionsLieInTheRangeOfTheirDepthAndKeysHaveFiveDigits) {
  const std::vector<PasskeyCell> cells = PasskeyTasks({.seed = 7, .lengths = PasskeyLengths(1000, 4), .depths = 5, .tests = 3});

  ASSERT_EQ(cells.size(), 20u);
  EXPECT_EQ(cells.front().length, 1000);
  EXPECT_EQ(cells.back().length, 250);
  for (size_t i = 0; i < cells.size(); ++i) {
    const int64_t interval = cells[i].length / 5, depth = static_cast<int64_t>(i) % 5;
    ASSERT_EQ(cells[i].positions.size(), 3u);
    ASSERT_EQ(cells[i].keys.size(), 3u);
    for (const int64_t position : cells[i].positions) {
      EXPECT_GE(position, depth * interval);
      EXPECT_LT(position, (depth + 1) * interval);
    }
    for (const std::string& key : cells[i].keys) EXPECT_EQ(key.size(), 5u);
  }
}

// numpy.random.RandomState(114): the authors' randint(10**4, 10**5) draws 99999, too.
TEST(PasskeyTest, KeysReachTheLargestNumberOfFiveDigits) {
  const std::vector<PasskeyCell> cells = PasskeyTasks({.seed = 114, .lengths = PasskeyLengths(32'768, 16), .depths = 10, .tests = 10});

  const PasskeyCell& cell = cells[14 * 10 + 9];
  EXPECT_EQ(cell.length, 4096);
  EXPECT_THAT(cell.positions, ElementsAre(3684, 4079, 4057, 4073, 3948, 4005, 3778, 3688, 3703, 4043));
  EXPECT_THAT(cell.keys, ElementsAre("34815", "10709", "66941", "95964", "31196", "90303", "99999", "54788", "99941", "60494"));
}

TEST(PasskeyTest, ThePromptHoldsWholeFillersAndStaysWithinItsBudget) {
  const PasskeyCounts counts{.task = 50, .info = 33, .filler = 42, .question = 13, .key = 6};
  for (int64_t length = 110; length < 2000; length += 37) {
    for (int64_t position = 0; position < length; position += 91) {
      const absl::StatusOr<PasskeyLayout> layout = LayOutPasskey(length, position, counts);
      ASSERT_TRUE(layout.ok()) << layout.status();
      const int64_t used = counts.task + counts.info + counts.question + counts.filler * (layout->fillers_before + layout->fillers_after);
      EXPECT_LE(used, length - counts.key);
      EXPECT_GT(used, length - counts.key - 2 * counts.filler);
    }
  }
  EXPECT_THAT(std::string(LayOutPasskey(90, 0, counts).status().message()),
      HasSubstr("a passkey prompt of 90 tokens has no room"));
}

TEST(PasskeyTest, APromptOfBytesIsItsText) {
  const absl::StatusOr<PasskeyIds> ids = MakePasskeyBytes(700, 300, "48213");
  ASSERT_TRUE(ids.ok()) << ids.status();
  const std::string prompt(ids->prompt.begin(), ids->prompt.end());
  EXPECT_EQ(prompt, PasskeyPrompt(ids->layout, "48213"));
  // Whole fillers alone: up to one less than what fits before the key and after it.
  EXPECT_LE(prompt.size() + 5, 700u);
  EXPECT_GT(prompt.size() + 5, 700u - 2 * PasskeyFiller().size());
  EXPECT_EQ(static_cast<int64_t>(prompt.find("\nThe pass key is 48213.")), ids->layout.position);
  EXPECT_LE(ids->layout.position, 300);
  EXPECT_EQ(std::string(ids->answer.begin(), ids->answer.end()), "48213");

  // What the scheduler takes for the least length is it.
  const absl::StatusOr<PasskeyIds> least = MakePasskeyBytes(catalog::kLeastPasskeyBytes, 200, "48213");
  ASSERT_TRUE(least.ok()) << least.status();
  EXPECT_EQ(least->prompt.size() + 5, static_cast<size_t>(catalog::kLeastPasskeyBytes));
  EXPECT_THAT(std::string(MakePasskeyBytes(catalog::kLeastPasskeyBytes - 1, 0, "48213").status().message()), HasSubstr("has no room"));
}

TEST(PasskeyTest, RefusesTasksThatCannotBeDrawn) {
  const std::vector<int64_t> lengths = PasskeyLengths(32768, 16);
  EXPECT_TRUE(Validate(PasskeyRule{.lengths = lengths}).ok());
  EXPECT_FALSE(Validate(PasskeyRule{.lengths = {}}).ok());
  EXPECT_FALSE(Validate(PasskeyRule{.lengths = {9, 100}, .depths = 10}).ok());
  EXPECT_FALSE(Validate(PasskeyRule{.lengths = {100, 100}}).ok());
  EXPECT_FALSE(Validate(PasskeyRule{.lengths = lengths, .tests = 1 << 20}).ok());
}

TEST(PasskeyTest, TheInventorsReadTheFirstNumberOfAnAnswer) {
  EXPECT_EQ(LandmarkAnswer(" 4711. Remember 12"), 4711);
  EXPECT_EQ(LandmarkAnswer("none"), std::nullopt);
  EXPECT_EQ(LandmarkAnswer("99999999999999999999999"), std::nullopt);
  EXPECT_FALSE(LandmarkPrompt(10, 11, 1).ok());
  EXPECT_THAT(*LandmarkPrompt(3, 1, 42), HasSubstr("there.\nT\nThe pass key is 42. Remember it. 42 is the pass key.\nTh\nWhat"));
}

TEST(FitsTest, FindTheGrowthThatMadeTheValues) {
  std::vector<double> best(300, 0.9);  // What lies before the training length does not count.
  for (size_t i = 100; i < best.size(); ++i) best[i] = 0.4 * std::log(static_cast<double>(i) / 100) + 1;
  EXPECT_NEAR(FitScaleGrowth(best, 100)->a, 0.4, 1e-12);
  EXPECT_NEAR(FitScaleGrowth(best, 100)->r2, 1, 1e-12);
}

TEST(FitsTest, HaveNoQualityWhereAllFactorsAreTheSame) {
  // 0.9 and 1.2 are no sums of few powers of two, so that the mean of as many as here is another number.
  for (const double factor : {0.9, 1.2}) EXPECT_EQ(FitScaleGrowth(std::vector<double>(64, factor), 16)->r2, 0) << factor;
}

TEST(FitsTest, RefuseValuesWithoutAFit) {
  const std::vector<double> best = {1, 3};
  EXPECT_FALSE(FitScaleGrowth(best, 1).ok());
}

}  // namespace
}  // namespace longreach::trainer
