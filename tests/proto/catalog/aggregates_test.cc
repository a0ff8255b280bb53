#include "proto/catalog/aggregates.h"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <vector>

namespace longreach::catalog {
namespace {

// What the formulas make of values whose squares are numbers.
double PlainMean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}
double PlainDeviation(const std::vector<double>& values) {
  double squares = 0;
  for (const double value : values) squares += (value - PlainMean(values)) * (value - PlainMean(values));
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

TEST(AggregatesTest, MeanAndDeviationHaveTheBitsOfTheirFormulas) {
  for (const std::vector<double>& values : {std::vector<double>{0.1, 0.35, 0.7}, {-3.3, -0.2, 0, 17.1}, {50.390625, 51.5625, 99.9}, {1e-7, 14.5, 599.5}, {-0.3, -0.1}}) {
    EXPECT_EQ(MeanOf(values), PlainMean(values));
    EXPECT_EQ(DeviationOf(values), PlainDeviation(values));
  }
}

TEST(AggregatesTest, LargeValuesDoNotOverflow) {
  EXPECT_DOUBLE_EQ(DeviationOf({1e200, 2e200, 3e200}).value_or(0), 1e200);
  EXPECT_DOUBLE_EQ(DeviationOf({-1e308, 1e308}).value_or(0), 1e308 * std::sqrt(2.0));
  EXPECT_DOUBLE_EQ(MeanOf({1e308, 1.5e308}), 1.25e308);
  EXPECT_DOUBLE_EQ(MedianOf({1e308, 1.5e308}), 1.25e308);
  EXPECT_EQ(MedianOf({1, 2, 4, 8}), 3);
}

TEST(AggregatesTest, TheSpreadOfSmallValuesDoesNotVanish) {
  EXPECT_DOUBLE_EQ(DeviationOf({1e-200, 2e-200, 3e-200}).value_or(0), 1e-200);
  EXPECT_DOUBLE_EQ(DeviationOf({0, 2e-170}).value_or(0), 2e-170 * std::sqrt(0.5));
}

TEST(AggregatesTest, EqualValuesHaveNone) {
  EXPECT_EQ(DeviationOf(std::vector<double>(48, 0.9)), 0) << "whatever their mean is rounded to";
  EXPECT_EQ(DeviationOf({0, 0}), 0);
  EXPECT_EQ(DeviationOf({0.9}), std::nullopt);
}

}  // namespace
}  // namespace longreach::catalog
