#include "worker/trainer/llama/fits.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace longreach::trainer {

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInfinity = std::numeric_limits<double>::infinity();

TEST(LeastLossTest, TheFirstOfTheLeastOverTheBinsIsTheBest) {
  const std::vector<std::vector<double>> losses = {{3, 1, 5}, {2, 2, 1}, {1, 3, 0.5}};
  EXPECT_EQ(LeastLoss(losses, std::vector<size_t>{0}), 2u);
  EXPECT_EQ(LeastLoss(losses, std::vector<size_t>{1}), 0u);
  EXPECT_EQ(LeastLoss(losses, std::vector<size_t>{0, 1}), 0u) << "all have the same";
  EXPECT_EQ(LeastLoss(losses, std::vector<size_t>{0, 0, 1}), 2u) << "a bin that is named twice counts twice";
}

TEST(LeastLossTest, AScaleWithoutAFiniteLossIsNeverTheBest) {
  const std::vector<size_t> both = {0, 1};
  EXPECT_EQ(LeastLoss(std::vector<std::vector<double>>{{kNan, 1}, {9, 9}}, both), 1u) << "not even as the first";
  EXPECT_EQ(LeastLoss(std::vector<std::vector<double>>{{9, 9}, {kNan, 1}, {8, 9}}, both), 2u);
  EXPECT_EQ(LeastLoss(std::vector<std::vector<double>>{{-kInfinity, 1}, {9, 9}}, both), 1u);
  EXPECT_EQ(LeastLoss(std::vector<std::vector<double>>{{kNan, 1}, {1, kInfinity}}, both), std::nullopt);
  EXPECT_EQ(LeastLoss(std::vector<std::vector<double>>{{kNan, 1}, {1, kInfinity}}, std::vector<size_t>{1}), 0u) << "where it has one";
}

}  // namespace

}  // namespace longreach::trainer
