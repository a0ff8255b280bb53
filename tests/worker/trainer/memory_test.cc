// What the tensors of a job take: a large model whose weights are not trained is in memory once, and nothing of its size beside it.
#include <gmock/gmock.h>

#include <atomic>
#include <functional>
#include <memory>

#include <c10/core/CPUAllocator.h>

#include "tests/worker/trainer/published_fixture.h"
#include "worker/trainer/checkpoint/safetensors.h"
#include "worker/trainer/engine/engine.h"
#include "worker/trainer/llama/memory.h"
#include "worker/trainer/model/llama_network.h"
#include "worker/trainer/problems/problem.h"

namespace longreach::trainer {

namespace {

// The usual one, with a count of what there is.
class CountingAllocator final : public c10::Allocator {
 public:
  at::DataPtr allocate(size_t size) override {
    auto* const block = new Block{c10::GetDefaultCPUAllocator()->allocate(size), size};
    const int64_t there = there_ += static_cast<int64_t>(size);
    int64_t most = most_;
    while (most < there && !most_.compare_exchange_weak(most, there)) {
    }
    return {block->data.get(), block, [](void* context) {
              const std::unique_ptr<Block> own(static_cast<Block*>(context));
              there_ -= static_cast<int64_t>(own->size);
            }, at::Device(at::kCPU)};
  }
  void copy_data(void* to, const void* from, size_t size) const override { default_copy_data(to, from, size); }

  static void Begin() { most_ = there_.load(); }
  static int64_t there() { return there_; }
  static int64_t most() { return most_; }

 private:
  struct Block {
    at::DataPtr data;
    size_t size = 0;
  };
  static inline std::atomic<int64_t> there_ = 0;
  static inline std::atomic<int64_t> most_ = 0;
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

  // How many times the weights all tensors took while it ran.
  double TimesTheWeights(const std::function<void()>& work) const {
    const int64_t before = CountingAllocator::there();
    CountingAllocator::Begin();
    work();
    return static_cast<double>(CountingAllocator::most() - before) / static_cast<double>(weights_);
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
  EXPECT_NE(SafetensorsFile::Read(file)->Find("param/attn.scales"), nullptr);
  EXPECT_EQ(SafetensorsFile::Read(file)->Find("adam_m/attn.scales"), nullptr);
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
  const SafetensorsFile checkpoint = *SafetensorsFile::Read(stopped_at(others, [](const Progress& progress) { return progress.step == 2; }));
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

}  // namespace

}  // namespace longreach::trainer
