// The straight line through points.
#include "proto/base/line_fit.h"

#include <gtest/gtest.h>

#include <optional>
#include <utility>
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

// The mean of 48 times 0.9 is another number: neither a correlation nor a slope may come of that.
TEST(LineFitTest, ManyValuesThatAreAlikeAreSoWhateverTheirMeanIs) {
  const std::vector<double> alike(48, 0.9);
  std::vector<double> rising;
  for (size_t i = 0; i < alike.size(); ++i) rising.push_back(0.1 * static_cast<double>(i));
  const absl::StatusOr<FittedLine> level = FitLine(rising, alike);
  ASSERT_TRUE(level.ok()) << level.status();
  EXPECT_EQ(level->slope, 0);
  EXPECT_EQ(level->intercept, 0.9);
  EXPECT_EQ(level->correlation, std::nullopt);
  EXPECT_FALSE(FitLine(alike, rising).ok());
}

TEST(LineFitTest, SquaresOfLargeAndSmallValuesNeitherOverflowNorVanish) {
  for (const auto& [of_x, of_y] : {std::pair(1e200, 1e300), std::pair(1e-200, 1e-300), std::pair(1e-150, 1e150)}) {
    const std::vector<double> x = {1 * of_x, 2 * of_x, 4 * of_x}, y = {5 * of_y, 3 * of_y, -1 * of_y};
    const absl::StatusOr<FittedLine> line = FitLine(x, y);
    ASSERT_TRUE(line.ok()) << line.status();
    EXPECT_NEAR(line->slope / (of_y / of_x), -2, 1e-12);
    EXPECT_NEAR(line->intercept / of_y, 7, 1e-12);
    EXPECT_NEAR(line->correlation.value_or(0), -1, 1e-12);
  }
}

TEST(LineFitTest, RefusesValuesWithoutALine) {
  const std::vector<double> one = {1}, alike = {2, 2}, other = {1, 3};
  EXPECT_FALSE(FitLine(one, one).ok());
  EXPECT_FALSE(FitLine(alike, other).ok());
  EXPECT_FALSE(FitLine(one, other).ok());
}

}  // namespace
}  // namespace longreach
