#include "scheduler/core/sweep_life.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace longreach::core {
namespace {

using enum SweepState;
using ::testing::HasSubstr;

TEST(SweepLifeTest, PausesAndResumes) {
  EXPECT_EQ(*Pause(kLive), kPaused);
  EXPECT_EQ(*Pause(kPaused), kPaused);
  EXPECT_EQ(*Resume(kPaused), kLive);
  EXPECT_EQ(*Resume(kLive), kLive);
}

TEST(SweepLifeTest, ACancelledSweepComesBackOnlyBySubmitting) {
  EXPECT_EQ(Pause(kCancelled).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Resume(kCancelled).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(Resume(kCancelled).status().message()), HasSubstr("submit it again"));
  EXPECT_EQ(CheckRetry(kCancelled).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(CheckRetry(kLive).ok());
  EXPECT_TRUE(CheckRetry(kPaused).ok());
}

TEST(SweepLifeTest, SomeJobsAreCancelledWhereAllAreThereAndTheSweepGoesOn) {
  EXPECT_TRUE(CheckCancelJobs(kLive, 0).ok());
  EXPECT_TRUE(CheckCancelJobs(kPaused, 0).ok());
  EXPECT_EQ(CheckCancelJobs(kCancelled, 0).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(CheckCancelJobs(kLive, 3).message()), HasSubstr("3 of its jobs are to come yet"));
  EXPECT_EQ(CheckAllAreThere(3), CheckCancelJobs(kPaused, 3));
  EXPECT_THAT(std::string(CheckAllAreThere(1).message()), HasSubstr("1 of its jobs is to come yet"));
}

TEST(DemandTest, AJobIsWantedWhileALiveSweepHasIt) {
  const Claim live{kLive, -3}, paused{kPaused, 9}, cancelled{kCancelled, 9};
  EXPECT_EQ(DemandOf({}), Demand{});
  EXPECT_EQ(DemandOf(std::vector{cancelled}), Demand{});
  EXPECT_EQ(DemandOf(std::vector{paused, cancelled}), (Demand{.wanted = false, .held = true, .priority = 0}));
  EXPECT_EQ(DemandOf(std::vector{paused, live, cancelled}), (Demand{.wanted = true, .held = false, .priority = -3}));
  EXPECT_EQ(DemandOf(std::vector{live, Claim{kLive, 4}}), (Demand{.wanted = true, .held = false, .priority = 4}));
}

}  // namespace
}  // namespace longreach::core
