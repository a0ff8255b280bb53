// Pre-norm blocks (model.norm "pre"): what LibTorch's engine computes is the formula, their parameters, and what is not taken for them.
#include <algorithm>
#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/worker/trainer/lanes_fixture.h"
#include "worker/trainer/model/model.h"

namespace longreach::trainer {

namespace {

using ::testing::HasSubstr;

PackSettings PreNorm(PackSettings settings) {
  settings.model.norm = PackSettings::Model::Norm::kPre;
  return settings;
}

// Logits of a model without an encoding, [B outputs, C]: x + attend(norm(x)), x + mlp(norm(x)), and a norm before the output layer.
Tensor ByTheFormula(const PackSettings& settings, const Model& model, const Batch& batch, const Tensor& flat) {
  const ParameterSet all = ViewParameters(model.layout(), flat);
  const auto named = [&](const std::string& name) -> const Tensor& {
    return all[static_cast<size_t>(model.layout().Find(name) - model.layout().parameters().data())];
  };
  const auto norm = [&](const Tensor& x, const std::string& name) {
    const Tensor centred = x - x.mean(-1, true);
    return centred / (centred.square().mean(-1, true) + 1e-5).sqrt() * named(name + ".scale") + named(name + ".offset");
  };
  const int64_t dim = model.embedding_dim(), heads = settings.model.heads;
  const std::vector<int64_t> tokens(batch.tokens.begin(), batch.tokens.end());
  Tensor x = named("embed.w").index_select(0, at::tensor(tokens)).view({batch.size, batch.tape, dim}) * std::sqrt(static_cast<double>(dim));
  Tensor unseen = at::zeros({batch.tape, batch.tape});
  if (settings.model.causal) unseen = at::full({batch.tape, batch.tape}, -std::numeric_limits<float>::infinity()).triu(1);
  for (int i = 0; i < settings.model.layers; ++i) {
    const std::string place = "layer" + std::to_string(i) + ".";
    const Tensor a = norm(x, place + "ln1");
    const auto head = [&](const std::string& name) {
      return at::matmul(a, named(place + "attn." + name + ".w")).view({batch.size, batch.tape, heads, dim / heads}).transpose(1, 2);
    };
    const Tensor logits = at::matmul(head("q"), head("k").transpose(-2, -1)) / std::sqrt(static_cast<double>(dim / heads)) + unseen;
    const Tensor attended = at::matmul(logits.softmax(-1), head("v")).transpose(1, 2).reshape(x.sizes());
    x = x + at::matmul(attended, named(place + "attn.o.w"));
    const Tensor hidden = at::relu(at::matmul(norm(x, place + "ln2"), named(place + "ffn1.w")) + named(place + "ffn1.b"));
    x = x + at::matmul(hidden, named(place + "ffn2.w")) + named(place + "ffn2.b");
  }
  const Tensor outputs = norm(x, "final_ln").narrow(1, batch.tape - batch.outputs, batch.outputs);
  return at::matmul(outputs, named("out.w")).add(named("out.b")).reshape({batch.size * batch.outputs, -1});
}

class PreNormTest : public PackTest {};

TEST_F(PreNormTest, LibtorchComputesTheFormula) {
  for (const char* task : {"reverse_string", "even_pairs"}) {
    for (const bool causal : {false, true}) {
      PackSettings settings = PreNorm(SmallSettings(task, "none", false));
      settings.model.causal = causal;
      settings.model.layers = 3;
      const std::unique_ptr<StepEngine> engine = MakeNamed(settings, "libtorch");
      PackState state = ScatteredState(engine->model(), 2);
      const Batch batch = TestBatch(settings, PositionUse::kNothing, 7);
      const Tensor logits = engine->Logits(batch, state);
      for (int64_t m = 0; m < 2; ++m) {
        const Tensor expected = ByTheFormula(settings, engine->model(), batch, state.parameters[m]);
        ASSERT_EQ(logits[m].sizes(), expected.sizes());
        EXPECT_LT(RelativeError(logits[m], expected), 2e-5) << task << (causal ? " causal" : "");
      }
    }
  }
}

TEST_F(PreNormTest, HasOneNormMoreThanPostNormBlocks) {
  const PackSettings post = SmallSettings("even_pairs", "log_kerple", false);
  const std::unique_ptr<Model> theirs = MakeModel(post), ours = MakeModel(PreNorm(post));
  EXPECT_EQ(ours->layout().count(), theirs->layout().count() + 2 * 32);
  ASSERT_NE(ours->layout().Find("final_ln.scale"), nullptr);
  EXPECT_NE(ours->layout().Find("final_ln.offset"), nullptr);
  EXPECT_EQ(theirs->layout().Find("final_ln.scale"), nullptr);
  for (const Parameter& parameter : theirs->layout().parameters()) EXPECT_NE(ours->layout().Find(parameter.name), nullptr) << parameter.name;
}

// For each engine of a decoder: whatever stands behind a token, its output stays the same to the bit.
TEST_F(PreNormTest, NoOutputOfADecoderDependsOnWhatComesBehindIt) {
  for (const std::string& name : EngineNames()) {
    for (const char* encoding : {"none", "rope", "relative"}) {
      PackSettings settings = PreNorm(SmallSettings("reverse_string", encoding, false));
      settings.model.causal = true;
      const std::unique_ptr<StepEngine> engine = MakeNamed(settings, name);
      ASSERT_EQ(engine->Name(), name) << encoding;
      PackState state = ScatteredState(engine->model(), 1);
      Batch batch = TestBatch(settings, engine->model().encoding().Use(), 5);
      const Tensor before = engine->Logits(batch, state).view({batch.size, batch.outputs, -1});

      // The second output that is read: what is behind it are outputs 2, 3 and 4.
      for (int64_t b = 0; b < batch.size; ++b) {
        uint16_t& token = batch.tokens[static_cast<size_t>(b * batch.tape + 5 + 2)];
        token = token == 2 ? 3 : 2;
      }
      const Tensor after = engine->Logits(batch, state).view({batch.size, batch.outputs, -1});

      EXPECT_TRUE(at::equal(before.narrow(1, 0, 2), after.narrow(1, 0, 2))) << name << " " << encoding;
      EXPECT_FALSE(at::allclose(before.narrow(1, 2, 3), after.narrow(1, 2, 3))) << name << " " << encoding;
    }
  }
}

TEST_F(PreNormTest, EnginesUpdateAlike) {
  for (const bool causal : {false, true}) {
    PackSettings settings = PreNorm(SmallSettings("reverse_string", "log_kerple", true));
    settings.model.causal = causal;
    ExpectEnginesUpdateAlike(settings, causal ? "causal" : "");
  }
}

TEST_F(PreNormTest, ACheckpointOfPostNormBlocksIsNotGoneOnFrom) {
  const PackSettings settings = SmallSettings("even_pairs", "none", false);
  PackRequest post = Request(settings, 1, "post");
  RecordingObserver observer;
  observer.wish = [](const Progress& progress) { return Observer::Wish{.stop = progress.step == 6, .dropped = {}}; };
  ASSERT_TRUE(Train(post, observer)->stopped);

  PackRequest pre = Request(PreNorm(settings), 1, "pre");
  pre.members[0].checkpoints = {{.file = observer.checkpoints.back(), .member = 0}};
  RecordingObserver anew;
  ASSERT_TRUE(Train(pre, anew).ok());
  EXPECT_EQ(anew.points.size(), 12u);
}

// Those of pre-norm blocks have all that post-norm ones read: by the names of these alone they would be tested as another model.
TEST_F(PreNormTest, WeightsOfTheOtherBlocksAreRefused) {
  const PackSettings post = SmallSettings("even_pairs", "none", false);
  const PackResult of_post = Run(Request(post, 1, "post")), of_pre = Run(Request(PreNorm(post), 1, "pre"));
  const auto refused = [&](const PackSettings& settings, const PackResult& trained, const std::string& folder) {
    PackRequest request = Request(settings, 1, folder);
    request.settings.training.steps = 0;
    request.settings.training.lengths.clear();
    request.members[0].weights = MemberFile{trained.weights, 0};
    RecordingObserver observer;
    const absl::Status status = Train(request, observer).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    return std::string(status.message());
  };
  EXPECT_THAT(refused(PreNorm(post), of_post, "post-in-pre"), HasSubstr("has no tensor 'param/final_ln.scale'"));
  EXPECT_THAT(refused(post, of_pre, "pre-in-post"), HasSubstr("has a tensor 'param/final_ln.offset', which this model has not"));
}

// The kernels for GPUs know post-norm blocks alone: as such these would be another model.
TEST_F(PreNormTest, KernelsForGpusLeaveItToLibtorchAndSaySo) {
  PackSettings settings = SmallSettings("even_pairs", "rope", false);
  settings.model = {};
  for (const std::string& name : {std::string("emulated"), std::string("emulated-spread-fp16")}) {
    std::string line;
    const std::unique_ptr<StepEngine> engine = MakeEngine(PreNorm(settings), {.threads = 1, .engine = name}, [&](const std::string& said) { line += said; });
    EXPECT_EQ(engine->Name(), "libtorch");
    EXPECT_THAT(line, HasSubstr("which does not know model.norm pre"));
  }
}

TEST_F(PreNormTest, OtherKindsOfExperimentsAreRefused) {
  PackSettings language = PreNorm(SmallSettings("even_pairs", "none", false));
  EXPECT_TRUE(Validate(language).ok()) << Validate(language);
  language.experiment = "language";
  language.task = "enwik8";
  language.data = "enwik8";
  EXPECT_THAT(std::string(Validate(language).message()), HasSubstr("model.norm: 'pre' is only for experiments 'algorithmic' and 'sequences'"));
}

}  // namespace

}  // namespace longreach::trainer
