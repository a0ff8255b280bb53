#include "client/output/sparkline.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace longreach::client {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::string Of(const std::vector<double>& values, size_t width = 80) { return Sparkline(values, width); }

TEST(SparklineTest, GoesFromTheLeastToTheGreatest) {
  EXPECT_EQ(Of({0, 1, 2, 3, 4, 5, 6, 7}), "▁▂▃▄▅▆▇█");
  EXPECT_EQ(Of({-3, -1}), "▁█");
  EXPECT_EQ(Of({2, 2, 2}), "▁▁▁");
  EXPECT_EQ(Of({-1.7e308, 1.7e308}), "▁█");
}

TEST(SparklineTest, MoreValuesThanItIsWideAreMeansOfEqualParts) {
  EXPECT_EQ(Of({9, 7, 4, 4, 0, 0}, 3), "█▅▁");
  EXPECT_EQ(Of({8, 0, 0, 0, 0}, 2), "█▁") << "parts of two and three";
  EXPECT_EQ(Of({1, 2}, 0), "");
}

TEST(SparklineTest, WhatIsNotFiniteIsNoValue) {
  EXPECT_EQ(Of({1, kNan, 3}), "▁ █");
  EXPECT_EQ(Of({1, 3, std::numeric_limits<double>::infinity(), kNan}, 2), "▁ ") << "of 1 and 3 the mean";
  EXPECT_EQ(Of({1, kNan}), "");
  EXPECT_EQ(Of({}), "");
}

}  // namespace
}  // namespace longreach::client
