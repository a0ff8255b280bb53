// Where a GPU answers, the resident engine computes there what its kernels compute lane by lane on the CPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

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
// Both kinds of operands; float16's neighbours are closer, so that what suffices for bfloat16 does for it. And both ways to a member's gradient:
// by one block, and by several.
struct Way {
  const char *there, *emulated;
  bool spread;
};
constexpr Way kWays[] = {{"resident-bf16", "emulated-bf16", false},
                         {"resident-fp16", "emulated-fp16", false},
                         {"spread-bf16", "emulated-spread-bf16", true},
                         {"spread-fp16", "emulated-spread-fp16", true}};

class ResidentGpuTest : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    if (const std::string why_not = WhyNoResidentLauncher(); !why_not.empty()) GTEST_SKIP() << why_not;
  }
};

struct Case {
  PackSettings settings;
  Allowed allowed;
  Way way;
  std::string name;
};

std::vector<Case> AllCases() {
  std::vector<Case> cases;
  for (const char* encoding : {"none", "sin_cos", "shape", "rope", "alibi", "sandwich", "log_kerple", "power_kerple"}) {
    for (const auto& [task, length] : {std::pair("even_pairs", 1), std::pair("even_pairs", 20), std::pair("reverse_string", 20),
                                       std::pair("reverse_string", 40), std::pair("reverse_string", 61)}) {
      for (const Allowed& allowed : kAllowed) {
        for (const Way& way : kWays) {
          if (way.spread && length != 20) continue;  // Slices have the same kernels: tapes of one length show whether they come together.
          Case& one = cases.emplace_back();
          one.settings.task = task;
          one.settings.encoding = encoding;
          one.settings.training.lengths = {length};
          one.settings.training.batch_size = way.spread ? 30 : 9;  // Slices of two and of three sequences.
          one.settings.model.layers = allowed.layers;
          one.allowed = allowed;
          one.way = way;
          one.name = Text(encoding, " ", task, " ", length, ", layers ", allowed.layers, ", ", way.there);
        }
      }
    }
  }
  return cases;
}

struct Expected {
  std::vector<double> losses;
  Tensor gradients;
};

Expected Emulated(const Case& one) {
  const std::unique_ptr<StepEngine> engine = MakeNamed(one.settings, one.way.emulated);
  PackState state = ScatteredState(engine->model(), 2);
  std::vector<double> losses = engine->Gradients(TrainingBatch(one.settings, engine->model().encoding().Use(), 0), state);
  return {.losses = std::move(losses), .gradients = engine->gradients().clone()};
}

TEST_F(ResidentGpuTest, ComputesWhatIsComputedLaneByLane) {
  const std::vector<Case> cases = AllCases();
  // Lane by lane takes a core minutes, in which a GPU that is lent would wait.
  std::vector<Expected> expected(cases.size());
  std::atomic<size_t> next = 0;
  {
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i) {
      threads.emplace_back([&] {
        for (size_t at = next++; at < cases.size(); at = next++) expected[at] = Emulated(cases[at]);
      });
    }
  }
  for (size_t i = 0; i < cases.size(); ++i) {
    const Case& one = cases[i];
    SCOPED_TRACE(one.name);
    const std::unique_ptr<StepEngine> engine = OnGpu(one.settings, one.way.there);
    ASSERT_EQ(engine->Name(), one.way.there);
    PackState there = OnDevice(ScatteredState(engine->model(), 2), *engine);
    const std::vector<double> losses = engine->Gradients(BatchOf(one.settings, *engine, 0), there);
    for (size_t m = 0; m < 2; ++m) EXPECT_NEAR(losses[m], expected[i].losses[m], one.allowed.loss * expected[i].losses[m]);
    EXPECT_LT(RelativeError(engine->gradients().to(at::kCPU), expected[i].gradients), one.allowed.gradients);
  }
}

TEST_F(ResidentGpuTest, DrawsTheBatchesOfTheHost) { ExpectToDrawTheBatchesOfTheHost(CudaResidentLauncher(resident::Operands::kBfloat16)); }

TEST_F(ResidentGpuTest, TrainsWithTheSameBitsAloneAndInAPackAndAgain) {
  const PackSettings settings = Settings("log_kerple", "reverse_string", 20);
  const auto train = [&](const char* name, int members, int first) {
    const std::unique_ptr<StepEngine> engine = OnGpu(settings, name);
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
  for (const Way& way : kWays) {
    const Tensor pack = train(way.there, 3, 0);
    EXPECT_TRUE(pack.equal(train(way.there, 3, 0))) << way.there;
    EXPECT_TRUE(pack[1].equal(train(way.there, 1, 1)[0])) << way.there;
  }
}

}  // namespace

}  // namespace longreach::trainer
