// LongBench's metrics beyond the golden pairs: texts of other scripts, empty ones, long ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "worker/trainer/longbench/code_points.h"
#include "worker/trainer/longbench/metrics.h"
#include "worker/trainer/longbench/tasks.h"

namespace longreach::longbench {
namespace {

using ::testing::ElementsAre;

TEST(LongBenchTest, WordsAreThoseOfPython) {
  // A letter of any script belongs to a word, a dash does not; a blank of any kind parts words.
  EXPECT_EQ(NormalizeAnswer("\xC3\x84pfel a\xC3\xA9 the\xE2\x80\x93" "end"), "\xC3\xA4pfel a\xC3\xA9 \xE2\x80\x93" "end");
  EXPECT_EQ(NormalizeAnswer("one\xC2\xA0two\xE3\x80\x80three"), "one two three");
  EXPECT_EQ(NormalizeAnswer("\xFFthe_an"), "\xEF\xBF\xBDthean");
}

TEST(LongBenchTest, CodePointsSurviveBothWays) {
  const std::string text = "a\xC3\xA9\xE4\xBD\xA0\xF0\x9F\x98\x80";
  EXPECT_EQ(Decode(text).size(), 4u);
  EXPECT_EQ(Encode(Decode(text)), text);
  // Cut off, overlong, a surrogate, beyond the last: one replacement for every byte.
  for (const char* bad : {"\xC3", "\xC0\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\x80"}) {
    EXPECT_EQ(Decode(bad), std::u32string(std::string_view(bad).size(), 0xFFFD)) << bad;
  }
}

TEST(LongBenchTest, WordsCountAsOftenAsBothHaveThem) {
  EXPECT_DOUBLE_EQ(TokenF1("x x y", "x x x"), 2.0 / 3);
  EXPECT_DOUBLE_EQ(TokenF1("", ""), 0);
}

TEST(LongBenchTest, RougeOfTextsThatThePackageRefusesIsZero) {
  EXPECT_EQ(RougeL("", "a b"), 0);
  EXPECT_EQ(RougeL("...", "a b"), 0);
  const auto long_prediction = [](int others) {
    std::string text = "word";
    for (int i = 0; i < others; ++i) text += " other";
    return text;
  };
  EXPECT_GT(RougeL(long_prediction(900), "word"), 0);
  EXPECT_EQ(RougeL(long_prediction(1100), "word"), 0);  // Python ends its recursion before it comes to the word.
}

TEST(LongBenchTest, SimilarityRoundsHalvesToEvenAndEqualTextsAreOne) {
  EXPECT_EQ(LineSimilarity(U"", U"", LineMatcher::kDifflib), 1);
  EXPECT_EQ(LineSimilarity(U"", U"x", LineMatcher::kLevenshtein), 0);
  // 2 * 1 / 16 = 0.125: the even one of 12 and 13.
  EXPECT_DOUBLE_EQ(LineSimilarity(U"abcdefgh", U"a1234567", LineMatcher::kDifflib), 0.12);
  // The longest block is abcd: nothing is left on its sides that both have.
  EXPECT_DOUBLE_EQ(LineSimilarity(U"1234abcd", U"abcd1x2x3x4x", LineMatcher::kDifflib), 0.4);
}

TEST(LongBenchTest, EveryTaskHasItsScore) {
  EXPECT_EQ(catalog::kLongBenchTasks.size(), 16u);
  EXPECT_EQ(catalog::FindLongBenchTask("lcc")->metric, Metric::kCodeSimilarity);
  EXPECT_EQ(catalog::FindLongBenchTask("longest"), nullptr);
  const std::vector<std::string> answers = {"Bern", "Paris"};
  EXPECT_DOUBLE_EQ(Score(*catalog::FindLongBenchTask("hotpotqa"), "Paris", answers, {}), 1);
  // Of these three only the first line counts.
  EXPECT_DOUBLE_EQ(Score(*catalog::FindLongBenchTask("triviaqa"), "\nRome\nParis", answers, {}), 0);
  EXPECT_GT(Score(*catalog::FindLongBenchTask("hotpotqa"), "\nRome\nParis", answers, {}), 0);
}

}  // namespace
}  // namespace longreach::longbench
