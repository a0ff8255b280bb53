#include "worker/agent/usual_times.h"

#include <gtest/gtest.h>

namespace longreach::agent {
namespace {

constexpr size_t kSteps = 1, kBatches = 2, kFiles = 3;
constexpr double kFloor_s = 60;

// Of one that tells its agent at once what is usual.
void Took(UsualTimes& times, size_t phase, int threads, double seconds) { times.Took(phase, threads, seconds, times.Of(phase, threads)); }

TEST(UsualTimesTest, OfAPhaseOfWhichNothingHasEndedNothingIsUsual) {
  UsualTimes times(kFloor_s);
  Took(times, kSteps, 4, 2);

  EXPECT_EQ(times.Of(kBatches, 4), 0);
  EXPECT_EQ(times.Of(kBatches, 1), 0);
}

TEST(UsualTimesTest, OfStepsAndFilesTheLongestCounts) {
  UsualTimes times(kFloor_s);
  for (int i = 0; i < 3; ++i) {
    Took(times, kSteps, 4, 2);
    Took(times, kFiles, 4, 16);
  }

  EXPECT_EQ(times.Of(kSteps, 4), 16);
}

// Each of 22 layers with a prompt of many thousand tokens on a few threads, and then with 512 tokens one by one.
TEST(UsualTimesTest, ManyShortPartsDoNotMakeALongOneOutOfTheCommon) {
  UsualTimes times(kFloor_s);
  for (int i = 0; i < 22; ++i) Took(times, kBatches, 2, 100);
  for (int i = 0; i < 22 * 512; ++i) Took(times, kBatches, 2, 0.005);

  EXPECT_GT(times.Of(kBatches, 2), 90);
}

// A disk that stood still once.
TEST(UsualTimesTest, AStallIsForgottenWithTheHours) {
  UsualTimes times(kFloor_s);
  Took(times, kSteps, 2, 50);
  EXPECT_EQ(times.Of(kSteps, 2), 50);

  for (int i = 0; i < 10'000; ++i) Took(times, kSteps, 2, 1);

  EXPECT_LT(times.Of(kSteps, 2), 1.5);
}

// As long as the process was stopped, with all of its machine.
TEST(UsualTimesTest, WhatNobodyWatchedSaysNothing) {
  UsualTimes times(kFloor_s);
  Took(times, kSteps, 2, 3600);
  EXPECT_EQ(times.Of(kSteps, 2), 0);
  Took(times, kSteps, 2, 1);
  Took(times, kSteps, 2, 3600);
  EXPECT_EQ(times.Of(kSteps, 2), 1);

  Took(times, kFiles, 2, 100);
  Took(times, kFiles, 2, 1500);
  EXPECT_GT(times.Of(kFiles, 2), 1000) << "it is within its patience";
}

// A batch system lets others compute for some minutes and stops all of this job meanwhile, the agent too. Were that usual, a trainer that hangs later would be waited for
// twenty times as long.
TEST(UsualTimesTest, AStopOfMinutesAmongShortStepsSaysNothing) {
  UsualTimes times(kFloor_s);
  for (int i = 0; i < 100; ++i) Took(times, kSteps, 2, 1);

  Took(times, kSteps, 2, 300);

  EXPECT_EQ(times.Of(kSteps, 2), 1);
  Took(times, kSteps, 2, 50);
  EXPECT_GT(times.Of(kSteps, 2), 1) << "within a minute no agent would have ended it";
}

// Of a machine whose parts may take so long, as its user has said.
TEST(UsualTimesTest, WhatAnAgentWithMorePatienceWaitsForCounts) {
  UsualTimes times(600);
  for (int i = 0; i < 100; ++i) Took(times, kSteps, 2, 1);

  Took(times, kSteps, 2, 300);

  EXPECT_GT(times.Of(kSteps, 2), 200);
}

// It is told of what ends within moments together: of a short test batch before long ones it does not know yet, and waits as for a first one.
TEST(UsualTimesTest, WhatTheAgentWaitsForSinceItKnowsNoBetterCounts) {
  UsualTimes times(kFloor_s);
  times.Took(kBatches, 2, 0.1, 0);

  times.Took(kBatches, 2, 400, 0);

  EXPECT_GT(times.Of(kBatches, 2), 300);
}

TEST(UsualTimesTest, WithFewerThreadsAllTakesLongerUntilItWasTimed) {
  UsualTimes times(kFloor_s);
  Took(times, kSteps, 64, 2);

  EXPECT_EQ(times.Of(kSteps, 1), 128);
  EXPECT_EQ(times.Of(kSteps, 32), 4);

  Took(times, kSteps, 1, 90);
  EXPECT_EQ(times.Of(kSteps, 1), 90);
}

TEST(UsualTimesTest, WithMoreThreadsNothingIsTakenForFaster) {
  UsualTimes times(kFloor_s);
  Took(times, kSteps, 1, 90);

  EXPECT_EQ(times.Of(kSteps, 64), 90);
}

// Packs begin and end beside it the whole day.
TEST(UsualTimesTest, ThreadsThatComeAndGoMakeNothingUsualThatNeverWas) {
  UsualTimes times(kFloor_s);
  for (int i = 0; i < 1000; ++i) {
    Took(times, kSteps, 2, 1);
    Took(times, kSteps, 1, 2);
  }

  EXPECT_EQ(times.Of(kSteps, 1), 2);
  EXPECT_EQ(times.Of(kSteps, 2), 1);
}

TEST(UsualTimesTest, AllOfTheMachinesThreadsAreANumberToo) {
  UsualTimes times(kFloor_s);
  Took(times, kSteps, 0, 3);

  EXPECT_EQ(times.Of(kSteps, 0), 3);
}

}  // namespace
}  // namespace longreach::agent
