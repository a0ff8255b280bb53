// Passkeys as landmark attention asks them: draws, how long prompts become, and which answers are right.
#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/catalog/limits.h"
#include "worker/trainer/llama/config.h"
#include "worker/trainer/llama/landmark_prompts.h"
#include "worker/trainer/llama/passkey_questions.h"

namespace longreach::trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const auto kNothing = [] {};

// Three characters to a token, but an odd one takes a token of its own: a longer text may have fewer.
class Triples final : public tokenizer::Tokenizer {
 public:
  // All ids mean this together.
  explicit Triples(std::string meaning = "") : meaning_(std::move(meaning)) {}

  absl::StatusOr<std::vector<int64_t>> Encode(std::string_view text) override {
    return std::vector<int64_t>(text.size() / 3 + text.size() % 2, 5);
  }
  absl::StatusOr<std::string> Decode(std::span<const int64_t> ids) override {
    if (ids.empty()) return absl::UnavailableError("gone");
    return meaning_;
  }
  int64_t vocabulary() const override { return 8; }
  std::optional<int64_t> bos() const override { return 1; }
  std::optional<int64_t> eos() const override { return 2; }

 private:
  std::string meaning_;
};

PackSettings Settings() {
  PackSettings settings;
  settings.evaluation.passkey_lengths = {300, 400};
  settings.evaluation.passkey_tests = 3;
  settings.evaluation.passkey_prompts = "landmark";
  return settings;
}

