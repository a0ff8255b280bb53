// Where a GPU answers, LibTorch's engine rounds operands to TF32 if it is asked to, and not else. A stand-in has no such arithmetic.
#include <gtest/gtest.h>

#include "tests/worker/trainer/kernels/gpu_fixture.h"

namespace longreach::trainer {

namespace {

using Tf32GpuTest = GpuTest;

// TF32 keeps 11 bits: not the bits of float32, and not far from them. Engines side by side keep their own precision.
TEST_F(Tf32GpuTest, IsComputedWhenAsked) {
  const PackSettings settings = Settings("rope", "reverse_string", 20);
  const std::unique_ptr<StepEngine> whole = OnGpu(settings, "libtorch"), tf32 = OnGpu(settings, "libtorch-tf32");
  ASSERT_EQ(tf32->Name(), "libtorch-tf32");
  PackState state = OnDevice(ScatteredState(whole->model(), 2), *whole);
  const Batch batch = BatchOf(settings, *whole, 0);
  whole->Gradients(batch, state);
  const Tensor expected = whole->gradients().clone();
  tf32->Gradients(batch, state);
  const double off = RelativeError(tf32->gradients(), expected);
  EXPECT_GT(off, 1e-5);
  EXPECT_LT(off, 1e-1);
  whole->Gradients(batch, state);
  EXPECT_LT(RelativeError(whole->gradients(), expected), 1e-5);
}

}  // namespace

}  // namespace longreach::trainer
