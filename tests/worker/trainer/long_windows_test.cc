// Long sequences of a LLaMA decoder: signs of life while one is computed, and bits that are those of one thread alone.
#include <gtest/gtest.h>

#include <atomic>

#include "worker/trainer/checkpoint/checkpoint.h"
#include "worker/trainer/engine/engine.h"
#include "worker/trainer/llama/windows.h"

namespace longreach::trainer {
namespace {

constexpr int kLayers = 2;

PackSettings Settings() {
  PackSettings settings;
  settings.experiment = "llama";
  settings.task = "bytes";
  settings.encoding = "none";
  settings.model = {.layers = kLayers, .embedding_dim = 16, .heads = 4, .mlp_dim = 24, .dropout = 0, .kv_heads = 2};
  settings.training = {.steps = 20, .batch_size = 4, .lengths = {12}, .warmup_steps = 2, .weight_decay = 0};
  return settings;
}

Batch BatchOf(int64_t size, int64_t length) {
  Batch batch;
  batch.size = size;
  batch.tape = batch.outputs = length;
  batch.valid.assign(static_cast<size_t>(size), static_cast<int32_t>(length));
  unsigned next = 1;
  for (int64_t i = 0; i < size * length; ++i) batch.tokens.push_back(static_cast<uint16_t>((next = next * 1103515245u + 12345u) >> 24));
  batch.targets = batch.tokens;
  return batch;
}

PackState SeededState(const StepEngine& engine, int members) {
  std::vector<Member> seeds(static_cast<size_t>(members));
  for (int m = 0; m < members; ++m) seeds[static_cast<size_t>(m)].seed = static_cast<uint32_t>(m);
  return InitialState(engine.model().layout(), seeds);
}

TEST(LongWindowsTest, AreTestedByAllThreadsWithASignOfLifeAfterEachBlock) {
  const Batch batch = BatchOf(1, kSharedLength);
  for (const int threads : {1, 3}) {
    const std::unique_ptr<StepEngine> engine = MakeLibtorchEngine(Settings(), {.threads = threads});
    PackState state = SeededState(*engine, 1);
    int signs = 0;

    const std::vector<TestResult> results = engine->Evaluate(batch, state, [&] { ++signs; });

    EXPECT_EQ(signs, kLayers + 1);  // The last one is of the logits.
    const Tensor log_p = at::log_softmax(engine->Logits(batch, state)[0], -1);
    const Tensor targets = at::empty({kSharedLength}, at::kLong);
    for (int64_t i = 0; i < kSharedLength; ++i) targets.data_ptr<int64_t>()[i] = batch.targets[static_cast<size_t>(i)];
    const Tensor loss = at::nll_loss(log_p, targets, {}, at::Reduction::Sum).to(at::kDouble);
    EXPECT_EQ(results.at(0).loss, loss.item<double>() / static_cast<double>(kSharedLength));
    EXPECT_EQ(results.at(0).counted, kSharedLength);
  }
}

TEST(LongWindowsTest, ATestIsBrokenOffWithinAWindow) {
  const Batch batch = BatchOf(1, kSharedLength);
  const std::unique_ptr<StepEngine> engine = MakeLibtorchEngine(Settings(), {.threads = 2});
  PackState state = SeededState(*engine, 1);
  struct Stopped {};

  EXPECT_THROW(engine->Evaluate(batch, state, [] { throw Stopped(); }), Stopped);

  EXPECT_EQ(engine->Evaluate(batch, state, [] {}).at(0).counted, kSharedLength);
}

TEST(LongWindowsTest, AnUpdateGivesSignsOfLifeAfterEachBlockOfEachGroup) {
  const Batch batch = BatchOf(4, 12);
  for (const auto trainable : {PackSettings::Training::Trainable::kAll, PackSettings::Training::Trainable::kHeadScales}) {
    PackSettings settings = Settings();
    settings.training.trainable = trainable;
    std::atomic<int> at_a_time = 0;
    int signs = 0;
    const auto alive = [&] {
      EXPECT_EQ(++at_a_time, 1);
      ++signs;
      --at_a_time;
    };
    const std::unique_ptr<StepEngine> engine = MakeLibtorchEngine(settings, {.threads = 3, .alive = alive});
    const std::unique_ptr<StepEngine> silent = MakeLibtorchEngine(settings, {.threads = 3});
    PackState state = SeededState(*engine, 2);

    const std::vector<double> losses = engine->Gradients(batch, state);

    // Of two members, two groups each: forward and backward.
    EXPECT_EQ(signs, 2 * 2 * 2 * kLayers);
    EXPECT_EQ(losses, silent->Gradients(batch, state));
    EXPECT_TRUE(at::equal(engine->gradients(), silent->gradients()));
  }
}

TEST(LongWindowsTest, AnUpdateOfAWholePackIsCutIntoWhatHasRoom) {
  // As on a GPU.
  const Batch batch = BatchOf(5, 12);
  constexpr double kRoom = 50'000;
  ASSERT_EQ(SequencesAtATime(Settings(), 2, 12, kRoom), 2);
  int signs = 0;
  const std::unique_ptr<StepEngine> cut =
      MakeLibtorchEngine(Settings(), {.threads = 1, .whole_pack = true, .alive = [&] { ++signs; }, .whole_pack_floats = kRoom});
  const std::unique_ptr<StepEngine> whole = MakeLibtorchEngine(Settings(), {.threads = 1, .whole_pack = true});
  PackState state = SeededState(*cut, 2), same = SeededState(*whole, 2);

  const std::vector<double> losses = cut->Gradients(batch, state), expected = whole->Gradients(batch, same);

  EXPECT_EQ(signs, 3 * 2 * kLayers);  // Three groups, forward and backward.
  for (size_t m = 0; m < 2; ++m) EXPECT_NEAR(losses[m], expected[m], 1e-5 * expected[m]);
  const double largest = whole->gradients().abs().max().item<double>();
  EXPECT_LT((cut->gradients() - whole->gradients()).abs().max().item<double>(), 1e-5 * largest);
  // The next update begins anew.
  EXPECT_EQ(cut->Gradients(batch, state), losses);
  const Tensor again = cut->gradients().clone();
  cut->Evaluate(BatchOf(3, 20), state, [] {});
  cut->Gradients(batch, state);
  EXPECT_TRUE(at::equal(cut->gradients(), again));
}

}  // namespace
}  // namespace longreach::trainer
