// What a job takes: a large model whose weights are not trained is in memory once, and nothing of its size beside it; nor beside a state that is
// written or gone on from.
#include <gmock/gmock.h>
#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <memory>
#include <new>

#include <c10/core/CPUAllocator.h>

#include "tests/worker/trainer/published_fixture.h"
#include "worker/trainer/checkpoint/checkpoint.h"
#include "worker/trainer/checkpoint/safetensors.h"
#include "worker/trainer/engine/engine.h"
#include "worker/trainer/llama/memory.h"
#include "worker/trainer/model/llama_network.h"
#include "worker/trainer/problems/problem.h"

namespace longreach::trainer {

namespace {

// Bytes that are there, and the most that were.
std::atomic<int64_t> bytes_there = 0;
std::atomic<int64_t> most = 0;

void Count(int64_t bytes) {
  const int64_t now = bytes_there += bytes;
  int64_t before = most;
  while (before < now && !most.compare_exchange_weak(before, now)) {
  }
}

// Of tensors: the usual one, counted.
class CountingAllocator final : public c10::Allocator {
 public:
  at::DataPtr allocate(size_t size) override {
    auto* const block = new Block{c10::GetDefaultCPUAllocator()->allocate(size), size};
    Count(static_cast<int64_t>(size));
    return {block->data.get(), block, [](void* context) {
              const std::unique_ptr<Block> own(static_cast<Block*>(context));
              Count(-static_cast<int64_t>(own->size));
            }, at::Device(at::kCPU)};
  }
  void copy_data(void* to, const void* from, size_t size) const override { default_copy_data(to, from, size); }

 private:
  struct Block {
    at::DataPtr data;
    size_t size = 0;
  };
};

// Stays for the rest of the process: tensors may live as long.
CountingAllocator* Counting() {
  static auto* const allocator = [] {
    auto* const made = new CountingAllocator();
    c10::SetCPUAllocator(made);
    return made;
  }();
  return allocator;
}

class MemoryTest : public PublishedModelTest {
 protected:
  void SetUp() override {
    Counting();
    PublishedModelTest::SetUp();
    // Of which one layer is little, as are the tokens that are read.
    LlamaConfig config = TinyConfig();
    config.hidden_dim = 96;
    config.mlp_dim = 256;
    config.layers = 24;
    config.head_dim = 24;
    const LlamaModel model = TinyModel(config);
    weights_ = model.parameters.numel() * 4;
    Publish("large", model, true);
  }

  PackRequest RequestOf(const std::string& folder) {
    PackRequest request = PublishedModelTest::RequestOf("nope", folder);
    request.settings.model.folder = "large";
    request.settings.evaluation = {.lengths = {8, 12}, .examples = 2, .stride = 5};
    request.threads = 1;
    return request;
  }
  PackRequest TuningOf(const std::string& folder) {
    PackRequest request = RequestOf(folder);
    request.settings.training = {.steps = 4, .batch_size = 2, .lengths = {4}, .warmup_steps = 1, .weight_decay = 0,
                                 .trainable = PackSettings::Training::Trainable::kHeadScales};
    return request;
  }

  // How many times the weights everything took while it ran.
  double TimesTheWeights(const std::function<void()>& work) const {
    const int64_t before = bytes_there;
    most = before;
    work();
    return static_cast<double>(most - before) / static_cast<double>(weights_);
  }

