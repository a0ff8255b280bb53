// What becomes of prompts as ids: long ones lose their middle, passkeys keep to their budget.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "worker/tokenizer/sentence_pieces.h"
#include "worker/trainer/llama/landmark_prompts.h"
#include "worker/trainer/llama/passkey_prompts.h"
#include "worker/trainer/longbench/truncation.h"

namespace longreach {
namespace {

using tokenizer::SentencePieces;

class PromptIdsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto started = SentencePieces::Start(LONGREACH_GOLDEN_TOKENIZER "/tokenizer.model", LONGREACH_TOKENIZER);
    ASSERT_TRUE(started.ok()) << started.status();
    pieces_ = *std::move(started);
  }

  std::unique_ptr<SentencePieces> pieces_;
};

TEST_F(PromptIdsTest, LongPromptsKeepTheirTwoEndsAndShortOnesAreAsTheyWere) {
  std::string text = "It begins.";
  for (int i = 0; i < 100; ++i) text += " The grass is green.";
  text += " It ends.";

  const auto cut = longbench::TruncateMiddle(*pieces_, text, 60);
  const auto whole = longbench::TruncateMiddle(*pieces_, text, 100000);

  ASSERT_TRUE(cut.ok()) << cut.status();
  EXPECT_TRUE(cut->starts_with("It begins. The grass"));
  EXPECT_TRUE(cut->ends_with("green. It ends."));
  const auto ids = pieces_->EncodeWithBos(*cut);
  ASSERT_TRUE(ids.ok());
  EXPECT_NEAR(static_cast<double>(ids->size()), 60, 4);
  EXPECT_EQ(*whole, text);
  EXPECT_FALSE(longbench::TruncateMiddle(*pieces_, text, 1).ok());
}

TEST_F(PromptIdsTest, PasskeyPromptsOfACellAreEquallyLongAndHoldTheirKeyWhereItBelongs) {
  const std::vector<trainer::PasskeyCell> cells = trainer::PasskeyTasks({.lengths = {400, 800}, .depths = 2, .tests = 3});
  ASSERT_EQ(cells.size(), 4u);
  for (const trainer::PasskeyCell& cell : cells) {
    std::vector<size_t> sizes;
    for (size_t i = 0; i < cell.keys.size(); ++i) {
      const auto ids = trainer::MakePasskeyIds(*pieces_, cell.length, cell.positions[i], cell.keys[i]);
      ASSERT_TRUE(ids.ok()) << ids.status();
      sizes.push_back(ids->prompt.size());
      EXPECT_LE(static_cast<int64_t>(ids->prompt.size() + ids->answer.size()), cell.length);
      EXPECT_EQ(ids->prompt.front(), 1);
      const auto text = pieces_->Decode(ids->prompt);
      ASSERT_TRUE(text.ok());
      EXPECT_EQ(*text, trainer::PasskeyPrompt(ids->layout, cell.keys[i]));
      EXPECT_EQ(*pieces_->Decode(ids->answer), cell.keys[i]);
    }
    EXPECT_EQ(sizes, std::vector<size_t>(sizes.size(), sizes.front()));
  }
  EXPECT_FALSE(trainer::MakePasskeyIds(*pieces_, 50, 0, "12345").ok());
}

TEST_F(PromptIdsTest, LandmarkPromptsHaveAsMuchFillerAsLeavesRoomForTheAnswer) {
  for (const int64_t length : {300, 800}) {
    for (int64_t test = 0; test < 4; ++test) {
      const trainer::LandmarkDraw draw = trainer::DrawLandmark(0, length, test);
      int tokenized = 0;
      const auto ids = trainer::MakeLandmarkIds(pieces_.get(), length, draw, [&] { ++tokenized; });
      ASSERT_TRUE(ids.ok()) << ids.status();
      const auto size = static_cast<int64_t>(ids->prompt.size());
      EXPECT_LE(size + trainer::kLandmarkAnswer, length);
      // A character moves both places where filler is cut, so it may make some tokens more.
      EXPECT_GT(size + trainer::kLandmarkAnswer, length - 8);
      EXPECT_EQ(ids->prompt.front(), 1);
      EXPECT_LT(tokenized, 30);
      const auto text = pieces_->Decode(ids->prompt);
      ASSERT_TRUE(text.ok());
      EXPECT_EQ(*text, *trainer::LandmarkPrompt(ids->filler, ids->prefix, draw.key));
    }
  }
  EXPECT_FALSE(trainer::MakeLandmarkIds(pieces_.get(), 50, {.depth = 0, .key = 12345}, [] {}).ok());
}

}  // namespace
}  // namespace longreach
