#include "proto/base/duration.h"

#include <gtest/gtest.h>

#include <string>

namespace longreach {
namespace {

TEST(DurationTest, IsSecondsOrANumberWithAUnit) {
  EXPECT_EQ(ParseDuration("90"), 90);
  EXPECT_EQ(ParseDuration("0.5s"), 0.5);
  EXPECT_EQ(ParseDuration("15m"), 900);
  EXPECT_EQ(ParseDuration("15min"), 900);
  EXPECT_EQ(ParseDuration("15 min"), 900);
  EXPECT_EQ(ParseDuration("2h"), 7200);
  EXPECT_EQ(ParseDuration("1.5d"), 129600);
  EXPECT_EQ(ParseDuration("0"), 0);
}

TEST(DurationTest, WhatIsNoneIsNotTakenForOne) {
  for (const char* text : {"", "s", "min", "soon", "5 weeks", "5ms", "-1", "-1h", "nan", "nan s", "inf", "infd", "1h30min", "5min 3"}) {
    EXPECT_EQ(ParseDuration(text), std::nullopt) << text;
  }
  EXPECT_EQ(ParseDuration("1e9"), 1e9);
  EXPECT_EQ(ParseDuration("20000d"), std::nullopt) << "no sum with a clock's time would hold it";
}

// What becomes of an option's value, and why it is refused.
std::string Taken(std::string text) {
  const std::string refused = SecondsOfDuration(text);
  return refused.empty() ? text : refused;
}

TEST(DurationTest, AnOptionOfSecondsTakesAUnitAndLeavesNumbersToItsBounds) {
  EXPECT_EQ(Taken("30s"), "30");
  EXPECT_EQ(Taken("5min"), "300");
  EXPECT_EQ(Taken("0.1s"), "0.1");
  for (const char* number : {"60", "0.05", "-1", "1e12", "1e400", "nan", "inf"}) EXPECT_EQ(Taken(number), number);
  EXPECT_EQ(Taken("soon"), "'soon' is not a duration: write seconds, or a number with s, min, h or d behind it");
  EXPECT_EQ(Taken("-5min"), "'-5min' is not a duration: write seconds, or a number with s, min, h or d behind it");
}

}  // namespace
}  // namespace longreach