TEST(LandmarkTest, DrawsKeysAndDepthsOfEveryPromptByItself) {
  std::set<std::pair<uint32_t, int64_t>> seen;
  int64_t least = 50'000, most = 1;
  double depths = 0;
  constexpr int kDraws = 2000;
  for (int test = 0; test < kDraws; ++test) {
    const LandmarkDraw draw = DrawLandmark(0, 1024, test);
    seen.emplace(draw.depth, draw.key);
    least = std::min(least, draw.key);
    most = std::max(most, draw.key);
    depths += draw.depth * 0x1p-32 / kDraws;
  }
  EXPECT_EQ(seen.size(), static_cast<size_t>(kDraws));
  EXPECT_GE(least, 1);
  EXPECT_LT(least, 500);
  EXPECT_LE(most, 50'000);
  EXPECT_GT(most, 49'500);
  EXPECT_NEAR(depths, 0.5, 0.03);
  // Part of every result: they may never change.
  EXPECT_EQ(DrawLandmark(0, 4096, 1).depth, 3535028258u);
  EXPECT_EQ(DrawLandmark(0, 4096, 1).key, 10895);
  EXPECT_NE(DrawLandmark(1, 4096, 1).key, 10895);
}

TEST(LandmarkTest, APromptOfBytesFillsItsLengthUpToTheAnswer) {
  for (const uint32_t depth : {0u, 1u << 31, 0xffffffffu}) {
    const absl::StatusOr<LandmarkIds> ids = MakeLandmarkIds(nullptr, 700, {.depth = depth, .key = 48213}, kNothing);
    ASSERT_TRUE(ids.ok()) << ids.status();
    EXPECT_EQ(ids->prompt.size() + 10, 700u);
    EXPECT_EQ(ids->filler, 700 - catalog::kLeastLandmarkBytes);
    // All of [0, filler] are as likely.
    EXPECT_EQ(ids->prefix, depth == 0 ? 0 : depth == 1u << 31 ? (ids->filler + 1) / 2 : ids->filler);
    EXPECT_EQ(std::string(ids->prompt.begin(), ids->prompt.end()), *LandmarkPrompt(ids->filler, ids->prefix, 48213));
  }
}

TEST(LandmarkTest, TheLeastLengthHoldsTheLongestKeyWithoutFiller) {
  const absl::StatusOr<LandmarkIds> least = MakeLandmarkIds(nullptr, catalog::kLeastLandmarkBytes, {.depth = 1u << 31, .key = 50'000}, kNothing);
  ASSERT_TRUE(least.ok()) << least.status();
  EXPECT_EQ(least->filler, 0);
  EXPECT_EQ(least->prefix, 0);
  EXPECT_THAT(std::string(MakeLandmarkIds(nullptr, catalog::kLeastLandmarkBytes - 1, {.depth = 0, .key = 50'000}, kNothing).status().message()),
              HasSubstr("a passkey prompt of 256 tokens has no room"));
}

TEST(LandmarkTest, APromptOfTokensFitsWhereACharacterMoreDoesNot) {
  Triples tokenizer;
  for (int64_t length = 100; length < 140; ++length) {
    const LandmarkDraw draw = DrawLandmark(3, length, 0);
    int texts = 0;
    const absl::StatusOr<LandmarkIds> ids = MakeLandmarkIds(&tokenizer, length, draw, [&] { ++texts; });
    ASSERT_TRUE(ids.ok()) << ids.status();
    EXPECT_EQ(ids->prompt.front(), 1);
    const auto tokens = [&](int64_t filler) {
      return static_cast<int64_t>(tokenizer.EncodeWithBos(*LandmarkPrompt(filler, 0, draw.key))->size());
    };
    EXPECT_EQ(static_cast<int64_t>(ids->prompt.size()), tokens(ids->filler));
    EXPECT_LE(tokens(ids->filler), length - kLandmarkAnswer);
    EXPECT_GT(tokens(ids->filler + 1), length - kLandmarkAnswer);
    EXPECT_LT(texts, 20);
  }
}

TEST(LandmarkTest, MakingAPromptCanBeBrokenOff) {
  struct Stop {};
  int texts = 0;
  EXPECT_THROW(MakeLandmarkIds(nullptr, 5000, DrawLandmark(0, 5000, 0), [&] {
                 if (++texts == 3) throw Stop();
               }).IgnoreError(),
               Stop);
}

TEST(LandmarkTest, ALengthIsACellFromTheLongestDown) {
  const std::unique_ptr<PasskeyQuestions> questions = MakePasskeyQuestions(Settings(), nullptr);
  ASSERT_EQ(questions->cells(), 2);
  EXPECT_EQ(questions->LengthOf(0), 400);
  EXPECT_EQ(questions->LengthOf(1), 300);

  const std::vector<Measurement> measured = questions->Measurements({0.5, 1});
  const auto is = [](int length, double value) {
    return ::testing::AllOf(::testing::Field(&Measurement::metric, "passkey_accuracy"), ::testing::Field(&Measurement::length, length),
                          ::testing::Field(&Measurement::slice, ""), ::testing::Field(&Measurement::value, value));
  };
  EXPECT_THAT(measured, ElementsAre(is(400, 0.5), is(300, 1), is(0, 0.75)));
}

TEST(LandmarkTest, AnAnswerIsRightIfItsFirstNumberIsTheKey) {
  const std::unique_ptr<PasskeyQuestions> questions = MakePasskeyQuestions(Settings(), nullptr);
  const absl::StatusOr<std::vector<AskedPasskey>> asked = questions->Of(1, kNothing);
  ASSERT_TRUE(asked.ok()) << asked.status();
  ASSERT_EQ(asked->size(), 3u);
  for (int64_t test = 0; test < 3; ++test) {
    const AskedPasskey& one = (*asked)[static_cast<size_t>(test)];
    const std::string key = std::to_string(DrawLandmark(0, 300, test).key);
    EXPECT_THAT(std::string(one.prompt.begin(), one.prompt.end()), HasSubstr("The pass key is " + key + ". Remember it."));
    EXPECT_EQ(one.rule.most_new_tokens, 10);
    EXPECT_THAT(one.rule.eos, ElementsAre());
    const auto is_right = [&](const std::string& answer) { return *one.is_right(Tokens(answer.begin(), answer.end())); };
    EXPECT_TRUE(is_right(" " + key + ". 12"));
    EXPECT_TRUE(is_right("a 00" + key));  // A number, not a text.
    EXPECT_FALSE(is_right(" 0 " + key));
    EXPECT_FALSE(is_right(" " + key + "1"));
    EXPECT_FALSE(is_right(" the grass"));
  }
}

TEST(LandmarkTest, TokensAreReadAsTheirTextAndEndWithTheModelsEos) {
  PackSettings settings = Settings();
  LlamaConfig config;
  config.eos = {2, 6};
  settings.model.config = std::make_shared<const LlamaConfig>(config);
  const std::string key = std::to_string(DrawLandmark(0, 400, 0).key);
  const std::unique_ptr<PasskeyQuestions> questions = MakePasskeyQuestions(settings, std::make_unique<Triples>("is " + key + "."));
  const absl::StatusOr<std::vector<AskedPasskey>> asked = questions->Of(0, kNothing);
  ASSERT_TRUE(asked.ok()) << asked.status();
  EXPECT_THAT(asked->front().rule.eos, ElementsAre(2, 6));
  EXPECT_EQ(asked->front().prompt.front(), 1);
  EXPECT_TRUE(*asked->front().is_right({3, 5, 2}));
  EXPECT_FALSE(*asked->back().is_right({3, 5, 2}));  // It has another key.
  EXPECT_EQ(asked->front().is_right({}).status().code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace longreach::trainer
