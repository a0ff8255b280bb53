// The straight line through points.
#include "proto/base/line_fit.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace longreach {
namespace {

TEST(LineFitTest, FindsTheLineThatMadeTheValues) {
  const std::vector<double> x = {1, 2, 4}, y = {5, 3, -1};
  const absl::StatusOr<FittedLine> line = FitLine(x, y);
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_DOUBLE_EQ(line->slope, -2);
  EXPECT_DOUBLE_EQ(line->intercept, 7);
  EXPECT_DOUBLE_EQ(line->correlation.value_or(0), -1);
}

TEST(LineFitTest, ALevelLineHasNoCorrelation) {
  const std::vector<double> x = {1, 2, 4}, y = {5, 5, 5};
  const absl::StatusOr<FittedLine> line = FitLine(x, y);
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_EQ(line->slope, 0);
  EXPECT_EQ(line->correlation, std::nullopt);
}

TEST(LineFitTest, RefusesValuesWithoutALine) {
  const std::vector<double> one = {1}, alike = {2, 2}, other = {1, 3};
  EXPECT_FALSE(FitLine(one, one).ok());
  EXPECT_FALSE(FitLine(alike, other).ok());
  EXPECT_FALSE(FitLine(one, other).ok());
}

}  // namespace
}  // namespace longreach
