// Rotary positions beyond the training length (positions.rope_scaling) in models that are trained here: which passes are scaled, by how much, and by every
// engine alike.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/worker/trainer/lanes_fixture.h"
#include "worker/trainer/encodings/encoding.h"
#include "worker/trainer/model/model.h"

namespace longreach::trainer {

namespace {

using ::testing::HasSubstr;
using ScalingAt = PackSettings::Positions::RopeScalingAt;

PackSettings Scaled(PackSettings settings, const std::string& scaling, double factor, ScalingAt at = ScalingAt::kTests) {
  settings.positions.rope_scaling = scaling;
  settings.positions.rope_factor = factor;
  settings.positions.rope_scaling_at = at;
  return settings;
}

class RopeScalingTest : public PackTest {
 protected:
  // [2, T, K / 2] of consecutive positions, times `spread`.
  static Tensor Rotation(const PackSettings& settings, int64_t tape, bool test, int64_t spread = 1) {
    return MakeModel(settings)->encoding().Rotation(at::arange(tape, at::kLong) * spread, test, /*layer=*/0);
  }
  static double LossOf(const MemberResult& result) { return ValueOf(result, "loss", 0); }
  static PackSettings Rope() { return SmallSettings("reverse_string", "rope", false); }
};

TEST_F(RopeScalingTest, InterpolatedPositionsAreThoseOfAShorterTape) {
  const Tensor scaled = Rotation(Scaled(Rope(), "linear", 4), 20, true, 4);
  EXPECT_LT(RelativeError(scaled, Rotation(Rope(), 20, true)), 1e-6);
}

TEST_F(RopeScalingTest, ALargerBaseTurnsTheLastPairByTheFactorLess) {
  const Tensor plain = Rotation(Rope(), 20, true), scaled = Rotation(Scaled(Rope(), "ntk", 4), 80, true);
  // Heads of 8 features: base 4^(8/6) times as large, so that the last of four pairs, at base^(-6/8), is four times slower, and the first as it is.
  for (const int64_t part : {0, 1}) {
    EXPECT_TRUE(at::equal(scaled[part].select(1, 0).narrow(0, 0, 20), plain[part].select(1, 0)));
    EXPECT_LT(RelativeError(scaled[part].select(1, 3).slice(0, 0, 80, 4), plain[part].select(1, 3)), 1e-6);
  }
}

// The longest of training is 7: a tape of 14.
TEST_F(RopeScalingTest, TheBaseGrowsWithTheTapeBeyondTheLongestOfTheTraining) {
  const PackSettings dynamic = Scaled(Rope(), "dynamic", 2);
  for (const int64_t tape : {2, 14}) EXPECT_TRUE(at::equal(Rotation(dynamic, tape, true), Rotation(Rope(), tape, true))) << tape;
  // 2 * 28 / 14 - 1.
  EXPECT_LT(RelativeError(Rotation(dynamic, 28, true), Rotation(Scaled(Rope(), "ntk", 3), 28, true)), 1e-6);
  PackSettings earlier = dynamic;
  earlier.positions.original_length = 7;
  EXPECT_LT(RelativeError(Rotation(earlier, 14, true), Rotation(Scaled(Rope(), "ntk", 3), 14, true)), 1e-6);
}

TEST_F(RopeScalingTest, YarnKeepsWhatTurnsFastAndRaisesTheLogits) {
  PackSettings yarn = Scaled(Rope(), "yarn", 4);
  yarn.positions.original_length = 1024;
  const Tensor scaled = Rotation(yarn, 30, true), plain = Rotation(Rope(), 30, true), interpolated = Rotation(Scaled(Rope(), "linear", 4), 30, true);
  const double magnitude = 0.1 * std::log(4.0) + 1;
  EXPECT_LT(RelativeError(scaled.square().sum(0), at::full({30, 4}, magnitude * magnitude)), 1e-6);
  EXPECT_LT(RelativeError(scaled.select(2, 0), plain.select(2, 0) * magnitude), 1e-6);
  EXPECT_LT(RelativeError(scaled.select(2, 3), interpolated.select(2, 3) * magnitude), 1e-6);
}

TEST_F(RopeScalingTest, ItIsForTestsAloneUnlessItIsForAll) {
  for (const char* scaling : {"linear", "ntk", "yarn"}) {
    const Tensor plain = Rotation(Rope(), 30, false);
    const PackSettings tests = Scaled(Rope(), scaling, 4), always = Scaled(Rope(), scaling, 4, ScalingAt::kAlways);
    EXPECT_TRUE(at::equal(Rotation(tests, 30, false), plain)) << scaling;
    EXPECT_FALSE(at::allclose(Rotation(tests, 30, true), plain)) << scaling;
    EXPECT_TRUE(at::equal(Rotation(always, 30, false), Rotation(tests, 30, true))) << scaling;
    EXPECT_TRUE(at::equal(Rotation(always, 30, true), Rotation(tests, 30, true))) << scaling;
  }
}

TEST_F(RopeScalingTest, AnotherBaseIsForAllPasses) {
  PackSettings settings = Rope();
  settings.model.rope_theta = 256;
  for (const bool test : {false, true}) {
    // Heads of 8 features: the second pair turns by 256^(-2/8), a quarter, of the first.
    const Tensor rotation = Rotation(settings, 20, test), spread = Rotation(settings, 20, test, 4);
    EXPECT_LT(RelativeError(spread.select(2, 1), rotation.select(2, 0)), 1e-6);
    EXPECT_TRUE(at::equal(rotation.select(2, 0), Rotation(Rope(), 20, test).select(2, 0)));
  }
  settings.model.rope_theta = 0;
  EXPECT_THAT(std::string(Validate(settings).message()), HasSubstr("model.rope_theta: 0 is not a positive number"));
}

// What is trained and what is tested, through the trainer's door: weights are those of plain RoPE to the bit, tests are those of scaled RoPE.
TEST_F(RopeScalingTest, TestsOfAPlainTrainingAreWhatAJobThatOnlyTestsItsWeightsMeasures) {
  for (const char* engine : {"libtorch", "lanes"}) {
    const auto request = [&](const PackSettings& settings, const std::string& folder) {
      PackRequest made = Request(settings, 2, std::string(engine) + folder);
      made.engine = engine;
      return made;
    };
    const PackResult plain = Run(request(Rope(), "plain")), scaled = Run(request(Scaled(Rope(), "linear", 2), "scaled"));
    PackSettings only_test = Scaled(Rope(), "linear", 2);
    only_test.training.steps = 0;
    only_test.training.lengths.clear();
    PackRequest tested = request(only_test, "tested");
    for (size_t m = 0; m < 2; ++m) tested.members[m].weights = MemberFile{plain.weights, static_cast<int>(m)};
    const PackResult of_plain_weights = Run(tested);
    for (size_t m = 0; m < 2; ++m) {
      ExpectSameMeasurements(scaled.results[m], of_plain_weights.results[m]);
      EXPECT_NE(LossOf(scaled.results[m]), LossOf(plain.results[m]));
    }
  }
}

// YaRN's factor is in the rotation of queries and keys, forward and back.
TEST_F(RopeScalingTest, EnginesTrainAlikeWhereTrainingIsScaledToo) {
  for (const bool causal : {false, true}) {
    PackSettings settings = Scaled(Rope(), "yarn", 8, ScalingAt::kAlways);
    settings.model.causal = causal;
    ExpectEnginesUpdateAlike(settings, causal ? "causal" : "");
  }
}

TEST_F(RopeScalingTest, WhatIsRefused) {
  const auto refused = [](const PackSettings& settings) { return std::string(Validate(settings).message()); };
  EXPECT_EQ(refused(Scaled(Rope(), "yarn", 4)), "");
  EXPECT_THAT(refused(Scaled(Rope(), "longrope", 4)), HasSubstr("positions.rope_scaling: unknown name 'longrope'"));
  EXPECT_THAT(refused(Scaled(Rope(), "linear", 0.5)), HasSubstr("positions.rope_factor: 0.5 is not a number from 1 on"));
  PackSettings randomized = Scaled(Rope(), "linear", 4);
  randomized.randomized = true;
  EXPECT_THAT(refused(randomized), HasSubstr("positions.rope_scaling: 'linear' is for consecutive positions, and these are drawn"));
  for (const char* scaling : {"dynamic", "yarn"}) {
    PackSettings only_test = Scaled(Rope(), scaling, 4);
    only_test.training.steps = 0;
    only_test.training.lengths.clear();
    EXPECT_THAT(refused(only_test), HasSubstr("positions.original_length: 0 is no training length")) << scaling;
    only_test.positions.original_length = 14;
    EXPECT_EQ(refused(only_test), "") << scaling;
  }
}

}  // namespace

}  // namespace longreach::trainer
