// The scale that gradients take on their way back through products of float16: a power of two, so that only what is out of range is rounded.
#include "worker/trainer/resident/add_parts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/worker/trainer/resident/phases_fixture.h"

namespace longreach::trainer::resident {
namespace {

class GradientScaleTest : public PhaseTest {
 protected:
  static constexpr int kRows = 6;

  static Floats Times(Floats values, float factor) {
    for (float& value : values) value *= factor;
    return values;
  }

  // Scales dh, and gives what every thread got.
  static GradientScale Scale(Floats& dh) {
    Shared shared(GradientScaleSharedBytes());
    std::vector<GradientScale> scales(kThreads);
    Run([&] { scales[static_cast<size_t>(Thread())] = ScaleGradient(dh.data(), kRows, shared.data()); }, dh);
    for (const GradientScale& scale : scales) {
      EXPECT_EQ(scale.up, scales[0].up);
      EXPECT_EQ(scale.down, scales[0].down);
    }
    return scales[0];
  }
};
INSTANTIATE_TEST_SUITE_P(Orders, GradientScaleTest, kBothOrders, NameOfOrder);

TEST_P(GradientScaleTest, BringsTheLargestNumberBetweenOneAndTwo) {
  for (const float largest : {1e-30f, 3e-9f, 0.999999f, 1.0f, 1.5f, 2.0f, 777.0f, 1e30f}) {
    Floats outputs = Times(Random(1).Uniform(size_t{kRows} * kDim, -0.4f, 0.4f), largest);
    outputs[200] = -largest;
    Floats dh = outputs;

    const GradientScale scale = Scale(dh);

    EXPECT_GE(largest * scale.up, 1) << largest;
    EXPECT_LT(largest * scale.up, 2) << largest;
    EXPECT_EQ(scale.up * scale.down, 1) << largest;
    int exponent = 0;
    EXPECT_EQ(std::frexp(scale.up, &exponent), 0.5f) << "no power of two";
    EXPECT_TRUE(SameBits(dh, Times(outputs, scale.up))) << largest;
  }
}

TEST_P(GradientScaleTest, LeavesWhatHasNoSizeAsItIs) {
  Floats outputs(size_t{kRows} * kDim);
  for (const float only : {0.0f, kInfinity, kNan}) {
    outputs[77] = only;
    Floats dh = outputs;
    EXPECT_EQ(Scale(dh).up, 1);
    EXPECT_TRUE(SameBits(dh, outputs)) << only;
  }
}

// Below float32's normal numbers, and at its end: both the power and its inverse are normal.
TEST_P(GradientScaleTest, StaysWithinFloat32) {
  for (const float largest : {1e-45f, 1e-38f, 3.4e38f}) {
    const GradientScale scale = ScaleOf(largest);
    EXPECT_TRUE(std::isnormal(scale.up) && std::isnormal(scale.down)) << largest;
    EXPECT_EQ(scale.up * scale.down, 1) << largest;
    EXPECT_LT(largest * scale.up, 4) << largest;
  }
}

// A member with slices that were scaled differently, each of which fills its gradient.
TEST_P(GradientScaleTest, IsTakenBackForAllParametersButTheHead) {
  ModelPlaces places;
  places.classes = 5;
  places.stride = 1024;
  places.out_w = 300;
  places.out_b = 300 + kDim * 5 + 12;
  Floats parts = Random(2).Normal(size_t{3} * 1024), gradients(1024);
  SliceSums sums[3] = {{.loss = 0, .squares = 0, .scale = 1.0f / 4096}, {.loss = 0, .squares = 0, .scale = 2}, {.loss = 0, .squares = 0, .scale = 1}};
  StepArguments step = {};
  step.places = places;
  step.slices = 3;
  step.parts = parts.data();
  step.sums = sums;
  step.gradients = gradients.data();

  Run(
      [&] {
        AddParts(step, 0, {0, places.stride});
        SyncBlock();  // A thread reads its own alone.
      },
      gradients);

  for (int i = 0; i < places.stride; ++i) {
    const bool of_head = kScalesGradients && ((i >= 300 && i < 300 + kDim * 5) || (i >= places.out_b && i < places.out_b + 5));
    float expected = 0;
    for (int slice = 0; slice < 3; ++slice) {
      expected += parts[static_cast<size_t>(slice * 1024 + i)] * (of_head || !kScalesGradients ? 1.0f : sums[slice].scale);
    }
    EXPECT_EQ(gradients[static_cast<size_t>(i)], expected) << i;
  }
}

}  // namespace
}  // namespace longreach::trainer::resident
