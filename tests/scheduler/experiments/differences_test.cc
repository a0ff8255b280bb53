#include "scheduler/experiments/differences.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace longreach::experiments {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

v1::SweepSpec Sweep(const std::string& name, std::initializer_list<const char*> encodings) {
  v1::SweepSpec sweep;
  sweep.set_name(name);
  sweep.set_experiment("algorithmic");
  for (const char* task : {"even_pairs", "parity_check"}) sweep.mutable_axes()->add_task(task);
  for (const char* encoding : encodings) sweep.mutable_axes()->add_encoding(encoding);
  for (const double rate : {1e-4, 3e-4}) sweep.mutable_axes()->add_learning_rate(rate);
  for (const uint32_t seed : {0u, 1u}) sweep.mutable_axes()->add_seed(seed);
  return sweep;
}

TEST(DifferencesTest, NamesTasksAndEncodingsAreFree) {
  v1::SweepSpec other = Sweep("b", {"rope", "alibi:randomized"});
  other.mutable_axes()->add_task("bucket_sort");
  EXPECT_THAT(DifferingSettings(Sweep("a", {"shape", "log_kerple:randomized"}), other), IsEmpty());
}

TEST(DifferencesTest, SettingsLearningRatesAndSeedsAreNamed) {
  v1::SweepSpec other = Sweep("b", {"rope", "rope:randomized"});
  other.mutable_axes()->add_seed(2);
  other.mutable_axes()->set_learning_rate(0, 5e-4);
  other.mutable_model()->set_layers(3);
  other.mutable_positions()->set_max_position(4096);
  other.mutable_training()->set_steps(100);
  other.mutable_evaluation()->set_examples(7);

  EXPECT_THAT(DifferingSettings(Sweep("a", {"rope"}), other),
              ElementsAre("evaluation.examples", "learning_rate", "model.layers", "positions.max_position", "seed", "training.steps"));
}

TEST(DifferencesTest, WhatStandsInAnotherOrderIsTheSame) {
  v1::SweepSpec other = Sweep("b", {"rope"});
  other.mutable_axes()->mutable_seed()->SwapElements(0, 1);
  other.mutable_axes()->mutable_learning_rate()->SwapElements(0, 1);
  EXPECT_THAT(DifferingSettings(Sweep("a", {"rope"}), other), IsEmpty());
}

TEST(DifferencesTest, WhatNoEncodingOfTheOtherUsesMakesNoDifference) {
  v1::SweepSpec one = Sweep("a", {"log_kerple", "sandwich"});
  one.mutable_model()->set_kerple_shared(true);
  one.mutable_model()->set_sandwich_dim(64);
  EXPECT_THAT(DifferingSettings(one, Sweep("b", {"rope"})), IsEmpty());
  EXPECT_THAT(DifferingSettings(one, Sweep("b", {"rope", "sandwich"})), ElementsAre("model.sandwich_dim"));
}

TEST(DifferencesTest, AnotherKindIsNamedAlone) {
  v1::SweepSpec other = Sweep("b", {"rope"});
  other.set_experiment("noop");
  EXPECT_THAT(DifferingSettings(Sweep("a", {"rope"}), other), ElementsAre("experiment"));
}

TEST(DifferencesTest, SystemsAreComparedAsTheyAreWritten) {
  v1::SweepSpec other = Sweep("b", {"rope"});
  v1::System& one = *other.add_systems();
  one.set_name("short");
  one.mutable_with()->mutable_training()->set_steps(10);
  EXPECT_THAT(DifferingSettings(Sweep("a", {"rope"}), other), ElementsAre("systems.short.with.training.steps"));
}

}  // namespace
}  // namespace longreach::experiments
