// Settings that a sweep gives and none of its jobs has.
#include "scheduler/experiments/unused_settings.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scheduler/experiments/expanded.h"

namespace longreach::experiments {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

v1::SweepSpec RotarySweep() {
  v1::SweepSpec sweep;
  sweep.set_name("rotary");
  sweep.set_experiment("algorithmic");
  sweep.mutable_axes()->add_task("even_pairs");
  sweep.mutable_axes()->add_encoding("rope");
  for (const double rate : {1e-4, 3e-4}) sweep.mutable_axes()->add_learning_rate(rate);
  for (const uint32_t seed : {0, 1}) sweep.mutable_axes()->add_seed(seed);
  return sweep;
}

std::vector<std::string> UnusedOf(const v1::SweepSpec& sweep) {
  absl::StatusOr<Expansion> expansion = Expansion::Of(sweep);
  EXPECT_TRUE(expansion.ok()) << expansion.status();
  return expansion.ok() ? UnusedSettings(sweep, *expansion) : std::vector<std::string>();
}

TEST(UnusedSettingsTest, AreThoseThatNoEncodingOfTheSweepHas) {
  v1::SweepSpec sweep = RotarySweep();
  sweep.mutable_model()->set_layers(3);
  EXPECT_THAT(UnusedOf(sweep), IsEmpty());
  sweep.mutable_model()->set_t5_buckets(16);
  sweep.mutable_positions()->set_max_position(1024);
  sweep.mutable_positions()->set_shift_max(3);
  sweep.mutable_model()->set_length_scaling_from(9);
  EXPECT_THAT(UnusedOf(sweep), ElementsAre("model.length_scaling_from", "model.t5_buckets", "positions.max_position", "positions.shift_max"));
  // One that has it is enough.
  sweep.mutable_axes()->add_encoding("t5:randomized");
  sweep.mutable_axes()->add_encoding("shape");
  sweep.mutable_model()->set_length_scaling("log");
  EXPECT_THAT(UnusedOf(sweep), IsEmpty());
}

TEST(UnusedSettingsTest, WhatIsTheDefaultAnywayIsNone) {
  v1::SweepSpec sweep = RotarySweep();
  sweep.mutable_model()->set_t5_buckets(32);
  sweep.mutable_positions()->set_max_position(2048);
  EXPECT_THAT(UnusedOf(sweep), IsEmpty());
}

TEST(UnusedSettingsTest, TestsAloneHaveNoTraining) {
  v1::SweepSpec sweep = RotarySweep();
  sweep.mutable_training()->set_steps(0);
  sweep.mutable_training()->set_batch_size(9);
  for (const int length : {1, 2}) sweep.mutable_training()->add_lengths(length);
  v1::Input& weights = *sweep.add_inputs();
  weights.set_name("weights");
  weights.set_artifact("weights");
  weights.mutable_from()->mutable_training()->set_steps(10);
  EXPECT_THAT(UnusedOf(sweep), ElementsAre("training.batch_size", "training.lengths"));
}

// Groups that an input's maker leaves out are the sweep's.
TEST(UnusedSettingsTest, WhatTheMakersOfInputsHaveIsUsed) {
  v1::SweepSpec sweep = RotarySweep();
  sweep.mutable_positions()->set_max_position(1024);
  v1::Input& weights = *sweep.add_inputs();
  weights.set_name("weights");
  weights.set_artifact("weights");
  weights.mutable_from()->mutable_training()->set_steps(10);
  EXPECT_THAT(UnusedOf(sweep), ElementsAre("positions.max_position"));
  weights.mutable_from()->mutable_axes()->add_encoding("rope:randomized");
  EXPECT_THAT(UnusedOf(sweep), IsEmpty());
}

TEST(UnusedSettingsTest, OfSystemsOneThatUsesItIsEnough) {
  v1::SweepSpec sweep = RotarySweep();
  sweep.mutable_positions()->set_rope_factor(4);
  sweep.mutable_positions()->set_original_length(80);
  for (const char* scaling : {"none", "linear"}) {
    v1::System& system = *sweep.add_systems();
    system.set_name(scaling);
    *system.mutable_with()->mutable_positions() = sweep.positions();
    system.mutable_with()->mutable_positions()->set_rope_scaling(scaling);
  }
  sweep.clear_positions();
  EXPECT_THAT(UnusedOf(sweep), ElementsAre("positions.original_length"));
  sweep.mutable_systems(1)->mutable_with()->mutable_positions()->set_rope_scaling("yarn");
  EXPECT_THAT(UnusedOf(sweep), IsEmpty());
}

}  // namespace
}  // namespace longreach::experiments
