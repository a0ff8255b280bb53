#include "scheduler/service/log_text.h"

#include <gtest/gtest.h>

#include <string>

namespace longreach::service {
namespace {

TEST(LogTextTest, ACharacterThatIsCutAtTheEndWaitsForItsRest) {
  EXPECT_EQ(WholeCharacters(""), 0u);
  EXPECT_EQ(WholeCharacters("abc"), 3u);
  EXPECT_EQ(WholeCharacters("a\xc3"), 1u);
  EXPECT_EQ(WholeCharacters("a\xc3\xa4"), 3u);
  EXPECT_EQ(WholeCharacters("\xe2\x82"), 0u);
  EXPECT_EQ(WholeCharacters("a\xf0\x9f\x92"), 1u);
  EXPECT_EQ(WholeCharacters("a\xf0\x9f\x92\xa9"), 5u);
}

TEST(LogTextTest, BytesOfNoCharacterWaitForNothing) {
  EXPECT_EQ(WholeCharacters("\xff"), 1u);
  EXPECT_EQ(WholeCharacters("a\x80"), 2u);
  EXPECT_EQ(WholeCharacters("\x80\x80\x80\x80\x80"), 5u);
}

TEST(LogTextTest, WhatIsLeftOfACharacterBehindAGapIsKnown) {
  EXPECT_EQ(RestOfCharacter(""), 0u);
  EXPECT_EQ(RestOfCharacter("abc"), 0u);
  EXPECT_EQ(RestOfCharacter("\x82\xac abc"), 2u);
  EXPECT_EQ(RestOfCharacter("\x80\x80\x80\x80\x80"), 3u);
}

TEST(LogTextTest, OfAWholeLogTheRestIsBehindThePosition) {
  EXPECT_EQ(RestOfLog("one\ntwo\n", true, 4, "one\n"), "two\n");
  EXPECT_EQ(RestOfLog("one\ntwo\n", true, 0, ""), "one\ntwo\n");
  EXPECT_EQ(RestOfLog("one\n", true, 4, "one\n"), "");
  EXPECT_EQ(RestOfLog("one", true, 4, "one\n"), "");
}

TEST(LogTextTest, OfTheEndOfALogTheRestIsBehindWhatWasSeen) {
  EXPECT_EQ(RestOfLog("two\nthree\nfour\n", false, 1000, "one\ntwo\nthree\n"), "four\n");
  EXPECT_EQ(RestOfLog("two\n", false, 1000, "one\ntwo\n"), "");
  // A line that is there twice: the longest that both have.
  EXPECT_EQ(RestOfLog("step\nstep\nend\n", false, 1000, "begin\nstep\nstep\n"), "end\n");
}

TEST(LogTextTest, OfALongLogOfWhichLessWasSeenThanItHasLeftTheRestIsBehindThat) {
  EXPECT_EQ(RestOfLog("one\ntwo\nthree\nfour\n", false, 1000, "two\nthree\n"), "four\n");
  EXPECT_EQ(RestOfLog("one\ntwo\n", false, 1000, "two\n"), "");
  // What is there twice may be shown twice, and is not lost.
  EXPECT_EQ(RestOfLog("one\nstep\nstep\nend\n", false, 1000, "step\n"), "step\nend\n");
  // What begins with the log's first byte is not within its end, whatever looks like it: the two do not meet.
  EXPECT_FALSE(RestOfLog("two\none\nthree\n", false, 4, "one\n").has_value());
}

TEST(LogTextTest, WhereTheTwoDoNotMeetThereIsNoRest) {
  EXPECT_FALSE(RestOfLog("xyz", false, 1000, "abc").has_value());
  EXPECT_FALSE(RestOfLog("xyz", false, 1000, "").has_value());
  EXPECT_FALSE(RestOfLog("", false, 1000, "abc").has_value());
}

TEST(LogTextTest, ALogOfOneLetterIsComparedAsFastAsAnyOther) {
  const std::string seen = "b" + std::string(64 << 10, 'a'), left = std::string(64 << 10, 'a');
  EXPECT_EQ(RestOfLog(left, false, 1 << 20, seen), "");
  EXPECT_EQ(RestOfLog(left + "c", false, 1 << 20, seen), "c");
  EXPECT_EQ(RestOfLog("c" + left, false, 1 << 20, "c" + std::string(16 << 10, 'a')), std::string(48 << 10, 'a'));
}

}  // namespace
}  // namespace longreach::service
