#include "scheduler/service/access/refusals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/scheduler/service/access/still_clock.h"

namespace longreach::service {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

class Lines final : public Refusals {
 public:
  using Refusals::Refusals;
  std::vector<std::string> lines;

 protected:
  void Write(const std::string& line) override { lines.push_back(line); }
};

TEST(RefusalsTest, WhoeverAsksHoweverOftenTheLogStaysSmall) {
  const StillClock clock;
  Lines log(clock);

  for (int i = 0; i < 100'000; ++i) log.Add("call /x: no");

  EXPECT_THAT(log.lines, SizeIs(Refusals::kLines));
  EXPECT_EQ(log.lines.front(), "refused: call /x: no");
}

TEST(RefusalsTest, TheNextPeriodSaysHowManyWereNotSaid) {
  StillClock clock;
  Lines log(clock);
  for (int i = 0; i < Refusals::kLines + 7; ++i) log.Add("call /x: no");
  log.lines.clear();

  clock.now += Refusals::kPeriod;
  log.Add("call /y: no");

  ASSERT_THAT(log.lines, SizeIs(2));
  EXPECT_THAT(log.lines[0], HasSubstr("7 more"));
  EXPECT_EQ(log.lines[1], "refused: call /y: no");
}

TEST(RefusalsTest, WhatAStrangerSentIsCutAndHarmless) {
  EXPECT_EQ(ForLog("/longreach.v1.Longreach/GetInfo"), "/longreach.v1.Longreach/GetInfo");
  EXPECT_EQ(ForLog("a\nrefused: b\x1b[31m\\"), "a\\x0arefused: b\\x1b[31m\\x5c");
  EXPECT_LE(ForLog(std::string(1 << 20, '\0')).size(), 500u);
  EXPECT_EQ(ForLog("\xc2\x9b!\xe2\x80\xae\xff"), "\\xc2\\x9b!\\xe2\\x80\\xae\\xff") << "C1, what turns text around, and what is no UTF-8";
}

TEST(RefusalsTest, WhatPeopleWriteIsReadable) {
  EXPECT_EQ(ForLog("/home/jürgen/Läufe/表.db"), "/home/jürgen/Läufe/表.db");
  std::string wide;
  for (int i = 0; i < 100; ++i) wide += "ü";
  EXPECT_EQ(ForLog("x" + wide), "x" + wide.substr(0, 2 * 59) + "...") << "of a character that is cut nothing is left";
  EXPECT_EQ(ForLog(wide), wide.substr(0, 120) + "...");
}

}  // namespace
}  // namespace longreach::service
