#include "proto/base/parse_errors.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace longreach {
namespace {

TEST(ParseErrorsTest, WhatTheParserRefusesIsToldLikeAllElse) {
  EXPECT_EQ(WordsOfParser("Could not convert: --length = x = y"), "--length: 'x = y' is not a number of the kind that it takes");
  EXPECT_EQ(WordsOfParser("--packs: Value 0 not in range 1 to 64"), "--packs: 0 is not within 1 to 64");
  EXPECT_EQ(WordsOfParser("--threads: At Most 1 required but received 2"), "--threads: given more than once");
  EXPECT_EQ(WordsOfParser("--threads: 1 required N:INT in [1 - 4096] missing"), "--threads: its value is missing (N:INT)");
  EXPECT_EQ(WordsOfParser("--engine: 1 required NAME missing"), "--engine: its value is missing (NAME)");
  EXPECT_EQ(WordsOfParser("The following argument was not expected: {b}"), "not expected here: {b}");
  EXPECT_EQ(WordsOfParser("The following arguments were not expected: c b"), "not expected here: c b");
  EXPECT_EQ(WordsOfParser("INI was not able to parse listn"), "listn: no option has this name, in the file that --config names");
}

TEST(ParseErrorsTest, AnOptionOfSeveralValuesSaysHowManyItTakesAndHowTheyAreWritten) {
  EXPECT_EQ(WordsOfParser("--split: At least 3 required but received 2"), "--split: 2 values, and it takes 3 with ',' between them: A,B,C");
  EXPECT_EQ(WordsOfParser("--split: At least 2 required but received 1"), "--split: 1 value, and it takes 2 with ',' between them: A,B");
  EXPECT_EQ(WordsOfParser("--split: At Most 3 required but received 4"), "--split: 4 values, and it takes 3 with ',' between them: A,B,C");
}

TEST(ParseErrorsTest, ANumberThatIsTooLargeIsOne) {
  EXPECT_EQ(WordsOfParser("Could not convert: N = 3000000000"), "N: 3000000000 is out of range");
  EXPECT_EQ(WordsOfParser("Could not convert: N = 99999999999999999999"), "N: 99999999999999999999 is out of range");
  EXPECT_EQ(WordsOfParser("Could not convert: --cap = 1e400"), "--cap: 1e400 is out of range");
}

TEST(ParseErrorsTest, BoundsAreShort) {
  EXPECT_EQ(WordsOfParser("--leave-when-idle: Value -1 not in range 0.000000 to 1000000000.000000"), "--leave-when-idle: -1 is not within 0 to 1000000000");
  EXPECT_EQ(WordsOfParser("--lease-s: Value 0 not in range 0.100000 to 86400.000000"), "--lease-s: 0 is not within 0.1 to 86400");
  EXPECT_EQ(WordsOfParser("--max-artifact-bytes: Value -5 not in range 0.000000 to " + std::to_string(std::numeric_limits<double>::max())),
            "--max-artifact-bytes: -5 is not a number from 0 on");
}

TEST(ParseErrorsTest, WhatIsNoNumberIsNotSaidToBeOutOfBounds) {
  EXPECT_EQ(WordsOfParser("--best: Value --store not in range 1 to 1000000"), "--best: '--store' is not a number from 1 to 1000000");
  EXPECT_EQ(WordsOfParser("--lease-s: Value soon not in range 0.100000 to 86400.000000"), "--lease-s: 'soon' is not a number from 0.1 to 86400");
  EXPECT_EQ(WordsOfParser("--lease-s: Value 1e400 not in range 0.100000 to 86400.000000"), "--lease-s: 1e400 is not within 0.1 to 86400");
}

TEST(ParseErrorsTest, AnOptionThatThereIsNotIsNamedWithoutItsValue) {
  EXPECT_EQ(WordsOfParser("The following arguments were not expected: localhost:1 --schedular"), "unknown option '--schedular'");
  EXPECT_EQ(WordsOfParser("The following argument was not expected: --listn=localhost:1"), "unknown option '--listn'");
  EXPECT_EQ(WordsOfParser("The following argument was not expected: -5"), "not expected here: -5") << "a number is none";
}

TEST(ParseErrorsTest, AChoiceAUnitAFileAndACommandAreToldInPlainWords) {
  EXPECT_EQ(WordsOfParser("--output: yaml not in {table,json}"), "--output: 'yaml' is none of table, json");
  EXPECT_EQ(WordsOfParser("--max-artifact-bytes: lots unit not recognized. Allowed values: {b,k,kb}"),
            "--max-artifact-bytes: 'lots' is no unit that it takes; units are K, M, G, T, P and E, as in 500G");
  EXPECT_EQ(WordsOfParser("/nowhere was not readable (missing?)"), "cannot read /nowhere: is it there, and may it be read?");
  EXPECT_EQ(WordsOfParser("A subcommand is required"), "one of its commands is required");
}

TEST(ParseErrorsTest, WhatIsNotANumberIsRefusedWhereARangeLetsItThrough) {
  EXPECT_EQ(RefuseNan("nan"), "'nan' is not a number");
  EXPECT_EQ(RefuseNan("-NaN"), "'-NaN' is not a number");
  for (const char* number : {"0.5", "-1", "inf", "1e400"}) EXPECT_EQ(RefuseNan(number), "") << number;
}

TEST(ParseErrorsTest, OtherWordsStay) {
  for (const char* words : {"", "SWEEP is required"}) EXPECT_EQ(WordsOfParser(words), words);
}

}  // namespace
}  // namespace longreach
