// The decoder as a network that engines train: an update is AdamW's, and head scales are tuned as by the tuner that the golden vectors check.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "worker/trainer/checkpoint/checkpoint.h"
#include "worker/trainer/engine/engine.h"
#include "worker/trainer/engine/update.h"
#include "worker/trainer/llama/tuning.h"
#include "worker/trainer/model/llama_network.h"

namespace longreach::trainer {
namespace {

PackSettings NetworkSettings() {
  PackSettings settings;
  settings.experiment = "llama";
  settings.task = "bytes";
  settings.encoding = "none";
  settings.model = {.layers = 2, .embedding_dim = 16, .heads = 4, .mlp_dim = 24, .dropout = 0, .kv_heads = 2};
  settings.training = {.steps = 20, .batch_size = 5, .lengths = {12}, .warmup_steps = 2, .weight_decay = 0};
  return settings;
}

// Of a decoder of our own; a folder's config.json has tests of its own.
TEST(LlamaNetworkTest, ItsConfigurationIsWhatTheSettingsSay) {
  PackSettings settings = NetworkSettings();
  EXPECT_TRUE(LlamaConfigOf(settings).nope);
  settings.encoding = "rope";
  settings.model.rope_theta = 5000;
  settings.training.lengths = {12, 40};
  settings.evaluation.lengths = {40, 80};
  const LlamaConfig plain = LlamaConfigOf(settings);
  EXPECT_FALSE(plain.nope);
  EXPECT_EQ(plain.rope_theta, 5000);
  EXPECT_EQ(plain.norm_epsilon, 1e-5);
  EXPECT_EQ(plain.head_dim, 4);
  EXPECT_EQ(plain.Groups(), 2);
  EXPECT_FALSE(plain.tied);
  EXPECT_EQ(plain.rope_scaling.kind, RopeScaling::Kind::kNone);
  EXPECT_EQ(plain.max_positions, 40) << "the longest that it is trained at";
  settings.training.lengths = {};
  EXPECT_EQ(LlamaConfigOf(settings).max_positions, 80);
  EXPECT_TRUE(plain.unrotated.empty());
  settings.positions.none_every = 2;
  EXPECT_EQ(LlamaConfigOf(settings).unrotated, std::vector<int64_t>{1});

  for (const auto& [word, kind] : {std::pair("linear", RopeScaling::Kind::kLinear), std::pair("ntk", RopeScaling::Kind::kNtk),
                                   std::pair("dynamic", RopeScaling::Kind::kDynamic), std::pair("yarn", RopeScaling::Kind::kYarn)}) {
    settings.positions = {.rope_scaling = word, .rope_factor = 4, .original_length = 24};
    const LlamaConfig scaled = LlamaConfigOf(settings);
    EXPECT_EQ(scaled.rope_scaling.kind, kind) << word;
    EXPECT_EQ(scaled.rope_scaling.factor, 4) << word;
    EXPECT_EQ(scaled.rope_scaling.original_length, 24) << word;
    EXPECT_EQ(scaled.max_positions, 24) << word << ": where a dynamic base begins to grow";
  }
}

TEST(LlamaNetworkTest, AnUpdateIsAdamWs) {
  ThreadPool pool(1);
  PackState state;
  state.parameters = at::tensor({1.0f, -2.0f, 0.5f, 3.0f}).view({1, 4});
  state.moment1 = at::zeros({1, 4});
  state.moment2 = at::zeros({1, 4});
  state.members.resize(1);
  const Tensor gradients = at::tensor({0.3f, -0.4f, 0.0f, 7.0f}).view({1, 4});
  // The last one is not trained: its gradient is zero.
  const Tensor trained = gradients.clone();
  trained[0][3] = 0;
  const UpdateRule rule{.clip_norm = 0.25, .adamw = true, .weight_decay = 0.1, .first = 0, .last = 3, .lower_bound = -1.9f};
  UpdateOnCpu(pool, trained, {1.0}, {0.01}, rule, state);
  const double clip = 0.25 / (0.5 + 1e-6);
  const double before[] = {1.0, -2.0, 0.5}, gradient[] = {0.3 * clip, -0.4 * clip, 0};
  for (int i = 0; i < 3; ++i) {
    // After one update the moments without their bias are the gradient and its square.
    const double step = gradient[i] / (std::sqrt(gradient[i] * gradient[i]) + 1e-8);
    const double expected = std::max(before[i] * (1 - 0.01 * 0.1) - 0.01 * (gradient[i] == 0 ? 0 : step), -1.9);
    EXPECT_NEAR(state.parameters[0][i].item<double>(), expected, 1e-6) << i;
  }
  EXPECT_EQ(state.parameters[0][3].item<float>(), 3.0f);
}

TEST(LlamaNetworkTest, HeadScalesAreTunedAsTheGoldenTunerDoes) {
  PackSettings settings = NetworkSettings();
  settings.training.trainable = PackSettings::Training::Trainable::kHeadScales;
  const std::unique_ptr<StepEngine> engine = MakeLibtorchEngine(settings, {.threads = 2});
  const ParameterLayout& layout = engine->model().layout();
  std::vector<Member> members(1);
  members[0].seed = 3;
  PackState state = InitialState(layout, members);
  // Attention that is not even.
  for (const Parameter& parameter : layout.parameters()) {
    if (parameter.name.ends_with("attn.q.w") || parameter.name.ends_with("attn.k.w")) state.parameters[0].narrow(0, parameter.offset, parameter.size).mul_(4);
  }
  const Parameter& scales = *layout.Find("attn.scales");
  state.parameters[0].narrow(0, scales.offset, scales.size).fill_(1.5);

  const HeadScaleSettings tuning{.learning_rate = 0.1, .steps = 20, .warmup_steps = 2};
  const LlamaDecoder decoder(LlamaConfigOf(settings));
  const Tensor frozen = state.parameters[0].clone();
  ParameterSet parameters = ViewParameters(layout, frozen);
  HeadScaleTuner tuner(decoder, parameters, {tuning}, at::full({1, 2, 4}, 1.5f), nullptr);
  for (int step = 0; step < 8; ++step) {
    const Tensor blocks = (at::arange(5 * 13, at::kLong) * (7 + step) + step).remainder(256).view({5, 13});
    Batch batch;
    batch.size = 5;
    batch.tape = batch.outputs = 12;
    batch.valid.assign(5, 12);
    for (int64_t b = 0; b < 5; ++b) {
      for (int64_t t = 0; t < 12; ++t) {
        batch.tokens.push_back(static_cast<uint16_t>(blocks[b][t].item<int64_t>()));
        batch.targets.push_back(static_cast<uint16_t>(blocks[b][t + 1].item<int64_t>()));
      }
    }
    const std::vector<StepResult> ours =
        engine->Update(engine->Gradients(batch, state), {RateAt(tuning.schedule(), tuning.learning_rate, step)}, state);
    const std::vector<TuningStep> theirs = tuner.Step(blocks);
    EXPECT_NEAR(ours[0].loss, theirs[0].loss, 1e-5);
    EXPECT_NEAR(ours[0].gradient_norm, theirs[0].gradient_norm, 1e-5);
  }
  const Tensor tuned = state.parameters[0].narrow(0, scales.offset, scales.size).view({2, 4});
  EXPECT_LT((tuned - tuner.factors()[0]).abs().max().item<float>(), 1e-4);
  EXPECT_GT((tuned - 1.5).abs().max().item<float>(), 0.01);
  EXPECT_TRUE(at::equal(state.parameters[0].narrow(0, 0, scales.offset), frozen.narrow(0, 0, scales.offset)));
}

}  // namespace
}  // namespace longreach::trainer
