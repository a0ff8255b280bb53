// Lanes engines whose matrix products read rounded operands: they compute what LibTorch's operations make of the same rounding, are
// as far from float32 as that explains, and learn.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "tests/worker/trainer/lanes_fixture.h"
#include "tests/worker/trainer/rounded_reference.h"

namespace longreach::trainer {

namespace {

constexpr double kLossError = 2e-4;

// What a kind of operands makes of gradients.
struct Kind {
  int64_t bits;
  // From the same rounding with sums in another order: a number next to the middle between two operands may become either. Of each
  // parameter.
  double same;
  // From float32, of the whole gradient.
  double least, most;
};
Kind KindOf(const std::string& name) {
  return name.ends_with("-bf16") ? Kind{.bits = 8, .same = 4e-3, .least = 2e-3, .most = 8e-2} : Kind{.bits = 11, .same = 1e-3, .least = 5e-4, .most = 2e-2};
}

PackSettings SmallSettings(const std::string& encoding, const std::string& task) {
  PackSettings settings;
  settings.task = task;
  settings.encoding = encoding;
  settings.randomized = encoding == "rope";
  settings.positions.max_position = 128;
  settings.model.learned_rows = 128;
  settings.model.layers = 3;
  settings.training.batch_size = 37;
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
  return state;
}

TEST(LanesRoundedTest, ComputesWhatLibtorchMakesOfTheSameRounding) {
  for (const char* encoding : {"none", "alibi", "log_kerple", "rope"}) {
    for (const double dropout : {0.0, 0.1}) {
      PackSettings settings = SmallSettings(encoding, "reverse_string");
      settings.model.dropout = dropout;
      for (const std::string& name : RoundedEngineNames()) {
        const std::unique_ptr<StepEngine> engine = MakeNamed(settings, name);
        PackState state = StateWithoutKinks(engine->model());
        const Batch batch = TrainingBatch(settings, engine->model().encoding().Use(), 0);
        const Kind kind = KindOf(name);

        const double loss = engine->Gradients(batch, state)[0];

        const RoundedReference::Result expected = RoundedReference(settings, engine->model(), kind.bits).LossAndGradient(batch, state.parameters[0]);
        EXPECT_NEAR(loss, expected.loss, kLossError * expected.loss) << name << " " << encoding;
        for (const Parameter& parameter : engine->model().layout().parameters()) {
          const auto part = [&](const Tensor& flat) { return flat.narrow(0, parameter.offset, parameter.size); };
          EXPECT_LT(RelativeError(part(engine->gradients()[0]), part(expected.gradient)), kind.same) << name << " " << encoding << " " << parameter.name;
        }
      }
    }
  }
}

TEST(LanesRoundedTest, IsAsFarFromFloat32AsRoundingExplains) {
  for (const char* encoding : {"none", "sin_cos", "learned", "shape", "rope", "alibi", "log_kerple", "relative"}) {
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
    const double first = std::accumulate(losses.begin(), losses.begin() + kMean, 0.0), last = std::accumulate(losses.end() - kMean, losses.end(), 0.0);
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
    EXPECT_EQ(MakeNamed(settings, "lanes-" + kind)->Name(), MakeNamed(settings, "lanes")->Name() + "-" + kind);
  }
}

TEST(LanesRoundedTest, AnUnknownNameIsAnsweredWithThoseThatThereAre) {
  for (const std::string& name : {std::string(), std::string("libtorch"), std::string("lanes"), std::string("lanes-bf16"), RoundedEngineNames().back()}) {
    EXPECT_TRUE(CheckEngine(name, false).ok()) << name;
  }
  for (const char* name : {"lanes-fp8", "bf16", "lanes-", "Lanes"}) {
    const absl::Status status = CheckEngine(name, false);

    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << name;
    std::vector<std::string> all = EngineNames(), rounded = RoundedEngineNames();
    all.insert(all.end(), rounded.begin(), rounded.end());
    for (const std::string& known : all) EXPECT_NE(status.message().find(known), std::string::npos) << status;
  }
  EXPECT_TRUE(CheckEngine("resident", true).ok());
  EXPECT_NE(CheckEngine("resident", false).message().find("--device cuda"), std::string::npos);
}

}  // namespace

}  // namespace longreach::trainer
