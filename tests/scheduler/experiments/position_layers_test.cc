// Layers without a positional encoding (positions.none_every): what is refused, and which jobs are the same.
#include <functional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/experiments/registry.h"
#include "tests/scheduler/experiments/expanded.h"

namespace longreach::experiments {
namespace {

using ::testing::HasSubstr;

v1::SweepSpec LayersSweep(const std::string& encoding, int none_every) {
  v1::SweepSpec sweep;
  sweep.set_name("layers");
  sweep.set_experiment("algorithmic");
  sweep.mutable_axes()->add_task("even_pairs");
  sweep.mutable_axes()->add_encoding(encoding);
  sweep.mutable_axes()->add_learning_rate(3e-4);
  sweep.mutable_axes()->add_seed(0);
  if (none_every >= 0) sweep.mutable_positions()->set_none_every(none_every);
  return sweep;
}

constexpr int kNotGiven = -1;

TEST(PositionLayersTest, WhatLeavesNoLayerOutIsTheJobThatItWas) {
  for (const char* encoding : {"rope", "rope:randomized", "fire", "none", "sin_cos"}) {
    EXPECT_EQ(IdOf(LayersSweep(encoding, 0)), IdOf(LayersSweep(encoding, kNotGiven))) << encoding;
  }
  // To what does not act in layers it is nothing, beside others to which it is.
  for (const char* encoding : {"none", "sin_cos", "learned", "shape"}) {
    v1::SweepSpec beside = LayersSweep(encoding, 2);
    beside.mutable_axes()->add_encoding("rope");
    EXPECT_EQ(IdOf(beside), IdOf(LayersSweep(encoding, kNotGiven))) << encoding;
  }
}

TEST(PositionLayersTest, WhatLeavesSomeOutIsAnotherJob) {
  for (const char* encoding : {"alibi", "fire", "log_kerple", "power_kerple", "relative", "rope", "sandwich", "t5:randomized"}) {
    EXPECT_NE(IdOf(LayersSweep(encoding, 2)), IdOf(LayersSweep(encoding, 0))) << encoding;
    EXPECT_NE(IdOf(LayersSweep(encoding, 2)), IdOf(LayersSweep(encoding, 3))) << encoding;
  }
}

TEST(PositionLayersTest, AllKindsThatTrainKnowIt) {
  v1::SweepSpec pairs = LayersSweep("rope", 2), text = LayersSweep("rope", 2), images = LayersSweep("rope", 2), llama = LlamaSweep();
  pairs.set_experiment("sequences");
  pairs.mutable_axes()->set_task(0, "pairs");
  pairs.mutable_training()->add_lengths(4);
  pairs.mutable_evaluation()->add_lengths(8);
  text.set_experiment("language");
  text.mutable_axes()->set_task(0, "enwik8");
  images.set_experiment("images");
  images.mutable_axes()->set_task(0, "imagenet");
  llama.mutable_axes()->set_encoding(0, "rope");
  llama.mutable_positions()->set_none_every(4);
  for (const v1::SweepSpec& sweep : {pairs, text, images}) EXPECT_EQ(JobOf(sweep).positions().none_every(), 2) << sweep.experiment();
  EXPECT_EQ(JobOf(llama).positions().none_every(), 4);

  llama.mutable_axes()->set_encoding(0, "none");
  EXPECT_THAT(Refused(llama), HasSubstr("positions.none_every: 4 leaves an encoding out of layers, and 'none' does not act in layers"));
  llama.mutable_axes()->set_encoding(0, "rope");
  llama.mutable_axes()->set_task(0, "tokens");
  llama.mutable_model()->set_folder("tinyllama");
  EXPECT_THAT(Refused(llama), HasSubstr("positions.none_every: 4 is for a model of your own, and which layers of 'tinyllama' have positions its config.json says"));
}

TEST(PositionLayersTest, WhatIsRefused) {
  EXPECT_EQ(Refused(LayersSweep("rope", 1)), "positions.none_every: 1 leaves no layer with positions\n  take the encoding 'none' instead");
  EXPECT_EQ(Refused(LayersSweep("rope", 6)),
            "positions.none_every: 6 is above model.layers, 5: no layer would be without positions\n  set 0 where all are to have them");
  v1::SweepSpec negative = LayersSweep("rope", kNotGiven);
  negative.mutable_positions()->set_none_every(-2);
  EXPECT_EQ(Refused(negative), "positions.none_every: -2 is below 0");
  EXPECT_EQ(Refused(LayersSweep("sin_cos", 2)), "positions.none_every: 2 leaves an encoding out of layers, and 'sin_cos' does not act in layers\n  leave it out");
  v1::SweepSpec two = LayersSweep("sin_cos", 2);
  two.mutable_axes()->add_encoding("none");
  EXPECT_THAT(Refused(two), HasSubstr("and no encoding here acts in layers"));
}

// As many numbers may be those of other layers.
TEST(PositionLayersTest, TrainedNumbersOfAnEncodingFitIntoTheSameLayersAlone) {
  const auto tested = [](const std::string& encoding, int here, int there) {
    v1::SweepSpec sweep = LayersSweep(encoding, here);
    sweep.mutable_training()->set_steps(0);
    v1::Input& weights = *sweep.add_inputs();
    weights.set_name("weights");
    weights.set_artifact("weights");
    weights.mutable_from()->mutable_training()->set_steps(10);
    weights.mutable_from()->mutable_positions()->set_none_every(there);
    return sweep;
  };
  EXPECT_EQ(JobOf(tested("rope", 2, 0)).positions().none_every(), 2) << "rotations have no numbers: they may be left out of layers that were trained with them";
  EXPECT_EQ(JobOf(tested("log_kerple", 3, 3)).positions().none_every(), 3);
  EXPECT_THAT(Refused(tested("log_kerple", 3, 4)), HasSubstr("inputs.weights.from: positions.none_every is 4 there and 3 here, so its parameters do not fit"));
  EXPECT_THAT(Refused(tested("log_kerple", 0, 2)), HasSubstr("so its parameters do not fit"));
}

}  // namespace
}  // namespace longreach::experiments
