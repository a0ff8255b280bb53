// Lanes engines whose matrix products read rounded operands: they compute what LibTorch's operations make of the same rounding, are
// as far from float32 as that explains, and learn.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "proto/base/text.h"
#include "tests/worker/trainer/lanes_fixture.h"
#include "tests/worker/trainer/rounded_reference.h"

namespace longreach::trainer {

namespace {

// Sums in another order: a number next to the middle between two operands may become either. An operand that is not rounded is further off.
constexpr double kLossError = 2e-4;
constexpr double kRoundedGradientError = 5.5e-4;
// What comes out of the gradients of logits is a difference.
constexpr double kQueryKeyError = 1e-3;
// Of the whole gradient: a parameter may be all cancellation.
constexpr double kOfTheWhole = 1e-5;

// A kind of operands, and how far the whole gradient is from that of float32.
struct Kind {
  int64_t bits;
  double least, most;
};
Kind KindOf(const std::string& name) {
  return name.ends_with("-bf16") ? Kind{.bits = 8, .least = 2e-3, .most = 8e-2} : Kind{.bits = 11, .least = 5e-4, .most = 2e-2};
}

PackSettings SmallSettings(const std::string& encoding, const std::string& task) {
  PackSettings settings;
  settings.task = task;
  settings.encoding = encoding;
  settings.randomized = encoding == "rope";
  settings.positions.max_position = 128;
  settings.model.learned_rows = 128;
  settings.model.layers = 3;
  settings.training.batch_size = 100;
  settings.training.lengths = {12};
  return settings;
}

// Parameters with which every hidden feature is far from ReLU's kink, half of them on either side: next to it, rounding decides on which
// side a feature falls, and the gradients of that token jump. The MLP's second bias takes away what the first one adds, so that tokens
// stay as different as they were.
PackState StateWithoutKinks(const Model& model) {
  constexpr double kFar = 5;
  PackState state = ScatteredState(model, 1);
  const ParameterLayout& layout = model.layout();
  const ParameterSet all = ViewParameters(layout, state.parameters[0]);
  const auto named = [&](const std::string& name) { return all[static_cast<size_t>(layout.Find(name) - layout.parameters().data())]; };
  for (int layer = 0; layout.Find("layer" + std::to_string(layer) + ".ffn1.b") != nullptr; ++layer) {
    const std::string place = "layer" + std::to_string(layer) + ".";
    const Tensor b1 = named(place + "ffn1.b"), on = (at::arange(b1.numel()) % 2).to(at::kFloat);
    b1.copy_(kFar * (2 * on - 1));
    named(place + "ffn2.b").sub_(kFar * at::matmul(on, named(place + "ffn2.w")));
  }
  model.encoding().Clamp(all);  // As engines do before they begin.
  return state;
}

// Each engine of those bits against one reference. `slack`: so many times the errors, where so few outputs are summed up that one number
// which became the other of two operands is seen.
void ExpectTheSameRounding(const PackSettings& settings, int64_t bits, double slack = 1) {
  const std::unique_ptr<StepEngine> any = MakeNamed(settings, "libtorch");
  const Model& model = any->model();
  PackState state = StateWithoutKinks(model);
  const Batch batch = TrainingBatch(settings, model.encoding().Use(), 0);
  const RoundedReference::Result expected = RoundedReference(settings, model, bits).LossAndGradient(batch, state.parameters[0]);
  for (const std::string& name : RoundedEngineNames()) {
    if (KindOf(name).bits != bits) continue;
    const std::unique_ptr<StepEngine> engine = MakeNamed(settings, name);

    const double loss = engine->Gradients(batch, state)[0];

    EXPECT_NEAR(loss, expected.loss, slack * kLossError * expected.loss) << name << " " << settings.encoding;
    for (const Parameter& parameter : model.layout().parameters()) {
      const auto part = [&](const Tensor& flat) { return flat.narrow(0, parameter.offset, parameter.size); };
      const bool of_logits = parameter.name.ends_with("q.w") || parameter.name.ends_with("k.w") || parameter.name.find("kerple") != std::string::npos ||
                             parameter.name.find("fire") != std::string::npos;
      const double off = (part(engine->gradients()[0]) - part(expected.gradient)).norm().item<double>();
      const double share = of_logits ? kQueryKeyError : kRoundedGradientError;
      EXPECT_LT(off, slack * (share * part(expected.gradient).norm().item<double>() + kOfTheWhole * expected.gradient.norm().item<double>()))
          << name << " " << settings.encoding << " " << parameter.name;
    }
  }
}

TEST(LanesRoundedTest, ComputesWhatLibtorchMakesOfTheSameRounding) {
  for (const char* encoding : {"none", "alibi", "log_kerple", "rope", "fire"}) {
    for (const double dropout : {0.0, 0.1}) {
      PackSettings settings = SmallSettings(encoding, "reverse_string");
      settings.model.dropout = dropout;
      ExpectTheSameRounding(settings, 8);
      ExpectTheSameRounding(settings, 11);
    }
  }
}

// Pre-norm blocks: what a norm was not applied to is never an operand. Not of the encoding `none`: without dropout its tokens are so alike that one
// number which became the other of two operands did so in half of them (the loss was 2.4e-4 off, in all three engines of 11 bits by the same).
TEST(LanesRoundedTest, ComputesWhatLibtorchMakesOfTheSameRoundingInPreNormBlocks) {
  for (const char* encoding : {"alibi", "log_kerple", "rope"}) {
    for (const double dropout : {0.0, 0.1}) {
      PackSettings settings = SmallSettings(encoding, "reverse_string");
      settings.model.norm = PackSettings::Model::Norm::kPre;
      settings.model.dropout = dropout;
      ExpectTheSameRounding(settings, 8, 3);
      ExpectTheSameRounding(settings, 11);
    }
  }
}

// Blocks and words that are not full: odd tapes, odd numbers of outputs, one query; and tapes of several blocks. A key or a query that is
// left out, or read twice, is some hundredths of a gradient on these tapes, where rounding is some thousandths.
TEST(LanesRoundedTest, ComputesWhatLibtorchMakesOfTheSameRoundingOnEveryTape) {
  for (const auto& [task, length] : {std::pair("reverse_string", 1), {"reverse_string", 5}, {"reverse_string", 29}, {"even_pairs", 2}, {"even_pairs", 14},
                                     {"even_pairs", 27}, {"even_pairs", 60}}) {
    for (const bool randomized : {false, true}) {
      PackSettings settings = SmallSettings("log_kerple", task);
      settings.randomized = randomized;
      settings.model.layers = 2;
      settings.training.batch_size = 40;
      settings.training.lengths = {length};
      SCOPED_TRACE(::testing::Message() << task << " " << length << (randomized ? " randomized" : ""));
      ExpectTheSameRounding(settings, 8, 20);
    }
  }
}

// Widths that are no multiple of what is summed up or made at a time.
TEST(LanesRoundedTest, ComputesWhatLibtorchMakesOfTheSameRoundingOnOtherShapesOfTheModel) {
  for (const auto& [dim, mlp] : {std::pair(16, 8), {48, 24}, {32, 136}, {80, 72}, {128, 256}}) {
    for (const char* encoding : {"rope", "log_kerple"}) {
      PackSettings settings = SmallSettings(encoding, "reverse_string");
      settings.model.layers = 2;
      settings.model.embedding_dim = dim;
      settings.model.heads = dim / 8;
      settings.model.mlp_dim = mlp;
      SCOPED_TRACE(::testing::Message() << dim << " and " << mlp);
      ExpectTheSameRounding(settings, 8, 3);
    }
  }
}

TEST(LanesRoundedTest, IsAsFarFromFloat32AsRoundingExplains) {
  for (const char* encoding : {"none", "sin_cos", "learned", "shape", "rope", "alibi", "log_kerple", "relative", "fire"}) {
    const PackSettings settings = SmallSettings(encoding, "reverse_string");
    const std::unique_ptr<StepEngine> oracle = MakeNamed(settings, "libtorch");
    PackState state = StateWithoutKinks(oracle->model());
    const Batch batch = TrainingBatch(settings, oracle->model().encoding().Use(), 0);
    const double loss = oracle->Gradients(batch, state)[0];
    for (const std::string& name : RoundedEngineNames()) {
      const std::unique_ptr<StepEngine> engine = MakeNamed(settings, name);
      const Kind kind = KindOf(name);

      const double ours = engine->Gradients(batch, state)[0];

      EXPECT_NEAR(ours, loss, kind.most * loss) << name << " " << encoding;
      const double error = RelativeError(engine->gradients()[0], oracle->gradients()[0]);
      EXPECT_GT(error, kind.least) << name << " " << encoding;
      EXPECT_LT(error, kind.most) << name << " " << encoding;
    }
  }
}

// An update needs little: that a loss falls says nothing of how far it falls in the end, which is another study's.
TEST(LanesRoundedTest, Learns) {
  constexpr int kUpdates = 300, kMean = 20;
  PackSettings settings = SmallSettings("log_kerple", "even_pairs");
  settings.model.layers = 2;
  settings.model.dropout = 0;
  settings.training.batch_size = 64;
  settings.training.lengths = {2, 3, 4, 5};
  for (const char* name : {"lanes", "lanes-tf32", "lanes-bf16"}) {
    const std::unique_ptr<StepEngine> engine = MakeNamed(settings, name);
    Member member;
    member.seed = 1;
    PackState state = InitialState(engine->model().layout(), {member});
    std::vector<double> losses;
    while (state.step < kUpdates) {
      const Batch batch = TrainingBatch(settings, engine->model().encoding().Use(), static_cast<uint64_t>(state.step));
      losses.push_back(engine->Update(engine->Gradients(batch, state), {1e-3}, state)[0].loss);
    }
    const double first = std::accumulate(losses.begin(), losses.begin() + kMean, 0.0);
    const double last = std::accumulate(losses.end() - kMean, losses.end(), 0.0);
    EXPECT_LT(last, 0.6 * first) << name;
  }
}

TEST(LanesRoundedTest, IsTakenOnlyWhenAskedForByName) {
  const PackSettings settings = SmallSettings("rope", "even_pairs");
  const std::vector<std::string> in_float32 = EngineNames(), rounded = RoundedEngineNames();
  const std::string taken = MakeNamed(settings, "")->Name();
  EXPECT_EQ(std::ranges::count(rounded, taken), 0) << taken;
  for (const std::string& name : rounded) {
    EXPECT_EQ(std::ranges::count(in_float32, name), 0) << name;
    EXPECT_EQ(MakeNamed(settings, name)->Name(), name);
  }
  for (const std::string kind : {"tf32", "bf16"}) {
    // The first one of its kind: of the widest instruction set, and with the processor's own products where it has them.
    const auto best = std::ranges::find_if(rounded, [&](const std::string& name) { return name.ends_with("-" + kind); });
    EXPECT_EQ(MakeNamed(settings, "lanes-" + kind)->Name(), *best);
  }
}

TEST(LanesRoundedTest, AnUnknownNameIsAnsweredWithThoseThatThereAre) {
  const std::string full = RoundedEngineNames().back();
  for (const std::string& name : {std::string(), std::string("libtorch"), std::string("lanes"), std::string("lanes-bf16"), full}) {
    EXPECT_TRUE(CheckEngine(name, false).ok()) << name;
  }
  for (const char* name : {"lanes-fp8", "bf16", "lanes-", "Lanes"}) {
    const absl::Status status = CheckEngine(name, false);

    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << name;
    std::vector<std::string> all = EngineNames(), rounded = RoundedEngineNames();
    all.insert(all.end(), rounded.begin(), rounded.end());
    for (const std::string& known : all) EXPECT_NE(status.message().find(known), std::string::npos) << status;
  }
  for (const char* name : {"resident", "resident-bf16", "resident-fp16", "spread", "spread-bf16", "spread-fp16", "libtorch-tf32"}) {
    EXPECT_NE(CheckEngine("none", true).message().find(Text(" ", name)), std::string::npos) << name;
    EXPECT_TRUE(CheckEngine(name, true).ok()) << name;
    EXPECT_NE(CheckEngine(name, false).message().find(Text(name, " needs a GPU; add --device cuda")), std::string::npos) << name;
    EXPECT_ANY_THROW(MakeNamed(SmallSettings("rope", "even_pairs"), name)) << name;
  }
}

}  // namespace

}  // namespace longreach::trainer
