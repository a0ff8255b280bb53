#include "scheduler/core/plan.h"

#include <gtest/gtest.h>

namespace longreach::core {
namespace {

TEST(MedianTest, IsTheMiddle) {
  EXPECT_EQ(Median({}), 0);
  EXPECT_EQ(Median({3}), 3);
  EXPECT_EQ(Median({9, 1, 2}), 2);
  EXPECT_EQ(Median({4, 1}), 2.5);
}

TEST(TellsOfTest, AttemptsTellOfLikeJobsAlone) {
  const WorkSize small{.experiment = "language", .memory_bytes = 1e6, .flops = 1e12};
  WorkSize open = small;
  EXPECT_TRUE(TellsOf(small, 1, open));
  open.experiment = "llama";
  EXPECT_FALSE(TellsOf(small, 1000, open));
  open = small;
  open.memory_bytes = 1e8;
  EXPECT_FALSE(TellsOf(small, 1000, open));
  EXPECT_FALSE(TellsOf(open, 1000, small));
}

TEST(TellsOfTest, AShortAttemptTellsOfShortJobsAlone) {
  const WorkSize brief{.experiment = "language", .memory_bytes = 1e6, .flops = 1e12};
  const WorkSize longer{.experiment = "language", .memory_bytes = 1e6, .flops = 1e14};

  EXPECT_FALSE(TellsOf(brief, 5, longer));
  EXPECT_TRUE(TellsOf(brief, 100, longer)) << "its start was a small part of it";
  EXPECT_TRUE(TellsOf(longer, 5, brief));
}

TEST(EstimateTest, NothingMeasuredIsNoEstimate) {
  EXPECT_EQ(EstimateHours(1e15, std::vector{0.0}, {}).hours, 0);
  EXPECT_EQ(EstimateHours(1e15, {}, std::vector{1e9}).hours, 0);
  EXPECT_EQ(EstimateHours(0, std::vector{1e9}, std::vector{1e9}).hours, 0);
}

TEST(EstimateTest, WorkersAddUpAndANewOneCountsAsTheUsual) {
  const Estimate estimate = EstimateHours(3600 * 40e9, std::vector{10e9, 20e9, 0.0}, std::vector{10e9, 10e9, 20e9});

  EXPECT_DOUBLE_EQ(estimate.hours, 1.0);
  EXPECT_DOUBLE_EQ(estimate.hours_low, 0.5);
  EXPECT_DOUBLE_EQ(estimate.hours_high, 2.0);
}

TEST(EstimateTest, TheRangeIsThatOfWhatWasMeasured) {
  std::vector<double> measured;
  for (int i = 0; i <= 100; ++i) measured.push_back(50 + i);  // Median 100, 5 % at 55, 95 % at 145.

  const Estimate estimate = EstimateHours(3600 * 100, std::vector{100.0}, measured);

  EXPECT_DOUBLE_EQ(estimate.hours, 1.0);
  EXPECT_DOUBLE_EQ(estimate.hours_low, 100.0 / 145);
  EXPECT_DOUBLE_EQ(estimate.hours_high, 100.0 / 55);
}

}  // namespace
}  // namespace longreach::core
