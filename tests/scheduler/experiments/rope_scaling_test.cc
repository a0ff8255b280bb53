// Extensions of rotary positions (positions.rope_scaling) of the kinds that train encoders: what is refused, and which jobs are the same.
#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scheduler/experiments/expanded.h"

namespace longreach::experiments {
namespace {

using ::testing::HasSubstr;

v1::SweepSpec RotarySweep(const std::string& scaling) {
  v1::SweepSpec sweep;
  sweep.set_name("rotary");
  sweep.set_experiment("algorithmic");
  sweep.mutable_axes()->add_task("even_pairs");
  sweep.mutable_axes()->add_encoding("rope");
  sweep.mutable_axes()->add_learning_rate(3e-4);
  sweep.mutable_axes()->add_seed(0);
  if (scaling.empty()) return sweep;
  sweep.mutable_positions()->set_rope_scaling(scaling);
  if (scaling != "none") sweep.mutable_positions()->set_rope_factor(4);
  return sweep;
}

void OnlyTest(v1::SweepSpec& sweep) {
  sweep.mutable_training()->set_steps(0);
  *sweep.add_inputs() = Weights();
}

TEST(RopeScalingTest, WhatScalesNothingIsTheJobThatItWas) {
  const std::string plain = IdOf(RotarySweep(""));
  EXPECT_EQ(IdOf(RotarySweep("none")), plain);
  // As one of several in a grid.
  v1::SweepSpec beside = RotarySweep("none");
  beside.mutable_positions()->set_rope_factor(4);
  beside.mutable_positions()->set_original_length(80);
  beside.mutable_positions()->set_rope_scaling_at("always");
  EXPECT_EQ(IdOf(beside), plain);
  // Nor is it anything to an encoding without rotation.
  v1::SweepSpec others = RotarySweep("linear");
  others.mutable_axes()->set_encoding(0, "alibi");
  others.mutable_axes()->add_encoding("rope");
  v1::SweepSpec alibi = RotarySweep("");
  alibi.mutable_axes()->set_encoding(0, "alibi");
  EXPECT_EQ(IdOf(others), IdOf(alibi));
}

// Of tests alone they say what the weights were trained at; where nothing goes by that, they say nothing.
TEST(RopeScalingTest, TrainedLengthsStandForTheOriginalLengthOfTests) {
  const auto tested = [](const std::string& scaling, int trained) {
    v1::SweepSpec sweep = RotarySweep(scaling);
    OnlyTest(sweep);
    for (int length = 1; length <= trained; ++length) sweep.mutable_training()->add_lengths(length);
    return sweep;
  };
  EXPECT_EQ(JobOf(tested("dynamic", 12)).training().lengths_size(), 12);
  EXPECT_NE(IdOf(tested("yarn", 12)), IdOf(tested("yarn", 11)));
  v1::SweepSpec given = tested("yarn", 12);
  given.mutable_positions()->set_original_length(20);
  EXPECT_EQ(JobOf(given).training().lengths_size(), 0);
  EXPECT_EQ(JobOf(tested("linear", 12)).training().lengths_size(), 0);
  EXPECT_EQ(IdOf(tested("linear", 12)), IdOf(tested("linear", 0)));
}

TEST(RopeScalingTest, WhatMakesADifferenceMakesAnotherJob) {
  std::vector<std::string> ids;
  for (const char* scaling : {"", "linear", "ntk", "dynamic", "yarn"}) ids.push_back(IdOf(RotarySweep(scaling)));
  v1::SweepSpec changed = RotarySweep("yarn");
  changed.mutable_positions()->set_rope_scaling_at("always");
  ids.push_back(IdOf(changed));
  changed.mutable_positions()->set_original_length(80);
  ids.push_back(IdOf(changed));
  changed.mutable_positions()->set_rope_factor(8);
  ids.push_back(IdOf(changed));
  std::ranges::sort(ids);
  EXPECT_EQ(std::ranges::adjacent_find(ids), ids.end());

  // No length to begin from.
  v1::SweepSpec linear = RotarySweep("linear");
  linear.mutable_positions()->set_original_length(80);
  EXPECT_EQ(IdOf(linear), IdOf(RotarySweep("linear")));
  // Without a training there is nothing but tests.
  v1::SweepSpec tests = RotarySweep("linear"), always = RotarySweep("linear");
  OnlyTest(tests);
  OnlyTest(always);
  always.mutable_positions()->set_rope_scaling_at("always");
  for (v1::SweepSpec* sweep : {&tests, &always}) sweep->mutable_inputs(0)->mutable_from()->mutable_positions();
  EXPECT_EQ(IdOf(tests), IdOf(always));
}

// It says so to a worker that knows the other fields, as those of LLaMA decoders, and would leave them out here.
TEST(RopeScalingTest, AJobSaysWhenItIsScaled) {
  EXPECT_EQ(JobOf(RotarySweep("linear")).positions().rope_scaling_at(), "tests");
  EXPECT_FALSE(JobOf(RotarySweep("none")).positions().has_rope_scaling_at());
  v1::SweepSpec llama = LlamaSweep();
  llama.mutable_axes()->set_encoding(0, "rope");
  llama.mutable_positions()->set_rope_scaling("linear");
  llama.mutable_positions()->set_rope_factor(4);
  EXPECT_FALSE(JobOf(llama).positions().has_rope_scaling_at());
}

TEST(RopeScalingTest, AnotherBaseIsAnotherJobWithPlainAndRandomizedPositionsAndSaysSo) {
  for (const char* encoding : {"rope", "rope:randomized"}) {
    v1::SweepSpec sweep = RotarySweep("");
    sweep.mutable_axes()->set_encoding(0, encoding);
    const std::string usual = IdOf(sweep);
    sweep.mutable_model()->set_rope_theta(10'000);
    EXPECT_EQ(IdOf(sweep), usual);
    EXPECT_FALSE(JobOf(sweep).positions().has_rope_scaling_at());
    sweep.mutable_model()->set_rope_theta(500);
    EXPECT_NE(IdOf(sweep), usual);
    EXPECT_EQ(JobOf(sweep).positions().rope_scaling_at(), "tests");
    // Which is nothing to what is not scaled.
    const std::string other = IdOf(sweep);
    sweep.mutable_positions()->set_rope_scaling_at("always");
    EXPECT_EQ(IdOf(sweep), other);
  }
  v1::SweepSpec alibi = RotarySweep("");
  alibi.mutable_axes()->set_encoding(0, "alibi");
  const std::string plain = IdOf(alibi);
  alibi.mutable_model()->set_rope_theta(500);
  EXPECT_EQ(IdOf(alibi), plain);
  EXPECT_FALSE(JobOf(alibi).positions().has_rope_scaling_at());
}

TEST(RopeScalingTest, WhatIsRefused) {
  const auto refused = [](const std::string& scaling, const std::function<void(v1::SweepSpec&)>& change) {
    v1::SweepSpec sweep = RotarySweep(scaling);
    change(sweep);
    return Refused(sweep);
  };
  EXPECT_THAT(refused("linaer", [](v1::SweepSpec&) {}), HasSubstr("positions.rope_scaling: unknown word 'linaer'\n  did you mean 'linear'?"));
  EXPECT_THAT(refused("linear", [](v1::SweepSpec& s) { s.mutable_positions()->set_rope_factor(1); }),
              HasSubstr("positions.rope_factor: 1 does not go with positions.rope_scaling 'linear'\n  set a factor above 1"));
  EXPECT_THAT(refused("", [](v1::SweepSpec& s) { s.mutable_positions()->set_rope_factor(2); }),
              HasSubstr("positions.rope_factor: 2 does not go with positions.rope_scaling 'none'\n  leave the factor out"));
  EXPECT_THAT(refused("linear", [](v1::SweepSpec& s) { s.mutable_positions()->set_rope_scaling_at("test"); }),
              HasSubstr("positions.rope_scaling_at: unknown word 'test'\n  did you mean 'tests'?"));
  EXPECT_THAT(refused("linear", [](v1::SweepSpec& s) { s.mutable_axes()->set_encoding(0, "alibi"); }),
              HasSubstr("positions.rope_scaling: 'linear' scales rotations, and the encoding 'alibi' has none"));
  EXPECT_THAT(refused("linear", [](v1::SweepSpec& s) {
                s.mutable_axes()->set_encoding(0, "alibi");
                s.mutable_axes()->add_encoding("none");
              }),
              HasSubstr("and no encoding here has one"));
  EXPECT_THAT(refused("linear", [](v1::SweepSpec& s) { s.mutable_axes()->add_encoding("rope:randomized"); }),
              HasSubstr("positions.rope_scaling: 'linear' is for consecutive positions, and those of rope:randomized are drawn"));
  EXPECT_THAT(refused("yarn", OnlyTest), HasSubstr("positions.original_length: 'yarn' needs the length that the model was trained at\n"
                                                   "  set it, or training.lengths as the weights were trained at"));
  for (const double theta : {1.0, 1e30, std::nan("")}) {
    EXPECT_THAT(refused("", [theta](v1::SweepSpec& s) { s.mutable_model()->set_rope_theta(theta); }), HasSubstr("is not a number above 1, at most 1000000000")) << theta;
  }

  v1::SweepSpec llama = LlamaSweep();
  llama.mutable_axes()->set_encoding(0, "rope");
  llama.mutable_positions()->set_rope_scaling_at("always");
  EXPECT_THAT(Refused(llama), HasSubstr("positions.rope_scaling_at: is a setting of the kinds 'algorithmic', 'images', 'language' and 'sequences', not of 'llama'"));
}

}  // namespace
}  // namespace longreach::experiments
