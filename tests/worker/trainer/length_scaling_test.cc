// Attention by the number of keys (model.length_scaling): what the factors are, that LibTorch's engine multiplies by them, and that all engines do as it does.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/worker/trainer/lanes_fixture.h"
#include "worker/trainer/length_scaling.h"
#include "worker/trainer/model/model.h"

namespace longreach::trainer {

namespace {

using ::testing::HasSubstr;
using Scaling = PackSettings::Model::LengthScaling;

class LengthScalingTest : public PackTest {
 protected:
  // Trained at lengths 1 to 7: tapes of 2 to 14.
  static PackSettings Scaled(const std::string& encoding, Scaling scaling, bool causal = false, int from = 0) {
    PackSettings settings = SmallSettings("reverse_string", encoding, false);
    settings.model.causal = causal;
    settings.model.length_scaling = scaling;
    settings.model.length_scaling_from = from;
    return settings;
  }
  // Queries that are larger by a factor, at every layer.
  static Tensor WithQueriesTimes(double factor, const Model& model, const Tensor& flat) {
    Tensor larger = flat.clone();
    const ParameterSet all = ViewParameters(model.layout(), larger);
    for (size_t i = 0; i < all.size(); ++i) {
      if (model.layout().parameters()[i].name.ends_with("attn.q.w")) all[i].mul_(factor);
    }
    return larger;
  }
};

TEST_F(LengthScalingTest, FactorsAreLogarithmsToTheBaseOfTheLongestTape) {
  const LengthScaling log(Scaled("none", Scaling::kLog)), beyond(Scaled("none", Scaling::kLogBeyond)), none(Scaled("none", Scaling::kNone));
  EXPECT_EQ(log.Of(1), 0);
  EXPECT_EQ(log.Of(14), 1);
  EXPECT_DOUBLE_EQ(log.Of(14 * 14), 2);
  EXPECT_DOUBLE_EQ(log.Of(7), std::log(7.0) / std::log(14.0));
  EXPECT_EQ(beyond.Of(1), 1);
  EXPECT_EQ(beyond.Of(14), 1);
  EXPECT_DOUBLE_EQ(beyond.Of(14 * 14), 2);
  EXPECT_EQ(none.Of(100), 1);
  EXPECT_DOUBLE_EQ(LengthScaling(Scaled("none", Scaling::kLog, false, 10)).Of(1000), 3);
}

// An encoder's queries all see the whole tape.
TEST_F(LengthScalingTest, AnEncoderIsThatOfLargerQueries) {
  for (const std::string& name : EngineNames()) {
    for (const char* encoding : {"none", "rope", "log_kerple"}) {
      const PackSettings plain = Scaled(encoding, Scaling::kNone);
      const std::unique_ptr<StepEngine> theirs = MakeNamed(plain, name), ours = MakeNamed(Scaled(encoding, Scaling::kLog), name);
      ASSERT_EQ(ours->Name(), name) << encoding;
      PackState state = ScatteredState(theirs->model(), 1);
      for (const int length : {3, 7, 20}) {
        const Batch batch = TestBatch(plain, theirs->model().encoding().Use(), length);
        PackState larger = state;
        larger.parameters = WithQueriesTimes(std::log(2.0 * length) / std::log(14.0), theirs->model(), state.parameters[0]).unsqueeze(0);
        EXPECT_LT(RelativeError(ours->Logits(batch, state), theirs->Logits(batch, larger)), 2e-5) << name << " " << encoding << " " << length;
      }
    }
  }
}

// Of one layer, where a query's factor is that of its own output alone.
TEST_F(LengthScalingTest, ADecodersQueriesAreLargerByHowManyKeysTheySee) {
  for (const std::string& name : EngineNames()) {
    PackSettings plain = Scaled("alibi", Scaling::kNone, /*causal=*/true), scaled = Scaled("alibi", Scaling::kLogBeyond, /*causal=*/true, 8);
    plain.model.layers = scaled.model.layers = 1;
    const std::unique_ptr<StepEngine> theirs = MakeNamed(plain, name), ours = MakeNamed(scaled, name);
    ASSERT_EQ(ours->Name(), name);
    PackState state = ScatteredState(theirs->model(), 1);
    const Batch batch = TestBatch(plain, theirs->model().encoding().Use(), 6);
    const Tensor logits = ours->Logits(batch, state).view({batch.size, 6, -1});
    for (int64_t output = 0; output < 6; ++output) {
      PackState larger = state;
      // The first output is behind six tokens of the input and the begin: it sees seven keys.
      const double factor = std::max(1.0, std::log(static_cast<double>(7 + output)) / std::log(8.0));
      larger.parameters = WithQueriesTimes(factor, theirs->model(), state.parameters[0]).unsqueeze(0);
      const Tensor expected = theirs->Logits(batch, larger).view({batch.size, 6, -1});
      EXPECT_LT(RelativeError(logits.select(1, output), expected.select(1, output)), 2e-5) << name << " output " << output;
    }
  }
}

TEST_F(LengthScalingTest, EnginesTrainAlike) {
  for (const char* encoding : {"none", "rope", "log_kerple"}) {
    for (const bool causal : {false, true}) ExpectEnginesUpdateAlike(Scaled(encoding, Scaling::kLog, causal, 3), std::string(encoding) + (causal ? " causal" : ""));
  }
}

TEST_F(LengthScalingTest, MembersOfAPackHaveTheBitsOfOneAlone) {
  for (const char* engine : {"libtorch", "lanes"}) {
    const auto measured = [&](int members, const std::string& folder) {
      PackRequest request = Request(Scaled("rope", Scaling::kLog, true), members, engine + folder);
      request.engine = engine;
      return Run(request);
    };
    ExpectSameMeasurements(measured(3, "three").results[0], measured(1, "one").results[0]);
  }
}

TEST_F(LengthScalingTest, KernelsForGpusLeaveItToLibtorchAndSaySo) {
  PackSettings settings = Scaled("rope", Scaling::kLog);
  settings.model = {.length_scaling = Scaling::kLog};
  std::string line;
  const std::unique_ptr<StepEngine> engine = MakeEngine(settings, {.threads = 1, .engine = "emulated"}, [&](const std::string& said) { line += said; });
  EXPECT_EQ(engine->Name(), "libtorch");
  EXPECT_THAT(line, HasSubstr("which does not know model.length_scaling"));
}

TEST_F(LengthScalingTest, WhatIsRefused) {
  const auto refused = [](const PackSettings& settings) { return std::string(Validate(settings).message()); };
  EXPECT_EQ(refused(Scaled("rope", Scaling::kLog)), "");
  EXPECT_THAT(refused(Scaled("relative", Scaling::kLog)), HasSubstr("encoding: 'relative' has terms beside the products of queries and keys"));
  EXPECT_EQ(refused(Scaled("relative", Scaling::kNone)), "");
  EXPECT_THAT(refused(Scaled("rope", Scaling::kLog, false, 1)), HasSubstr("model.length_scaling_from: 1 has the logarithm 0"));
  EXPECT_THAT(refused(Scaled("rope", Scaling::kLog, false, -1)), HasSubstr("model.length_scaling_from: -1 is not in 0.."));
  PackSettings only_test = Scaled("rope", Scaling::kLogBeyond);
  only_test.training.steps = 0;
  only_test.training.lengths.clear();
  EXPECT_THAT(refused(only_test), HasSubstr("model.length_scaling_from: 0 is no training length"));
  only_test.model.length_scaling_from = 14;
  EXPECT_EQ(refused(only_test), "");
  PackSettings images = Scaled("none", Scaling::kLog);
  images.experiment = "images";
  images.task = images.data = "imagenet";
  images.training.lengths = {12};
  images.evaluation.lengths = {12, 20};
  EXPECT_THAT(refused(images), HasSubstr("model.length_scaling: a logarithm is only for experiments 'algorithmic', 'language' and 'sequences', not for 'images'"));
}

}  // namespace

}  // namespace longreach::trainer
