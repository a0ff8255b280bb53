#include "worker/trainer/milestones.h"

#include <gtest/gtest.h>

#include <vector>

namespace longreach::trainer {
namespace {

using Clock = Milestones::Clock;
using std::chrono::minutes;

std::vector<int> ReachedBy(Milestones milestones, int from, int to, Clock::time_point now) {
  std::vector<int> reached;
  for (int done = from; done <= to; ++done) {
    if (milestones.Reached(done, now)) reached.push_back(done);
  }
  return reached;
}

TEST(MilestonesTest, EachTenthIsOne) {
  const Clock::time_point now{};
  EXPECT_EQ(ReachedBy(Milestones(0, 30, now), 1, 30, now), (std::vector<int>{3, 6, 9, 12, 15, 18, 21, 24, 27, 30}));
  EXPECT_EQ(ReachedBy(Milestones(0, 3, now), 1, 3, now), (std::vector<int>{1, 2, 3})) << "of less than ten each is";
}

TEST(MilestonesTest, WhatWasDoneBeforeIsNone) {
  const Clock::time_point now{};
  EXPECT_EQ(ReachedBy(Milestones(14, 30, now), 15, 21, now), (std::vector<int>{15, 18, 21}));
  EXPECT_EQ(ReachedBy(Milestones(30, 30, now), 30, 30, now), std::vector<int>());
}

TEST(MilestonesTest, ALongWayHasOneEveryTenMinutesTooAndLargeNumbersDoNotOverflow) {
  const Clock::time_point start{};
  Milestones milestones(0, 2'000'000'000, start);
  EXPECT_FALSE(milestones.Reached(1, start + minutes(10) - std::chrono::seconds(1)));
  EXPECT_TRUE(milestones.Reached(2, start + minutes(10)));
  EXPECT_FALSE(milestones.Reached(3, start + minutes(19)));
  EXPECT_TRUE(milestones.Reached(1'999'999'999, start + minutes(19)));
  EXPECT_FALSE(milestones.Reached(1'999'999'999, start + minutes(28)));
}

TEST(MilestonesTest, ALineOfTrainingHasTheLeastAndTheLargestLoss) {
  const std::vector<double> losses = {0.61239, 0.53124, 0.6};
  EXPECT_EQ(TrainedLine(300, 3000, losses, 44.21), "step 300 of 3000, loss 0.5312 to 0.6124, 44.2 updates/s");
  EXPECT_EQ(TrainedLine(1, 2, std::span(losses).first(1), 0), "step 1 of 2, loss 0.6124");
}

TEST(MilestonesTest, LossesAreMeansSinceTheLastLine) {
  RecentLosses losses;
  EXPECT_TRUE(losses.empty());
  losses.Add(std::vector<LossPoint>{{.member = 0, .step = 1, .loss = 1}, {.member = 4, .step = 1, .loss = 3}});
  losses.Add(std::vector<LossPoint>{{.member = 0, .step = 2, .loss = 2}});  // The other one has diverged.
  EXPECT_EQ(losses.Take(), (std::vector<double>{1.5, 3}));
  EXPECT_TRUE(losses.empty());
  losses.Add(std::vector<LossPoint>{{.member = 0, .step = 3, .loss = 7}});
  EXPECT_EQ(losses.Take(), std::vector<double>{7}) << "what a line has told is not in the next";
}

TEST(MilestonesTest, ALineOfTestsSaysHowManyLengthsThereAre) {
  EXPECT_EQ(TestedLine(2, 5), "tested 2 of 5 lengths");
  EXPECT_EQ(TestedLine(1, 1), "tested 1 of 1 length");
  const std::vector<double> scores = {0.61236, 0.5, 0.53117};
  const std::vector<int> lengths = {40, 100};
  EXPECT_EQ(CurveLine(200, 3000, "accuracy", scores, lengths), "step 200 of 3000, accuracy 0.5 to 0.6124 over 2 lengths");
  EXPECT_EQ(CurveLine(200, 3000, "loss", {scores.data(), 1}, {lengths.data(), 1}), "step 200 of 3000, loss 0.6124 at length 40");
}

}  // namespace
}  // namespace longreach::trainer
