#include "client/spec/spec_differences.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace longreach::client {
namespace {

v1::SweepSpec Spec() {
  v1::SweepSpec spec;
  spec.set_name("one");
  spec.mutable_axes()->add_task("even_pairs");
  spec.mutable_axes()->add_seed(0);
  spec.mutable_training()->set_steps(100);
  return spec;
}

TEST(SpecDifferencesTest, NamesTasksAndEncodingsDoNotCount) {
  v1::SweepSpec other = Spec();
  other.set_name("other");
  other.mutable_axes()->add_task("parity_check");
  other.mutable_axes()->add_encoding("rope");
  EXPECT_TRUE(FieldsThatDiffer(Spec(), other).empty());
  EXPECT_TRUE(FieldsThatDiffer(other, Spec()).empty());
}

TEST(SpecDifferencesTest, FieldsAreNamedByTheirPaths) {
  v1::SweepSpec other = Spec();
  other.mutable_axes()->add_seed(1);
  other.mutable_training()->set_steps(200);
  other.mutable_model()->set_layers(2);
  EXPECT_EQ(FieldsThatDiffer(Spec(), other), (std::set<std::string>{"model.layers", "seed", "training.steps"}));
}

TEST(SpecDifferencesTest, WhatOnlyTheFirstHasIsTheDefaultAgainInTheOther) {
  v1::SweepSpec other = Spec();
  other.clear_training();
  EXPECT_EQ(FieldsThatDiffer(Spec(), other), std::set<std::string>{"training.steps"});
  EXPECT_EQ(FieldsThatDiffer(other, Spec()), std::set<std::string>{"training.steps"});

  other.mutable_training()->set_batch_size(8);
  EXPECT_EQ(FieldsThatDiffer(Spec(), other), (std::set<std::string>{"training.batch_size", "training.steps"}));
}

TEST(SpecDifferencesTest, AListThatOnlyTheFirstHasMayBeTheDefaultAndIsSeenTheOtherWayRound) {
  v1::SweepSpec before = Spec();
  before.mutable_evaluation()->add_lengths(41);
  EXPECT_TRUE(FieldsThatDiffer(before, Spec()).empty());
  EXPECT_EQ(FieldsThatDiffer(Spec(), before), std::set<std::string>{"evaluation.lengths"});
}

TEST(SpecDifferencesTest, OfSystemsThatTheOtherLacksWhatTheySetIsNamedOnce) {
  v1::SweepSpec grid = Spec();
  for (const int layers : {1, 2}) {
    v1::System& system = *grid.add_systems();
    system.set_name("layers-" + std::to_string(layers));
    system.mutable_with()->mutable_axes()->add_learning_rate(0.1);
    system.mutable_with()->mutable_model()->set_layers(layers);
    system.mutable_with()->add_inputs()->set_name("weights");
  }
  EXPECT_EQ(FieldsThatDiffer(Spec(), grid), (std::set<std::string>{"inputs", "learning_rate", "model.layers"}));
  EXPECT_TRUE(FieldsThatDiffer(grid, Spec()).empty()) << "a system less is a row less";

  v1::SweepSpec other = grid;
  other.mutable_systems(0)->mutable_with()->mutable_model()->set_layers(5);
  EXPECT_EQ(FieldsThatDiffer(grid, other), std::set<std::string>{"systems.layers-1.with.model.layers"}) << "both have that system";
  other.add_systems()->set_name("as-it-is");
  EXPECT_EQ(FieldsThatDiffer(grid, other), (std::set<std::string>{"systems", "systems.layers-1.with.model.layers"}));
}

TEST(SpecDifferencesTest, TwoSystemsOfASweepDifferInWhatTheirJobsHave) {
  v1::SweepSpec sweep = Spec();
  sweep.set_data("words");
  for (const int length : {41, 42}) sweep.mutable_evaluation()->add_lengths(length);
  for (const char* name : {"plain", "said-again", "other-tests", "tuned"}) sweep.add_systems()->set_name(name);
  sweep.mutable_systems(1)->mutable_with()->mutable_training()->set_steps(100);
  sweep.mutable_systems(1)->mutable_with()->mutable_axes()->add_seed(3);
  sweep.mutable_systems(2)->mutable_with()->mutable_evaluation()->add_lengths(500);
  v1::SweepSpec& tuned = *sweep.mutable_systems(3)->mutable_with();
  tuned.set_data("others");
  tuned.mutable_training()->set_steps(10);
  tuned.add_inputs()->set_name("weights");
  tuned.mutable_inputs(0)->set_artifact("weights");
  const auto fields = [&sweep](const char* first, const char* second) { return FieldsOfSystemsThatDiffer(sweep, first, second); };

  EXPECT_TRUE(fields("plain", "said-again").empty()) << "the steps are the sweep's, and axes are told by the pairs";
  EXPECT_EQ(fields("plain", "other-tests"), std::set<std::string>{"evaluation.lengths"});
  EXPECT_EQ(fields("other-tests", "said-again"), std::set<std::string>{"evaluation.lengths"});
  EXPECT_EQ(fields("plain", "tuned"), (std::set<std::string>{"data", "inputs.weights.artifact", "training.steps"}));
}

}  // namespace
}  // namespace longreach::client
