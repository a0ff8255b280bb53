// Where a GPU answers, LibTorch's engine computes there what it computes on the CPU.
#include <vector>

#include <gtest/gtest.h>

#include "proto/base/text.h"
#include "tests/worker/trainer/kernels/gpu_fixture.h"
#include "worker/trainer/device.h"

namespace longreach::trainer {

namespace {

using LibtorchGpuTest = GpuTest;

// With dropout, whose factors the GPU draws itself. LibTorch's operations add in another order there; of 600 simulated draws the largest difference
// was 1.7e-3, by hidden features next to zero.
TEST_F(LibtorchGpuTest, LibtorchComputesThereWhatItComputesHere) {
  std::vector<PackSettings> all;
  for (const char* encoding : {"none", "sin_cos", "learned", "shape", "rope", "relative", "alibi", "sandwich", "power_kerple", "log_kerple", "t5", "fire"}) {
    all.push_back(Settings(encoding, "reverse_string", 20));
  }
  for (const char* encoding : {"learned", "log_kerple"}) {
    all.push_back(Settings(encoding, "reverse_string", 20));
    all.back().model.norm = PackSettings::Model::Norm::kPre;
  }
  for (const PackSettings& settings : all) {
    SCOPED_TRACE(Text(settings.encoding, settings.model.norm == PackSettings::Model::Norm::kPre ? " pre-norm" : ""));
    const std::unique_ptr<StepEngine> here = MakeNamed(settings, "libtorch");
    const std::unique_ptr<StepEngine> there = OnGpu(settings, "libtorch");
    PackState state = ScatteredState(here->model(), 2), state_there = OnDevice(ScatteredState(here->model(), 2), *there);
    const Batch batch = BatchOf(settings, *here, 0);
    here->Gradients(batch, state);
    there->Gradients(batch, state_there);
    EXPECT_LT(RelativeError(there->gradients().to(at::kCPU), here->gradients()), 1e-2);
  }
}

// With trained tables, whose gradients are sums over pairs of tokens; by position each pair has an entry of its own, and
// many of T5's entries are one bucket.
TEST_F(LibtorchGpuTest, LibtorchTrainsThereWithTheSameBitsAgain) {
  const auto randomized_by_position = [](PackSettings settings) {
    settings.randomized = true;
    settings.positions.randomized_by = PackSettings::Positions::RandomizedBy::kPosition;
    return settings;
  };
  const PackSettings relative = Settings("relative", "reverse_string", 20), kerple = Settings("log_kerple", "reverse_string", 20);
  const PackSettings t5 = Settings("t5", "reverse_string", 20), fire = Settings("fire", "reverse_string", 20);
  for (const PackSettings& settings : {relative, kerple, t5, fire, randomized_by_position(relative), randomized_by_position(kerple),
                                       randomized_by_position(t5), randomized_by_position(fire)}) {
    SCOPED_TRACE(Text(settings.encoding, settings.randomized ? " by position" : ""));
    const auto train = [&] {
      const std::unique_ptr<StepEngine> engine = OnGpu(settings, "libtorch");
      PackState state = OnDevice(ScatteredState(engine->model(), 2), *engine);
      engine->Train(
          5, [&](uint64_t step) { return BatchOf(settings, *engine, step); }, {1e-3, 1e-3}, state, [](const std::vector<StepResult>&) {});
      return state.parameters.to(at::kCPU);
    };
    EXPECT_TRUE(train().equal(train()));
  }
}

TEST_F(LibtorchGpuTest, DrawsTheDropoutOfTheHost) {
  const PackSettings settings = Settings("sin_cos", "reverse_string", 20);
  const std::unique_ptr<StepEngine> engine = MakeNamed(settings, "libtorch");
  const Batch batch = BatchOf(settings, *engine, 3);
  const std::vector<Tensor> expected = DropoutFactors(settings, engine->model(), batch, 2, 6);
  const std::vector<Tensor> drawn = DropoutFactors(settings, engine->model(), batch, 2, 6, DrawingDevice{DeviceOf(true), CudaDropFactors()});
  ASSERT_EQ(drawn.size(), expected.size());
  for (size_t place = 0; place < drawn.size(); ++place) EXPECT_TRUE(drawn[place].to(at::kCPU).equal(expected[place])) << place;
}

}  // namespace

}  // namespace longreach::trainer
