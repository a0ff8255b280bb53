// Where a GPU answers, the resident engine computes there what its kernels compute lane by lane on the CPU.
#include <gtest/gtest.h>

#include "proto/base/text.h"
#include "tests/worker/trainer/kernels/gpu_fixture.h"
#include "tests/worker/trainer/resident/sampled_batches.h"
#include "worker/trainer/kernels/resident_launcher.h"

namespace longreach::trainer {

namespace {

// What is computed lane by lane has the same operands and roundings; sums are in another order within a product, and exponentials
// have other last digits. Now and then that rounds an operand to the other neighbour, 2^-8 apart, or puts a hidden feature on the other side of
// ReLU's kink, and further layers spread it. In simulations of such differences the median was 5e-5 with one layer, one of 200 was above 2e-3 and
// the largest of 1,250 was 2.3e-2; with five layers the largest of 800 was 7.5e-2. What is computed wrongly is off by about as much as it is large.
struct Allowed {
  int layers;
  double gradients, loss;
};
constexpr Allowed kAllowed[] = {{.layers = 1, .gradients = 5e-2, .loss = 1e-3}, {.layers = 5, .gradients = 2e-1, .loss = 5e-3}};
// Both kinds of operands; float16's neighbours are closer, so that what suffices for bfloat16 does for it.
constexpr const char* kOperands[] = {"bf16", "fp16"};

class ResidentGpuTest : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    if (const std::string why_not = WhyNoResidentLauncher(); !why_not.empty()) GTEST_SKIP() << why_not;
  }
};

TEST_F(ResidentGpuTest, ComputesWhatIsComputedLaneByLane) {
  const auto compare = [](const PackSettings& settings, const Allowed& allowed, const std::string& operands) {
    const std::unique_ptr<StepEngine> emulated = MakeNamed(settings, "emulated-" + operands), engine = OnGpu(settings, "resident-" + operands);
    ASSERT_EQ(engine->Name(), "resident-" + operands);
    PackState here = ScatteredState(emulated->model(), 2), there = OnDevice(ScatteredState(emulated->model(), 2), *engine);
    const Batch batch = BatchOf(settings, *emulated, 0);
    const std::vector<double> expected = emulated->Gradients(batch, here), losses = engine->Gradients(batch, there);
    for (size_t m = 0; m < 2; ++m) EXPECT_NEAR(losses[m], expected[m], allowed.loss * expected[m]);
    EXPECT_LT(RelativeError(engine->gradients().to(at::kCPU), emulated->gradients()), allowed.gradients);
  };
  for (const char* encoding : {"none", "sin_cos", "shape", "rope", "alibi", "sandwich", "log_kerple", "power_kerple"}) {
    for (const auto& [task, length] : {std::pair("even_pairs", 1), std::pair("even_pairs", 20), std::pair("reverse_string", 20),
                                       std::pair("reverse_string", 40), std::pair("reverse_string", 61)}) {
      for (const Allowed& allowed : kAllowed) {
        PackSettings settings = Settings(encoding, task, length);
        settings.model.layers = allowed.layers;
        for (const char* operands : kOperands) {
          SCOPED_TRACE(Text(encoding, " ", task, " ", length, ", layers ", allowed.layers, ", ", operands));
          compare(settings, allowed, operands);
        }
      }
    }
  }
}

TEST_F(ResidentGpuTest, DrawsTheBatchesOfTheHost) { ExpectToDrawTheBatchesOfTheHost(CudaResidentLauncher(resident::Operands::kBfloat16)); }

TEST_F(ResidentGpuTest, TrainsWithTheSameBitsAloneAndInAPackAndAgain) {
  const PackSettings settings = Settings("log_kerple", "reverse_string", 20);
  const auto train = [&](const char* operands, int members, int first) {
    const std::unique_ptr<StepEngine> engine = OnGpu(settings, Text("resident-", operands));
    PackState state = ScatteredState(engine->model(), 3);
    state.parameters = state.parameters.narrow(0, first, members).clone();
    state.moment1 = state.moment1.narrow(0, first, members).clone();
    state.moment2 = state.moment2.narrow(0, first, members).clone();
    state.members.resize(static_cast<size_t>(members));
    state = OnDevice(std::move(state), *engine);
    engine->Train(
        5, [&](uint64_t step) { return UnsampledTrainingBatch(settings, engine->model().encoding().Use(), step); }, std::vector<double>(static_cast<size_t>(members), 1e-3), state,
        [](const std::vector<StepResult>&) {});
    return state.parameters.to(at::kCPU);
  };
  for (const char* operands : kOperands) {
    const Tensor pack = train(operands, 3, 0);
    EXPECT_TRUE(pack.equal(train(operands, 3, 0))) << operands;
    EXPECT_TRUE(pack[1].equal(train(operands, 1, 1)[0])) << operands;
  }
}

// TF32 keeps 11 bits: not the bits of float32, and not far from them. Engines side by side keep their own precision.
TEST_F(ResidentGpuTest, LibtorchComputesInTf32WhenAsked) {
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
