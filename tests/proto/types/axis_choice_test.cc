#include "proto/types/axis_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace longreach {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

AxisChoice Choice(const std::string& axis, std::string_view text) {
  AxisChoice choice(axis);
  const absl::Status added = choice.Add(text);
  EXPECT_TRUE(added.ok()) << added;
  return choice;
}

std::string WhyNot(const std::string& axis, std::string_view text) { return std::string(AxisChoice(axis).Add(text).message()); }

TEST(AxisChoiceTest, RangesHaveBothEnds) {
  const AxisChoice lengths = Choice("length", "10,41..60");
  for (const char* length : {"10", "41", "50", "60"}) EXPECT_TRUE(lengths.Has(length)) << length;
  for (const char* length : {"0", "9", "11", "40", "61", "all", ""}) EXPECT_FALSE(lengths.Has(length)) << length;
  EXPECT_TRUE(Choice("learning_rate", "1e-4..5e-4").Has("0.0005"));
  EXPECT_TRUE(Choice("depth", "0.1..0.5").Has("0.1"));
}

TEST(AxisChoiceTest, WordsAreAscending) {
  EXPECT_THAT(Choice("length", "70,41..60,9").Words(), ElementsAre("9", "41 to 60", "70"));
  EXPECT_THAT(Choice("task", "b,a").Words(), ElementsAre("a", "b"));
}

TEST(AxisChoiceTest, NamesAreNoRanges) {
  EXPECT_TRUE(Choice("system", "a..b").Has("a..b"));
  EXPECT_TRUE(Choice("model.folder", "../weights").Has("../weights"));
  EXPECT_THAT(Choice("system", "1..2").ranges(), ::testing::IsEmpty());
}

TEST(AxisChoiceTest, AListMayHaveTheBracketsOfASweepFile) {
  EXPECT_THAT(Choice("seed", "[0,2..3]").Words(), ElementsAre("0", "2 to 3"));
  EXPECT_TRUE(Choice("encoding", "[rope]").Has("rope"));
}

TEST(AxisChoiceTest, AListMayHaveBlanksBetweenItsValues) {
  EXPECT_THAT(Choice("seed", "0, 2..4 ").Words(), ElementsAre("0", "2 to 4"));
  EXPECT_THAT(Choice("task", " [even_pairs, bucket_sort]").values(), ElementsAre("bucket_sort", "even_pairs"));
  EXPECT_THAT(Choice("training.weight_decay", "").values(), ElementsAre("")) << "jobs that do not have it";
}

TEST(AxisChoiceTest, ARangeAsOthersWriteItIsToldHowItIsWritten) {
  EXPECT_EQ(WhyNot("seed", "0-4"), "'0-4' is no number; a range is written seed=0..4");
  EXPECT_EQ(WhyNot("length", "50,41:60"), "'41:60' is no number; a range is written length=41..60");
  EXPECT_TRUE(Choice("learning_rate", "1e-4").Has("0.0001"));
  EXPECT_TRUE(Choice("system", "0-4").Has("0-4")) << "a name";
}

TEST(AxisChoiceTest, WhatIsOverAllLengthsIsAtNone) {
  EXPECT_FALSE(Choice("length", "0..40").Has("0"));
  EXPECT_THAT(WhyNot("length", "0"), HasSubstr("'0' is no test length"));
  EXPECT_THAT(WhyNot("length", "-4..0"), HasSubstr("'-4..0' is no test length"));
  EXPECT_THAT(WhyNot("length", "forty"), HasSubstr("'forty' is no test length"));
}

TEST(AxisChoiceTest, WhatIsNoRangeIsRefused) {
  EXPECT_EQ(WhyNot("seed", "4..0"), "'4..0' ends before it begins; write seed=0..4");
  for (const char* text : {"4..", "..4", "..", "1..2..3", "a..b", "nan..1"}) EXPECT_THAT(WhyNot("seed", text), HasSubstr("is no range of numbers")) << text;
}

TEST(AxisChoiceTest, SingleIsOneValueAtMost) {
  EXPECT_TRUE(Choice("length", "40").IsSingle());
  EXPECT_FALSE(Choice("length", "40,50").IsSingle());
  EXPECT_FALSE(Choice("length", "41..60").IsSingle());
}

}  // namespace
}  // namespace longreach
