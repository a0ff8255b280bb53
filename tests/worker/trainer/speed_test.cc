#include "worker/trainer/speed.h"

#include <gtest/gtest.h>

namespace longreach::trainer {
namespace {

using std::chrono::milliseconds;

// Moments, counted from one that means nothing.
Speed::Clock::time_point At(int64_t ms) { return Speed::Clock::time_point(milliseconds(ms)); }

TEST(SpeedTest, TheFirstUpdatesTimeIsThatOfAStartAndCountsNowhere) {
  Speed speed(1000);
  EXPECT_EQ(speed.per_second(), 0);
  speed.Made(1, At(60'000));  // A minute of compiling.
  EXPECT_EQ(speed.per_second(), 0);
  speed.Made(2, At(60'100));
  EXPECT_EQ(speed.per_second(), 0) << "a tenth of a second says little";
  for (int i = 3; i <= 11; ++i) speed.Made(i, At(60'000 + (i - 1) * 100));
  EXPECT_DOUBLE_EQ(speed.per_second(), 10);
}

TEST(SpeedTest, ATenthOfAShortTrainingSaysEnough) {
  Speed speed(100);
  speed.Made(1, At(0));
  speed.Made(10, At(90));
  EXPECT_EQ(speed.per_second(), 0);
  speed.Made(11, At(100));
  EXPECT_DOUBLE_EQ(speed.per_second(), 100);
}

TEST(SpeedTest, ASlowTrainingIsToldFromItsSecondUpdateOn) {
  Speed speed(1000);
  speed.Made(1, At(90'000));
  speed.Made(2, At(110'000));
  EXPECT_DOUBLE_EQ(speed.per_second(), 0.05);
}

TEST(SpeedTest, ItIsTheLastSecondsSpeed) {
  Speed speed(100'000);
  speed.Made(100, At(1000));
  speed.Made(300, At(3000));
  EXPECT_DOUBLE_EQ(speed.per_second(), 100);
  speed.Made(301, At(4999));
  EXPECT_DOUBLE_EQ(speed.per_second(), 100) << "the window is not over";
  speed.Made(320, At(5000));
  EXPECT_DOUBLE_EQ(speed.per_second(), 10);
}

TEST(SpeedTest, WhatGoesOnFromACheckpointIsNoSpeed) {
  Speed speed(1000);
  speed.Made(901, At(0));
  EXPECT_EQ(speed.per_second(), 0);
  speed.Made(911, At(1000));
  EXPECT_DOUBLE_EQ(speed.per_second(), 10);
}

TEST(SpeedTest, WhatIsMadeInNoTimeIsNotTold) {
  Speed speed(10);
  speed.Made(1, At(5));
  speed.Made(10, At(5));
  EXPECT_EQ(speed.per_second(), 0);
}

// A test of a minute after each 1,000 updates, of which 100 are made in a second: that a window had one in it, or none, is no news of the speed.
TEST(SpeedTest, TestsBetweenUpdatesTakeTheirShareOfEachSecond) {
  Speed speed(100'000);
  speed.Made(1, At(0));
  speed.Made(1000, At(9990));
  EXPECT_DOUBLE_EQ(speed.per_second(), 100) << "no test yet";
  speed.Tested(milliseconds(60'000), 1000);
  const double with_tests = 1000 / (1000 / 100.0 + 60);
  EXPECT_DOUBLE_EQ(speed.per_second(), with_tests);
  speed.Made(1100, At(70'990));
  speed.Made(1300, At(72'990));
  EXPECT_DOUBLE_EQ(speed.per_second(), with_tests) << "the test is no part of the window that it fell into";
  speed.Made(2000, At(79'990));
  EXPECT_DOUBLE_EQ(speed.per_second(), with_tests) << "and one without a test is told with its share";
}

TEST(SpeedTest, APartOfTheTestsSaysNothingOfTheOthers) {
  Speed speed(100'000);
  speed.Tested(milliseconds(5'000), 0);  // Before the first update.
  speed.Made(1001, At(0));
  EXPECT_EQ(speed.per_second(), 0);
  speed.Tested(milliseconds(5'000), 0);
  speed.Made(1201, At(7'000));
  EXPECT_DOUBLE_EQ(speed.per_second(), 100);
}

TEST(SpeedTest, BeforeUpdatesAreTimedTestsAloneAreNoSpeed) {
  Speed speed(100'000);
  speed.Made(1, At(0));
  speed.Tested(milliseconds(60'000), 1);
  EXPECT_EQ(speed.per_second(), 0);
}

}  // namespace
}  // namespace longreach::trainer
