#include "proto/base/parse_errors.h"

#include <gtest/gtest.h>

namespace longreach {
namespace {

TEST(ParseErrorsTest, WhatTheParserRefusesIsToldLikeAllElse) {
  EXPECT_EQ(WordsOfParser("Could not convert: --length = x = y"), "--length: 'x = y' is not a number of the kind that it takes");
  EXPECT_EQ(WordsOfParser("--packs: Value 0 not in range 1 to 64"), "--packs: 0 is not within 1 to 64");
  EXPECT_EQ(WordsOfParser("--threads: At Most 1 required but received 2"), "--threads: given more than once");
  EXPECT_EQ(WordsOfParser("--split: At least 2 required but received 1"), "--split: too few values, with blanks between them");
  EXPECT_EQ(WordsOfParser("--threads: 1 required N:INT in [1 - 4096] missing"), "--threads: its value is missing (N:INT)");
  EXPECT_EQ(WordsOfParser("--engine: 1 required NAME missing"), "--engine: its value is missing (NAME)");
  EXPECT_EQ(WordsOfParser("The following argument was not expected: {b}"), "there is no place for: {b}");
  EXPECT_EQ(WordsOfParser("The following arguments were not expected: c b"), "there is no place for: c b");
  EXPECT_EQ(WordsOfParser("INI was not able to parse listn"), "listn: no option has this name, in the file that --config names");
}

TEST(ParseErrorsTest, OtherWordsStay) {
  for (const char* words : {"", "SWEEP is required", "--output: yaml not in {table,json}"}) EXPECT_EQ(WordsOfParser(words), words);
}

}  // namespace
}  // namespace longreach