  int64_t weights_ = 0;  // Bytes of them in float32.
};

TEST_F(MemoryTest, AMeasuredModelIsInMemoryOnce) {
  const double measured = TimesTheWeights([&] { Run(RequestOf("measured")); });
  EXPECT_GE(measured, 1);
  EXPECT_LT(measured, 1.3);
  EXPECT_LT(TimesTheWeights([&] { Run(TuningOf("tuned")); }), 1.3);
  // Of one whose weights are trained there are moments and gradients too.
  PackRequest training = TuningOf("trained");
  training.settings.training.trainable = PackSettings::Training::Trainable::kAll;
  PackResult trained;
  EXPECT_GT(TimesTheWeights([&] { trained = Run(training); }), 4);

  // Nor does it take more where the weights are another job's.
  PackRequest request = RequestOf("others");
  request.members[0].weights = MemberFile{trained.weights, 0};
  EXPECT_LT(TimesTheWeights([&] { Run(request); }), 1.3);
}

TEST_F(MemoryTest, ACheckpointHasMomentsOfWhatIsTrained) {
  const auto stopped_at = [&](PackRequest request, const std::function<bool(const Progress&)>& stop) {
    RecordingObserver observer;
    observer.wish = [&](const Progress& progress) { return Observer::Wish{.stop = stop(progress), .dropped = {}}; };
    EXPECT_TRUE(Train(request, observer)->stopped);
    return observer.checkpoints.back();
  };
  const auto tested_once = [](const Progress& progress) { return progress.lengths_done == 1; };
  PackRequest request = RequestOf("measured");
  const PackResult measured = Run(request);
  const std::filesystem::path file = stopped_at(RequestOf("stopped"), tested_once);
  EXPECT_NE(SafetensorsFile::Open(file)->Find("param/attn.scales"), nullptr);
  EXPECT_EQ(SafetensorsFile::Open(file)->Find("adam_m/attn.scales"), nullptr);
  request.members[0].checkpoints = {{file, 0}};
  PackResult resumed;
  EXPECT_LT(TimesTheWeights([&] { resumed = Run(request); }), 1.3);
  ExpectSameMeasurements(resumed.results.at(0), measured.results.at(0));

  // With the weights of another job a checkpoint has these too, and no more of them.
  PackRequest training = TuningOf("trained");
  training.settings.training.trainable = PackSettings::Training::Trainable::kAll;
  const PackResult trained = Run(training);
  PackRequest others = TuningOf("others");
  others.members[0].weights = MemberFile{trained.weights, 0};
  const SafetensorsFile checkpoint = *SafetensorsFile::Open(stopped_at(others, [](const Progress& progress) { return progress.step == 2; }));
  EXPECT_NE(checkpoint.Find("param/embed.w"), nullptr);
  EXPECT_EQ(checkpoint.Find("adam_m/embed.w"), nullptr);
  EXPECT_NE(checkpoint.Find("adam_m/attn.scales"), nullptr);
}

TEST_F(MemoryTest, TheEstimateIsOfWhatIsThere) {
  const auto estimated = [&](PackRequest request) {
    EXPECT_TRUE(ReadPublished(request).ok());
    return EstimateMemory(request.settings, 1, 1).bytes / static_cast<double>(weights_);
  };
  const double measured = estimated(RequestOf("measured"));
  EXPECT_GT(measured, 0.95);
  EXPECT_LT(measured, TimesTheWeights([&] { Run(RequestOf("measured")); }) + 0.3);
  PackRequest training = TuningOf("trained");
  training.settings.training.trainable = PackSettings::Training::Trainable::kAll;
  EXPECT_GT(estimated(training), 4);
}

// Of a pack, whose members' parameters do not lie together as a file has them. All of them once more would be six times the weights of one.
TEST_F(MemoryTest, AStateIsWrittenAndGoneOnFromWithoutAnotherOne) {
  PackRequest request = TuningOf("pack");
  request.settings.training.trainable = PackSettings::Training::Trainable::kAll;
  ASSERT_TRUE(ReadPublished(request).ok());
  request.members.push_back(request.members[0]);
  request.members[1].job = "job1";
  request.members[1].seed = 1;
  const LlamaNetwork network(request.settings);
  const ParameterLayout& layout = network.layout();
  PackState state = InitialState(layout, request.members);
  state.moment1.copy_(state.parameters * 2);
  state.moment2.copy_(state.parameters * 3);
  state.step = 3;
  const std::filesystem::path file = request.folder / "checkpoint.safetensors", weights = request.folder / "weights.safetensors";
  PackState again = InitialState(layout, request.members, /*draw=*/false);
  for (size_t m = 0; m < 2; ++m) request.members[m].checkpoints = {{file, static_cast<int>(m)}};

  EXPECT_LT(TimesTheWeights([&] { EXPECT_TRUE(WriteCheckpoint(file, request.settings, layout, request.members, state).ok()); }), 0.5);
  EXPECT_LT(TimesTheWeights([&] { EXPECT_TRUE(WriteWeights(weights, request.settings, layout, request.members, state).ok()); }), 0.5);
  const auto restore = [&] {
    return RestoreCheckpoints(request.settings, layout, request.members, again, [] { return absl::OkStatus(); }, [](const std::string&) {});
  };
  EXPECT_LT(TimesTheWeights([&] { EXPECT_TRUE(restore().ok()); }), 0.5);

  EXPECT_EQ(again.step, 3);
  EXPECT_TRUE(at::equal(again.parameters, state.parameters));
  EXPECT_TRUE(at::equal(again.moment1, state.moment1));
  EXPECT_TRUE(at::equal(again.moment2, state.moment2));
}

TEST_F(MemoryTest, AnExportedModelIsInMemoryOnce) {
  PackRequest request = TuningOf("trained");
  request.settings.training.trainable = PackSettings::Training::Trainable::kAll;
  const PackResult trained = Run(request);
  const ExportRequest wanted{.settings = request.settings, .job = request.members[0].job, .parameters = trained.weights, .data = request.data,
                             .target = Folder("exported") / "model"};

  EXPECT_LT(TimesTheWeights([&] { EXPECT_TRUE(ExportModel(wanted).ok()); }), 1.3);
}

}  // namespace

}  // namespace longreach::trainer

// What C++ takes otherwise is counted too: a text may be as large as all weights.
void* operator new(size_t size) {
  void* const made = std::malloc(size);
  if (made == nullptr) throw std::bad_alloc();
  longreach::trainer::Count(static_cast<int64_t>(malloc_usable_size(made)));
  return made;
}
void operator delete(void* made) noexcept {
  longreach::trainer::Count(-static_cast<int64_t>(malloc_usable_size(made)));
  std::free(made);
}
void operator delete(void* made, size_t) noexcept { operator delete(made); }
