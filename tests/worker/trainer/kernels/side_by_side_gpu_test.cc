// Where a GPU answers, packs that threads of one process train there at the same time have the bits that each has alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "proto/base/text.h"
#include "tests/worker/trainer/kernels/gpu_fixture.h"
#include "tests/worker/trainer/resident/sampled_batches.h"
#include "worker/trainer/own_stream.h"

namespace longreach::trainer {

namespace {

#if defined(LONGREACH_STAND_IN_GPU)
constexpr int kUpdates = 2;  // Lane by lane on the host.
#else
constexpr int kUpdates = 300;
#endif

class SideBySideGpuTest : public GpuTest {
 protected:
  struct Pack {
    const char *engine, *encoding, *task;
    int length, members;
  };

  struct Trained {
    Tensor parameters, moments;
    std::vector<TestResult> tests;
  };

  // As Train() does it: all by the calling thread, in its own stream.
  static Trained Train(const Pack& pack) {
    const OwnStream own(true);
    PackSettings settings = Settings(pack.encoding, pack.task, pack.length);
    settings.model.layers = 2;
    settings.training.batch_size = 14;
    const std::unique_ptr<StepEngine> engine = OnGpu(settings, pack.engine);
    EXPECT_EQ(engine->Name(), pack.engine);
    PackState state = OnDevice(ScatteredState(engine->model(), pack.members), *engine);
    const std::vector<double> rates(static_cast<size_t>(pack.members), 1e-3);
    for (int done = 0, some = 0; done < kUpdates; done += some) {
      some = std::min(engine->UpdatesAtATime(), kUpdates - done);
      engine->Train(
          some,
          [&](uint64_t step) {
            return engine->SamplesSequences() ? UnsampledTrainingBatch(settings, engine->model().encoding().Use(), step) : BatchOf(settings, *engine, step);
          },
          rates, state, [](const std::vector<StepResult>&) {});
    }
    const Batch batch = BatchOf(settings, *engine, 1'000'000);
    std::vector<TestResult> tests = engine->Evaluate(batch, state, [] {});
    return {state.parameters.to(at::kCPU), state.moment2.to(at::kCPU), std::move(tests)};
  }
};

TEST_F(SideBySideGpuTest, PacksHaveTheBitsThatEachHasAlone) {
  const std::vector<Pack> packs = {{"resident-bf16", "log_kerple", "reverse_string", 20, 3}, {"resident-fp16", "sin_cos", "even_pairs", 30, 2},
                                   {"spread-fp16", "rope", "even_pairs", 20, 1},              {"spread-bf16", "alibi", "bucket_sort", 12, 2},
                                   {"resident-bf16", "none", "even_pairs", 5, 2},             {"resident-bf16", "log_kerple", "reverse_string", 20, 3}};
  std::vector<Trained> alone, together(packs.size());
  for (const Pack& pack : packs) alone.push_back(Train(pack));

  {
    std::barrier begin(static_cast<std::ptrdiff_t>(packs.size() + 1));
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < packs.size(); ++i) {
      threads.emplace_back([&, i] {
        begin.arrive_and_wait();
        together[i] = Train(packs[i]);
      });
    }
    // LibTorch's operations beside them.
    begin.arrive_and_wait();
    Train({"libtorch", "rope", "even_pairs", 10, 2});
  }

  for (size_t i = 0; i < packs.size(); ++i) {
    SCOPED_TRACE(Text(i, ": ", packs[i].engine, " ", packs[i].encoding, " ", packs[i].task));
    EXPECT_TRUE(together[i].parameters.equal(alone[i].parameters));
    EXPECT_TRUE(together[i].moments.equal(alone[i].moments));
    ASSERT_EQ(together[i].tests.size(), alone[i].tests.size());
    for (size_t m = 0; m < alone[i].tests.size(); ++m) {
      EXPECT_EQ(together[i].tests[m].hits, alone[i].tests[m].hits);
      EXPECT_EQ(together[i].tests[m].loss, alone[i].tests[m].loss);
    }
  }
  EXPECT_TRUE(alone[0].parameters.equal(alone.back().parameters));
}

}  // namespace

}  // namespace longreach::trainer
