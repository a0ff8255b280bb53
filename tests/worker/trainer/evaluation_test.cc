// What a test counts.
#include <gtest/gtest.h>

#include "worker/trainer/checkpoint/checkpoint.h"
#include "worker/trainer/engine/engine.h"

namespace longreach::trainer {

namespace {

TEST(EvaluationTest, AHitIsTheClassItselfAlsoBeyondAByte) {
  PackSettings settings;
  settings.experiment = "images";
  settings.task = "imagenet";
  settings.data = "some";
  settings.encoding = "none";
  settings.model = {.layers = 1, .embedding_dim = 8, .heads = 2, .mlp_dim = 8, .decoder_layers = 1, .classes = 1000};
  const std::unique_ptr<StepEngine> engine = MakeLibtorchEngine(settings, {.threads = 1});
  PackState state = InitialState(engine->model().layout(), {Member{}});
  // Whatever the pixels, the model says 300; 44 is what is left of that in a byte.
  const Parameter& bias = *engine->model().layout().Find("out.b");
  state.parameters[0][bias.offset + 300] = 100;
  Batch batch;
  batch.size = 3;
  batch.tape = 8;
  batch.outputs = 1;
  batch.tokens.assign(24, 7);
  batch.targets = {300, 44, 300};
  batch.valid = {1, 1, 1};

  const std::vector<TestResult> results = engine->Evaluate(batch, state, [] {});

  EXPECT_EQ(results[0].hits, 2);
  EXPECT_EQ(results[0].counted, 3);
}

}  // namespace

}  // namespace longreach::trainer
