#include "worker/agent/usual_times.h"

#include <gtest/gtest.h>

namespace longreach::agent {
namespace {

constexpr size_t kSteps = 1, kBatches = 2, kFiles = 3;

TEST(UsualTimesTest, OfAPhaseOfWhichNothingHasEndedNothingIsUsual) {
  UsualTimes times;
  times.Took(kSteps, 4, 2);

  EXPECT_EQ(times.Of(kBatches, 4), 0);
  EXPECT_EQ(times.Of(kBatches, 1), 0);
}

TEST(UsualTimesTest, TheLongestOfTheMeanTimesCounts) {
  UsualTimes times;
  times.Took(kSteps, 4, 1);
  times.Took(kSteps, 4, 3);
  times.Took(kFiles, 4, 10);
  times.Took(kFiles, 4, 20);

  EXPECT_EQ(times.Of(kSteps, 4), 15);
}

TEST(UsualTimesTest, WithFewerThreadsAllTakesLongerUntilItWasTimed) {
  UsualTimes times;
  times.Took(kSteps, 64, 2);

  EXPECT_EQ(times.Of(kSteps, 1), 128);
  EXPECT_EQ(times.Of(kSteps, 32), 4);

  times.Took(kSteps, 1, 90);
  EXPECT_EQ(times.Of(kSteps, 1), 90);
}

TEST(UsualTimesTest, WithMoreThreadsNothingIsTakenForFaster) {
  UsualTimes times;
  times.Took(kSteps, 1, 90);

  EXPECT_EQ(times.Of(kSteps, 64), 90);
}

// Packs begin and end beside it the whole day.
TEST(UsualTimesTest, ThreadsThatComeAndGoMakeNothingUsualThatNeverWas) {
  UsualTimes times;
  for (int i = 0; i < 1000; ++i) {
    times.Took(kSteps, 2, 1);
    times.Took(kSteps, 1, 2);
  }

  EXPECT_EQ(times.Of(kSteps, 1), 2);
  EXPECT_EQ(times.Of(kSteps, 2), 1);
}

TEST(UsualTimesTest, AllOfTheMachinesThreadsAreANumberToo) {
  UsualTimes times;
  times.Took(kSteps, 0, 3);

  EXPECT_EQ(times.Of(kSteps, 0), 3);
}

}  // namespace
}  // namespace longreach::agent
