// The lanes engines compute what the LibTorch engine computes: losses, gradients, logits, tests and updates.
#include <algorithm>
#include <cmath>
#include <sstream>
#include <utility>
#include <vector>

#include "proto/catalog/catalog.h"
#include "proto/catalog/pair_tables.h"
#include "tests/worker/trainer/lanes_fixture.h"
#include "worker/trainer/lanes/lanes_engine.h"
#include "worker/trainer/lanes/lanes_pass.h"
#include "worker/trainer/lanes/runnable.h"

namespace longreach::trainer {

namespace {

// Two float32 computations of the same sum.
constexpr double kGradientError = 1e-5;
// A hidden feature next to zero may fall on either side of ReLU's kink; then the gradients of that one token differ by a jump.
constexpr double kGradientErrorAtKinks = 2e-3;
constexpr int kBatches = 4;
constexpr double kLogitError = 2e-5;

struct Case {
  std::string encoding;
  bool randomized = false;
  bool by_position = false;
  bool causal = false;
  bool pre_norm = false;
};
std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.encoding << (c.randomized ? "_randomized" : "") << (c.by_position ? "_by_position" : "") << (c.causal ? "_causal" : "")
             << (c.pre_norm ? "_pre_norm" : "");
}

PackSettings FullSettings(const Case& c, const std::string& task) {
  PackSettings settings;
  settings.task = task;
  settings.encoding = c.encoding;
  settings.randomized = c.randomized;
  settings.positions.max_position = 512;
  settings.model.learned_rows = 512;
  settings.model.causal = c.causal;
  if (c.pre_norm) settings.model.norm = PackSettings::Model::Norm::kPre;
  if (c.by_position) settings.positions.randomized_by = PackSettings::Positions::RandomizedBy::kPosition;
  settings.training.batch_size = 21;  // A tile and a part of one, whatever the lanes.
  return settings;
}

class LanesTest : public ::testing::Test {
 protected:
  // Loss and gradient of every engine against LibTorch's, at a length. Of several batches one without a kink is enough: what is
  // wrong is wrong in all of them.
  static void ExpectSameGradients(PackSettings settings, int length) {
    settings.training.lengths = {length};
    const std::unique_ptr<StepEngine> oracle = MakeNamed(settings, "libtorch");
    PackState state = ScatteredState(oracle->model(), 1);
    struct OfLibtorch {
      Batch batch;
      double loss;
      Tensor gradient;
    };
    std::vector<OfLibtorch> of_libtorch;  // Of so many batches as any engine needed.
    for (const std::string& name : LanesNames()) {
      const std::unique_ptr<StepEngine> engine = MakeNamed(settings, name);
      ASSERT_EQ(engine->Name(), name);
      double best = kGradientErrorAtKinks;
      for (uint64_t step = 0; step < kBatches && best > kGradientError; ++step) {
        if (step == of_libtorch.size()) {
          Batch batch = TrainingBatch(settings, oracle->model().encoding().Use(), step);
          const double loss = oracle->Gradients(batch, state)[0];
          of_libtorch.push_back({std::move(batch), loss, oracle->gradients().clone()});
        }
        const auto& [batch, loss, expected] = of_libtorch[step];
        const double ours = engine->Gradients(batch, state)[0];
        const Tensor& gradient = engine->gradients();
        EXPECT_NEAR(ours, loss, 2e-6 * std::abs(loss)) << name << " tape " << batch.tape;
        const double error = RelativeError(gradient, expected);
        EXPECT_LT(error, kGradientErrorAtKinks) << name << " tape " << batch.tape;
        best = std::min(best, error);
        for (const Parameter& parameter : oracle->model().layout().parameters()) {
          const auto part = [&](const Tensor& flat) { return flat[0].narrow(0, parameter.offset, parameter.size); };
          // A parameter may be all cancellation: what counts is its part of the whole.
          const double off = (part(gradient) - part(expected)).norm().item<double>();
          EXPECT_LT(off, kGradientErrorAtKinks * part(expected).norm().item<double>() + 1e-4 * expected.norm().item<double>())
              << name << " " << parameter.name;
        }
      }
      EXPECT_LT(best, kGradientError) << name << " length " << length;
    }
  }
};

class LanesEncodingTest : public LanesTest, public ::testing::WithParamInterface<Case> {
 protected:
  static PackSettings Settings(const std::string& task) {
    PackSettings settings = FullSettings(GetParam(), task);
    settings.model.layers = 3;  // The first, the last, and one between them.
    return settings;
  }
};

TEST_P(LanesEncodingTest, HasTheLossAndGradientOfLibtorch) {
  for (const char* task : {"even_pairs", "reverse_string"}) {
    for (const double dropout : {0.0, 0.1}) {
      PackSettings settings = Settings(task);
      settings.model.dropout = dropout;
      ExpectSameGradients(settings, 20);  // A tape of 21 with one output, and of 40 with 20.
    }
  }
}

TEST_P(LanesEncodingTest, HasTheLogitsAndTestsOfLibtorch) {
  PackSettings settings = Settings("missing_duplicate_string");
  settings.evaluation.examples = 37;
  const std::unique_ptr<StepEngine> oracle = MakeNamed(settings, "libtorch");
  PackState state = ScatteredState(oracle->model(), 2);
  const Batch batch = TestBatch(settings, oracle->model().encoding().Use(), 60);
  const Tensor logits = oracle->Logits(batch, state);
  const std::vector<TestResult> results = oracle->Evaluate(batch, state, [] {});
  for (const std::string& name : LanesNames()) {
    const std::unique_ptr<StepEngine> engine = MakeNamed(settings, name);
    const Tensor ours = engine->Logits(batch, state);
    ASSERT_EQ(ours.sizes(), logits.sizes());
    EXPECT_LT(RelativeError(ours, logits), kLogitError) << name;
    const std::vector<TestResult> tested = engine->Evaluate(batch, state, [] {});
    ASSERT_EQ(tested.size(), 2u);
    for (size_t m = 0; m < 2; ++m) {
      EXPECT_EQ(tested[m].counted, results[m].counted);
      EXPECT_EQ(tested[m].hits, results[m].hits) << name;
      EXPECT_EQ(tested[m].exact, results[m].exact) << name;
      EXPECT_NEAR(tested[m].loss, results[m].loss, 1e-5 * results[m].loss) << name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Encodings, LanesEncodingTest,
    ::testing::Values(Case{"none"}, Case{"sin_cos"}, Case{"sin_cos", true}, Case{"learned"}, Case{"learned", true}, Case{"shape"}, Case{"rope"},
                    Case{"rope", true}, Case{"alibi"}, Case{"alibi", true}, Case{"alibi", true, true}, Case{"power_kerple"},
                    Case{"power_kerple", true}, Case{"power_kerple", true, true}, Case{"log_kerple"}, Case{"log_kerple", true},
                    Case{"log_kerple", true, true}, Case{"sandwich"}, Case{"sandwich", true}, Case{"sandwich", true, true}, Case{"relative"},
                    Case{"relative", true}, Case{"relative", true, true}, Case{"t5"}, Case{"t5", true}, Case{"t5", true, true},
                    Case{"fire"}, Case{"fire", true}, Case{"fire", true, true}),
    [](const auto& each) { return (std::ostringstream() << each.param).str(); });

// A decoder, whose later keys are hidden by tables that the encodings know nothing of.
INSTANTIATE_TEST_SUITE_P(
    Decoders, LanesEncodingTest,
    ::testing::Values(Case{"none", false, false, true}, Case{"sin_cos", true, false, true}, Case{"learned", false, false, true},
                      Case{"shape", false, false, true}, Case{"rope", false, false, true}, Case{"rope", true, false, true},
                      Case{"alibi", false, false, true}, Case{"alibi", true, true, true}, Case{"log_kerple", false, false, true},
                      Case{"log_kerple", true, false, true}, Case{"log_kerple", true, true, true}, Case{"sandwich", false, false, true},
                      Case{"relative", false, false, true}, Case{"relative", true, false, true}, Case{"relative", true, true, true},
                      Case{"t5", false, false, true}, Case{"t5", true, false, true}, Case{"t5", true, true, true},
                      Case{"fire", false, false, true}, Case{"fire", true, false, true}, Case{"fire", true, true, true}),
    [](const auto& each) { return (std::ostringstream() << each.param).str(); });

// Pre-norm blocks, of encoders and of decoders: each way in which a layer's tables, rotation and additions come in.
INSTANTIATE_TEST_SUITE_P(
    PreNorm, LanesEncodingTest,
    ::testing::Values(Case{"none", false, false, false, true}, Case{"sin_cos", true, false, false, true}, Case{"learned", false, false, false, true},
                      Case{"shape", false, false, false, true}, Case{"rope", true, false, false, true}, Case{"alibi", false, false, false, true},
                      Case{"log_kerple", true, false, false, true}, Case{"log_kerple", true, true, false, true},
                      Case{"relative", true, false, false, true}, Case{"relative", true, true, false, true}, Case{"t5", false, false, false, true},
                      Case{"none", false, false, true, true}, Case{"learned", true, false, true, true}, Case{"rope", false, false, true, true},
                      Case{"alibi", true, true, true, true}, Case{"log_kerple", false, false, true, true}, Case{"relative", false, false, true, true},
                      Case{"t5", true, false, true, true}, Case{"fire", false, false, false, true}, Case{"fire", true, true, false, true},
                      Case{"fire", true, false, true, true}),
    [](const auto& each) { return (std::ostringstream() << each.param).str(); });

// Tapes that fill no block, one block, several.
TEST_F(LanesTest, AgreesWithLibtorchOnTapesOfAllSizes) {
  for (const char* encoding : {"log_kerple", "rope", "relative", "fire"}) {
    for (const auto& [task, length] : {std::pair("even_pairs", 1), std::pair("even_pairs", 40), std::pair("even_pairs", 80),
                                       std::pair("reverse_string", 1), std::pair("reverse_string", 61), std::pair("duplicate_string", 41)}) {
      PackSettings settings = FullSettings({encoding}, task);
      settings.model.layers = 2;
      ExpectSameGradients(settings, length);
      settings.model.causal = true;
      ExpectSameGradients(settings, length);
      settings.model.norm = PackSettings::Model::Norm::kPre;
      ExpectSameGradients(settings, length);
    }
  }
}

TEST_F(LanesTest, AgreesWithLibtorchOnOtherShapesOfTheModel) {
  for (const auto& [layers, dim, mlp] : {std::tuple(1, 16, 8), std::tuple(3, 32, 136), std::tuple(2, 48, 64), std::tuple(1, 128, 256)}) {
    PackSettings settings = FullSettings({"log_kerple", true}, "reverse_string");
    settings.model.layers = layers;
    settings.model.embedding_dim = dim;
    settings.model.heads = dim / 8;
    settings.model.mlp_dim = mlp;
    settings.model.kerple_shared = layers == 3;
    settings.model.break_symmetry = layers == 2;
    ExpectSameGradients(settings, 9);
    settings.model.norm = PackSettings::Model::Norm::kPre;
    ExpectSameGradients(settings, 9);
  }
}

// FIRE's network: of other widths, one for all layers, and with thresholds below and above all positions.
TEST_F(LanesTest, AgreesWithLibtorchOnOtherNetworksOfBiasesByPair) {
  for (const auto& [width, threshold, shared] : {std::tuple(1, 1, false), std::tuple(8, 5, true), std::tuple(100, 600, true)}) {
    for (const bool randomized : {false, true}) {
      PackSettings settings = FullSettings({"fire", randomized}, "reverse_string");
      settings.model.layers = 3;
      settings.model.embedding_dim = 48;  // Six heads: tables do not end where a register does.
      settings.model.heads = 6;
      settings.model.fire_width = width;
      settings.model.fire_threshold = threshold;
      settings.model.fire_shared = shared;
      ExpectSameGradients(settings, 9);
    }
  }
}

// Tables by pair of long tapes, which are made of some queries at a time: of the last layer only those of the outputs.
TEST_F(LanesTest, TestsLongTapesByPairAsLibtorchDoes) {
  for (const auto& [task, length, causal] : {std::tuple("even_pairs", 520, false), std::tuple("reverse_string", 260, true)}) {
    PackSettings settings = FullSettings({"fire", true, false, causal}, task);
    settings.positions.max_position = 2048;
    settings.model.layers = 2;
    settings.evaluation.examples = 5;
    const std::unique_ptr<StepEngine> oracle = MakeNamed(settings, "libtorch");
    PackState state = ScatteredState(oracle->model(), 2);
    const Batch batch = TestBatch(settings, oracle->model().encoding().Use(), length);
    const Tensor logits = oracle->Logits(batch, state);
    for (const std::string& name : LanesNames()) {
      EXPECT_LT(RelativeError(MakeNamed(settings, name)->Logits(batch, state), logits), kLogitError) << name << " tape " << batch.tape;
    }
  }
}

TEST_F(LanesTest, AgreesWithLibtorchOnKeysOfDistancesAsReleased) {
  PackSettings settings = FullSettings({"relative", true}, "reverse_string");
  settings.positions.relative_as_released = true;
  ExpectSameGradients(settings, 12);
}

TEST_F(LanesTest, AgreesWithLibtorchOnTheMasksOfTests) {
  PackSettings settings = FullSettings({"sin_cos"}, "reverse_string");
  settings.evaluation = {.lengths = {}, .examples = 20, .dropout = true};
  const std::unique_ptr<StepEngine> oracle = MakeNamed(settings, "libtorch");
  PackState state = ScatteredState(oracle->model(), 1);
  const Batch batch = TestBatch(settings, oracle->model().encoding().Use(), 12);
  const TestResult expected = oracle->Evaluate(batch, state, [] {})[0];
  for (const std::string& name : LanesNames()) {
    const TestResult tested = MakeNamed(settings, name)->Evaluate(batch, state, [] {})[0];
    EXPECT_EQ(tested.hits, expected.hits) << name;
    EXPECT_NEAR(tested.loss, expected.loss, 1e-5 * expected.loss) << name;
  }
}

TEST_F(LanesTest, LeavesWhatItDoesNotKnowToLibtorchAndSaysSo) {
  PackSettings wide_heads = FullSettings({"none"}, "even_pairs");
  wide_heads.model.heads = 4;
  PackSettings odd_width = FullSettings({"relative"}, "even_pairs");
  odd_width.model.embedding_dim = 24;
  odd_width.model.heads = 3;
  for (const PackSettings& settings : {wide_heads, odd_width}) {
    std::vector<std::string> lines;

    const std::unique_ptr<StepEngine> engine =
        MakeEngine(settings, {.threads = 1, .engine = "lanes"}, [&](const std::string& line) { lines.push_back(line); });

    EXPECT_EQ(engine->Name(), "libtorch");
    ASSERT_EQ(lines.size(), 1u);
    EXPECT_NE(lines[0].find("instead of lanes"), std::string::npos) << lines[0];
  }
}

// A table by pair grows with the square of the tape, and in training there is a gradient of it for each group of 16 sequences.
TEST_F(LanesTest, LeavesTapesWhoseBiasesByPairDoNotFitIntoMemoryToLibtorch) {
  const auto why_not = [](int trained, int tested, int batch_size) {
    PackSettings settings = FullSettings({"fire"}, "reverse_string");
    settings.training.lengths = {1, trained};
    settings.training.batch_size = batch_size;
    settings.evaluation.lengths = {tested};
    return WhyNotLanes(settings, {});
  };
  EXPECT_EQ(why_not(20, 1295, 128), "");
  EXPECT_EQ(why_not(20, 1296, 128), "encoding fire on tapes of 2592 tokens: biases of all pairs would take more than 1 GiB");
  EXPECT_EQ(why_not(457, 500, 128), "");
  EXPECT_EQ(why_not(458, 500, 128), "encoding fire on tapes of 916 tokens: biases of all pairs would take more than 1 GiB");
  EXPECT_EQ(why_not(458, 500, 112), "");

  PackSettings by_distance = FullSettings({"log_kerple"}, "reverse_string");
  by_distance.training.lengths = by_distance.evaluation.lengths = {2048};
  EXPECT_EQ(WhyNotLanes(by_distance, {}), "");
}

// But for what rounds a layer's up to whole registers.
TEST_F(LanesTest, HasAsLargeTablesByPairAsAPlanCounts) {
  for (const auto& [task, length] : {std::pair("even_pairs", 1), std::pair("even_pairs", 80), std::pair("reverse_string", 61)}) {
    const PackSettings settings = FullSettings({"fire"}, task);
    const catalog::Task& entry = *catalog::FindTask(task);
    const Encoder encoder(settings, entry.TokensRead(false), entry.output_vocabulary);
    const Batch batch = TestBatch(settings, encoder.encoding().Use(), length);
    const LanesPass pass(settings, encoder, *RunnableKernels(lanes::Operands::kFloat32).front(), batch, false);
    const int tables = settings.model.layers * settings.model.heads;
    const double counted = catalog::PairTables{.tables = static_cast<double>(tables), .tested = batch.tape}.BytesOfPack(1) / sizeof(float);
    EXPECT_GE(static_cast<double>(pass.TablesSize()), counted) << task << " " << length;
    EXPECT_LT(static_cast<double>(pass.TablesSize()), counted + tables * static_cast<double>(LanesPass::kRegister)) << task << " " << length;
  }
}

TEST_F(LanesTest, MarksAMemberWhoseLossIsNotFiniteAndGoesOnWithTheOthers) {
  PackSettings settings = FullSettings({"log_kerple"}, "even_pairs");
  settings.training.lengths = {5};
  for (const std::string& name : LanesNames()) {
    const std::unique_ptr<StepEngine> engine = MakeNamed(settings, name);
    PackState state = ScatteredState(engine->model(), 2);
    state.parameters[0].narrow(0, engine->model().layout().Find("layer1.ffn1.w")->offset, 1).fill_(std::nan(""));
    const Batch batch = TrainingBatch(settings, engine->model().encoding().Use(), 0);

    const std::vector<StepResult> results = engine->Update(engine->Gradients(batch, state), {1e-3, 1e-3}, state);

    EXPECT_TRUE(state.members[0].diverged) << name;
    EXPECT_TRUE(state.members[1].live) << name;
    EXPECT_GT(results[1].gradient_norm, 0) << name;
    EXPECT_TRUE(state.parameters[1].isfinite().all().item<bool>()) << name;
  }
}

}  // namespace

}  // namespace longreach::trainer
