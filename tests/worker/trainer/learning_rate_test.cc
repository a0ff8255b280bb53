#include "worker/trainer/learning_rate.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

namespace longreach::trainer {
namespace {

using Shape = RateSchedule::Shape;

// The rates that the authors of the NoPE paper had, logged by their own program: tests/golden/nope/train_hs.json, "clamp1_lr0.1".
TEST(LearningRateTest, TheCosineIsTheAuthors) {
  const RateSchedule schedule{.steps = 20, .warmup_steps = 2, .shape = Shape::kCosine, .final_share = 0.1};
  const std::vector<double> logged = {
      0,
      0.05,
      0.1,
      0.09931634888554937,
      0.09728616793536587,
      0.09397114317029975,
      0.08947199994035401,
      0.08392544243589428,
      0.07750000000000001,
      0.07039090644965511,
      0.06281416799501187,
      0.05500000000000001,
      0.04718583200498814,
      0.039609093550344913,
      0.032500000000000015,
      0.02607455756410573,
      0.020528000059645998,
      0.016028856829700257,
      0.012713832064634126,
      0.01068365111445064,
  };
  for (int update = 0; update < 20; ++update) EXPECT_NEAR(RateAt(schedule, 0.1, update), logged[static_cast<size_t>(update)], 1e-15) << update;
}

// Halves, quarters and so on, which float64 has exactly.
TEST(LearningRateTest, ALineFallsByTheSameAtEachUpdateAfterTheWarmUp) {
  const RateSchedule schedule{.steps = 12, .warmup_steps = 4, .shape = Shape::kLinear, .final_share = 0.25};
  const std::vector<double> expected = {0, 0.125, 0.25, 0.375, 0.5, 0.453125, 0.40625, 0.359375, 0.3125, 0.265625, 0.21875, 0.171875, 0.125};
  for (int update = 0; update <= 12; ++update) EXPECT_EQ(RateAt(schedule, 0.5, update), expected[static_cast<size_t>(update)]) << update;
  EXPECT_EQ(RateAt({.steps = 12, .warmup_steps = 4, .shape = Shape::kLinear, .final_share = 0}, 0.5, 12), 0);
}

TEST(LearningRateTest, AConstantOneHasNoOtherBitsThanThoseOfTheJob) {
  for (const double rate : {3e-4, 0.1, 1e-30}) {
    for (const int update : {0, 1, 1'999'999}) {
      EXPECT_EQ(RateAt({.steps = 2'000'000}, rate, update), rate);
      // What falls to all of itself stays.
      for (const Shape shape : {Shape::kCosine, Shape::kLinear}) EXPECT_EQ(RateAt({.steps = 2'000'000, .shape = shape, .final_share = 1}, rate, update), rate);
    }
    EXPECT_EQ(RateAt({.steps = 8, .warmup_steps = 4, .final_share = 0}, rate, 7), rate) << "nothing that is constant falls";
  }
  EXPECT_TRUE(RateSchedule{}.constant());
  EXPECT_FALSE(RateSchedule{.warmup_steps = 1}.constant());
  EXPECT_FALSE(RateSchedule{.shape = Shape::kLinear}.constant());
}

TEST(LearningRateTest, WhatSettingsLeaveOutIsTheKindsOwn) {
  PackSettings settings;
  EXPECT_TRUE(ScheduleOf(settings).constant());
  settings.experiment = "language";
  EXPECT_TRUE(ScheduleOf(settings).constant());
  settings.experiment = "llama";
  EXPECT_EQ(ScheduleOf(settings).warmup_steps, 2000);
  EXPECT_EQ(ScheduleOf(settings).shape, Shape::kCosine);
  EXPECT_EQ(ScheduleOf(settings).final_share, 0.1);

  settings.training = {.steps = 50, .lengths = {3}, .warmup_steps = 0, .final_rate = 0.5, .schedule = Shape::kLinear};
  for (const char* experiment : {"algorithmic", "llama"}) {
    settings.experiment = experiment;
    const RateSchedule schedule = ScheduleOf(settings);
    EXPECT_EQ(schedule.steps, 50);
    EXPECT_EQ(schedule.warmup_steps, 0);
    EXPECT_EQ(schedule.shape, Shape::kLinear);
    EXPECT_EQ(schedule.final_share, 0.5);
  }
}

TEST(LearningRateTest, RefusesWhatDoesNotFit) {
  const auto refused = [](const PackSettings& settings) { return std::string(ValidateSchedule(settings).message()); };
  PackSettings settings;
  settings.training.steps = 10;
  EXPECT_EQ(refused(settings), "");
  settings.training.warmup_steps = 9;
  EXPECT_EQ(refused(settings), "");
  settings.training.warmup_steps = 10;
  EXPECT_EQ(refused(settings), "training.warmup_steps: 10 do not fit into training.steps 10");
  settings.training.steps = 0;
  EXPECT_EQ(refused(settings), "") << "nothing is trained";
  settings.training = {.steps = 10, .lengths = {3}, .warmup_steps = -1};
  EXPECT_EQ(refused(settings), "training.warmup_steps: -1 do not fit into training.steps 10");
  for (const double share : {-0.5, 1.5, std::numeric_limits<double>::quiet_NaN()}) {
    settings.training = {.steps = 10, .lengths = {3}, .final_rate = share, .schedule = Shape::kCosine};
    EXPECT_NE(refused(settings).find(" is not in [0, 1]"), std::string::npos) << share;
  }
  settings.training = {.steps = 10, .lengths = {3}, .warmup_steps = 2};
  settings.experiment = "images";
  EXPECT_EQ(refused(settings), "training.schedule: 'constant' with a warm-up of 2 does not go with experiment 'images', whose learning rates stay as they are");
}

}  // namespace
}  // namespace longreach::trainer
