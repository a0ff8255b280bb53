#include "tests/support/fake_workers/results.h"

#include <gtest/gtest.h>

#include "tests/support/fake_workers/latencies.h"

namespace longreach::fake {
namespace {

TEST(FakeResultsTest, AccuracyIsTheBeginningOfTheId) {
  EXPECT_EQ(AccuracyOf("800000000000ffff"), 0.5);
  EXPECT_EQ(AccuracyOf("000000000000ffff"), 0.0);
  EXPECT_LT(AccuracyOf("ffffffffffffffff"), 1.0);
}

TEST(FakeResultsTest, AResultHasOneScoreAndAMeasurementPerLength) {
  const v1::MemberResult result = ResultOf("400000000000", 2);

  ASSERT_EQ(result.measurements_size(), 3);
  EXPECT_EQ(result.measurements(0).length(), 0);
  EXPECT_EQ(result.measurements(0).value(), 0.25);
  EXPECT_EQ(result.measurements(2).length(), 2);
}

TEST(FakeResultsTest, ArtifactsDifferByAttemptAndRepeatExactly) {
  EXPECT_EQ(ArtifactOf(7, 1000), ArtifactOf(7, 1000));
  EXPECT_NE(ArtifactOf(7, 1000), ArtifactOf(8, 1000));
  EXPECT_EQ(ArtifactOf(7, 1000).size(), 1000u);
}

TEST(FakeResultsTest, FractionsAreSpreadEvenly) {
  int below = 0;
  for (int i = 0; i < 10'000; ++i) below += FractionOf(std::to_string(i), 1) < 0.1 ? 1 : 0;
  EXPECT_GT(below, 900);
  EXPECT_LT(below, 1100);
  EXPECT_NE(FractionOf("1", 1), FractionOf("1", 2));
}

TEST(LatenciesTest, QuantilesAreRightWithinABucket) {
  Latencies times;
  for (int ms = 1; ms <= 1000; ++ms) times.Add(std::chrono::milliseconds(ms));

  EXPECT_NEAR(times.Quantile(0.5), 500, 500 * 0.022);
  EXPECT_NEAR(times.Quantile(0.99), 990, 990 * 0.022);
  EXPECT_EQ(times.max_ms(), 1000);
  EXPECT_EQ(times.count(), 1000);
}

TEST(LatenciesTest, NoneGiveZero) { EXPECT_EQ(Latencies().Quantile(0.99), 0); }

}  // namespace
}  // namespace longreach::fake
