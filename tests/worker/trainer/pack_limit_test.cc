// How many jobs a worker trains together when nobody says it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "worker/trainer/pack_limit.h"

namespace longreach::trainer {

namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::Field;
using ::testing::Gt;
using ::testing::HasSubstr;

TEST(WorthwhilePackTest, IsTheSmallestThatIsNearlyAsFastAsTheFastest) {
  EXPECT_EQ(WorthwhilePack(std::vector<PackTrial>{{1, 10}, {2, 19}, {4, 30}, {8, 39}, {16, 40}, {32, 40.5}}), 8);
  EXPECT_EQ(WorthwhilePack(std::vector<PackTrial>{{1, 10}, {2, 19}, {4, 37}}), 4);
  EXPECT_EQ(WorthwhilePack(std::vector<PackTrial>{{1, 10}, {2, 10.4}, {4, 10.2}}), 1);
  EXPECT_EQ(WorthwhilePack(std::vector<PackTrial>{{1, 10}, {2, 5}, {4, 30}, {8, 3}}), 4);
  EXPECT_EQ(WorthwhilePack({}), 1);
}

TEST(MeasurePackLimitTest, TriesPacksOfTwiceAsManyAndThePapersUntilTheyAreNoFaster) {
  const absl::StatusOr<PackLimit> limit = MeasurePackLimit({.threads = 2}, 0);

  ASSERT_TRUE(limit.ok()) << limit.status();
  ASSERT_GE(limit->trials.size(), 3u);  // At least the first, and two that are no faster.
  constexpr int kSizes[] = {1, 2, 4, 8, 9, 16, 32, 64, 128};
  for (size_t i = 0; i < limit->trials.size(); ++i) EXPECT_EQ(limit->trials[i].jobs, kSizes[i]);
  EXPECT_LE(limit->trials.back().jobs, kLargestTrial);
  EXPECT_THAT(limit->trials, Each(Field(&PackTrial::job_steps_per_second, Gt(0))));
  EXPECT_THAT(limit->trials, Contains(Field(&PackTrial::jobs, limit->jobs)));
  EXPECT_EQ(limit->jobs, WorthwhilePack(limit->trials));
}

TEST(MeasurePackLimitTest, RefusesWhatMakesNoSense) {
  EXPECT_THAT(MeasurePackLimit({.engine = "lane"}).status().message(), HasSubstr("unknown name 'lane'"));
  EXPECT_THAT(MeasurePackLimit({}, -1).status().message(), HasSubstr("seconds_each: -1"));
  EXPECT_THAT(MeasurePackLimit({}, std::numeric_limits<double>::quiet_NaN()).status().message(), HasSubstr("seconds_each"));
}

}  // namespace

}  // namespace longreach::trainer
