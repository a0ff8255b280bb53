// The stand-in for a GPU: it refuses what a GPU refuses, and the resident engine trains on it with the bits of its kernels on the host.
#include <gmock/gmock.h>

#include <barrier>
#include <set>
#include <thread>
#include <vector>

#include "proto/base/text.h"
#include "tests/worker/trainer/kernels/gpu_fixture.h"
#include "tests/worker/trainer/resident/sampled_batches.h"
#include "worker/trainer/device.h"
#include "worker/trainer/engine/thread_pool.h"
#include "worker/trainer/kernels/resident_launcher.h"
#include "worker/trainer/own_stream.h"

namespace longreach::trainer {

namespace {

using ::testing::ThrowsMessage;

class StandInGpuTest : public GpuTest {
 protected:
  static Tensor There(const Tensor& tensor) { return tensor.to(DeviceOf(true)); }
};
using StandInGpuDeathTest = StandInGpuTest;

TEST_F(StandInGpuDeathTest, TheHostCannotTouchItsMemory) {
  const Tensor there = There(at::ones({3}));
  EXPECT_DEATH(there.const_data_ptr<float>()[1] == 1 ? void() : std::abort(), "");
  EXPECT_EQ(there[1].item<float>(), 1);
}

TEST_F(StandInGpuTest, AnOperationHasAllTensorsOnOneDevice) {
  const Tensor here = at::ones({2, 3}), there = There(here);
  const auto refused = [](const std::function<void()>& operation) {
    EXPECT_THAT(operation, ThrowsMessage<c10::Error>(::testing::HasSubstr("Expected all tensors to be on the same device")));
  };
  refused([&] { (void)(there + here); });
  refused([&] { (void)at::mm(there, here.t()); });
  refused([&] { (void)there.index_select(1, at::tensor({0, 2})); });
  refused([&] { (void)at::cat({there, here}); });
  // A number may come from the host.
  EXPECT_TRUE((there + at::scalar_tensor(2)).to(at::kCPU).equal(at::full({2, 3}, 3.0f)));
}

TEST_F(StandInGpuTest, ViewsShareMemoryAndGradientsFlow) {
  const Tensor there = There(at::zeros({2, 6}));
  there.view({3, 4}).transpose(0, 1).select(0, 1).fill_(5);
  there.narrow(1, 4, 2).unfold(1, 2, 1).add_(1);
  EXPECT_TRUE(there.to(at::kCPU).equal(at::tensor({0.f, 5.f, 0.f, 0.f, 1.f, 6.f, 0.f, 0.f, 0.f, 5.f, 1.f, 1.f}).view({2, 6})));

  const Tensor x = at::arange(6, at::kFloat).view({2, 3}).requires_grad_(true);
  const Tensor y = There(x.detach()).requires_grad_(true);
  const auto gradient = [](const Tensor& at) { return torch::autograd::grad({at::softmax(at.square(), -1).select(1, 0).sum()}, {at})[0]; };
  EXPECT_TRUE(gradient(y).to(at::kCPU).equal(gradient(x)));
}

TEST_F(StandInGpuTest, MemoryThatWasNotWrittenIsNoNumber) {
  EXPECT_TRUE(at::empty({4}, at::TensorOptions(at::kFloat).device(DeviceOf(true))).isnan().all().item<bool>());
}

TEST_F(StandInGpuTest, EachThreadHasAStreamOfItsOwnThatItsHelpersShare) {
  const c10::impl::VirtualGuardImpl device(DeviceOf(true).type());
  const auto current = [&] { return device.getStream(DeviceOf(true)); };
  const c10::Stream before = current();
  std::vector<c10::Stream> mine, theirs;
  const auto see = [&](std::vector<c10::Stream>& seen) {
    const OwnStream own(true);
    seen.push_back(current());
    ThreadPool pool(2);
    Synchronized<std::set<c10::StreamId>> of_pool;
    std::barrier both(2);  // So that each of its threads has an item.
    pool.Run(2, [&](int64_t) {
      of_pool.Lock()->insert(current().id());
      both.arrive_and_wait();
    });
    EXPECT_EQ(*of_pool.Lock(), std::set{current().id()});
  };

  see(mine);
  see(mine);
  std::jthread([&] { see(theirs); }).join();

  EXPECT_EQ(mine[0], mine[1]);
  EXPECT_NE(mine[0], theirs[0]);
  EXPECT_NE(mine[0], before);
  EXPECT_EQ(current(), before);
}

TEST_F(StandInGpuTest, SequencesAreDrawnThereAsOnTheHost) { ExpectToDrawTheBatchesOfTheHost(CudaResidentLauncher(resident::Operands::kBfloat16)); }

TEST_F(StandInGpuTest, ADeviceIsToldOfThatComputes) {
  const Devices devices = LookAtDevices(GpuPlugin());

  EXPECT_EQ(devices.no_gpu, "");
  ASSERT_EQ(devices.gpus.size(), 1u);
  const GpuDevice& gpu = devices.gpus[0];
  EXPECT_THAT(gpu.name, ::testing::HasSubstr("stand-in for a GPU"));
  EXPECT_GT(gpu.memory_bytes, 0);
  EXPECT_EQ(gpu.memory_free_bytes, std::nullopt) << "its allocator does not tell";
  EXPECT_EQ(gpu.problem, "");
  EXPECT_EQ(gpu.engine, OnGpu(Settings("rope", "even_pairs", 4), "")->Name());
}

TEST_F(StandInGpuTest, OwnKernelsAreTakenWhereNobodyAsksAndWhatTheyDoNotKnowIsLibtorchsAndSaysSo) {
  std::string said;
  const auto engine_of = [&](const char* encoding, PackSettings::Model::Norm norm = PackSettings::Model::Norm::kPost) {
    said.clear();
    PackSettings settings = Settings(encoding, "reverse_string", 3);
    settings.model.norm = norm;
    return MakeEngine(settings, {.threads = 1, .cuda = true}, [&](const std::string& line) { said += line; })->Name();
  };
  EXPECT_EQ(engine_of("log_kerple"), "spread-fp16");
  EXPECT_EQ(said, "");
  EXPECT_EQ(engine_of("relative"), "libtorch");
  EXPECT_EQ(said, "engine libtorch instead of spread-fp16, which does not know encoding relative");
  EXPECT_EQ(engine_of("t5"), "libtorch");
  EXPECT_EQ(said, "engine libtorch instead of spread-fp16, which does not know encoding t5");
  EXPECT_EQ(engine_of("fire"), "libtorch");
  EXPECT_EQ(said, "engine libtorch instead of spread-fp16, which does not know encoding fire");
  EXPECT_EQ(engine_of("log_kerple", PackSettings::Model::Norm::kPre), "libtorch");
  EXPECT_EQ(said, "engine libtorch instead of spread-fp16, which does not know model.norm pre");
}

TEST_F(StandInGpuTest, ResidentKernelsTrainThereWithTheBitsOfTheHost) {
  for (const char* const encoding : {"sin_cos", "rope", "log_kerple"}) {
    for (const auto& [name, here] : {std::pair("resident-bf16", "emulated-bf16"), std::pair("resident-fp16", "emulated-fp16"),
                                     std::pair("spread-fp16", "emulated-spread-fp16")}) {
      SCOPED_TRACE(Text(encoding, " ", name));
      PackSettings settings = Settings(encoding, "reverse_string", 3);
      settings.model.layers = 2;
      settings.training.batch_size = 4;
      const auto train = [&](StepEngine& engine) {
        PackState state = OnDevice(ScatteredState(engine.model(), 2), engine);
        double loss = 0;
        engine.Train(
            3, [&](uint64_t step) { return UnsampledTrainingBatch(settings, engine.model().encoding().Use(), step); }, {1e-3, 2e-3}, state,
            [&](const std::vector<StepResult>& results) { loss += results[1].loss; });
        EXPECT_GT(loss, 0);
        return state.parameters.to(at::kCPU);
      };
      const std::unique_ptr<StepEngine> there = OnGpu(settings, name);
      ASSERT_EQ(there->Name(), name);
      EXPECT_TRUE(train(*there).equal(train(*MakeNamed(settings, here))));
    }
  }
}

}  // namespace

}  // namespace longreach::trainer
