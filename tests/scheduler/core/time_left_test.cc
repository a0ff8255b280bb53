#include "scheduler/core/time_left.h"

#include <gtest/gtest.h>

#include <vector>

namespace longreach::core {
namespace {

constexpr Pace kTrains{.members = 4, .phase = AttemptPhase::kTraining, .steps_per_second = 5};
constexpr Pace kHasBegun{.members = 4, .phase = AttemptPhase::kTraining};
constexpr Pace kStarts{.members = 4, .phase = AttemptPhase::kStarting};
constexpr Pace kTests{.members = 4, .phase = AttemptPhase::kEvaluating, .steps_per_second = 5};

double Left(double job_steps, const std::vector<Pace>& packs) { return SecondsLeft(job_steps, packs); }

TEST(TimeLeftTest, IsWhatIsOpenAtTheSpeedOfAllThatTrain) {
  EXPECT_EQ(Left(1000, {kTrains}), 50);
  EXPECT_EQ(Left(1000, {kTrains, kTrains}), 25);
  EXPECT_EQ(Left(0, {kTrains}), 0);
  EXPECT_EQ(Left(-1, {kTrains}), 0);
}

TEST(TimeLeftTest, IsNotKnownBeforeASpeedIs) {
  EXPECT_EQ(Left(1000, {}), 0);
  EXPECT_EQ(Left(1000, {kStarts}), 0);
  EXPECT_EQ(Left(1000, {kHasBegun, kTests}), 0);
}

TEST(TimeLeftTest, APackThatIsAboutToTrainCountsAsFastAsTheOthers) {
  EXPECT_EQ(Left(1000, {kTrains, kStarts}), 25);
  EXPECT_EQ(Left(1000, {kTrains, kHasBegun}), 25);
  EXPECT_EQ(Left(1000, {kTrains, kTrains, kStarts, kHasBegun}), 12.5);
}

TEST(TimeLeftTest, AMinoritySpeedSaysNothing) { EXPECT_EQ(Left(1000, {kTrains, kStarts, kHasBegun}), 0); }

TEST(TimeLeftTest, WhatIsTestedMakesNoSteps) { EXPECT_EQ(Left(1000, {kTrains, kTests}), 50); }

}  // namespace
}  // namespace longreach::core
