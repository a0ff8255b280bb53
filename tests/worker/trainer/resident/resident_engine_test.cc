// The resident engine, its kernels run lane by lane on the CPU, computes what the LibTorch engine computes, as far as operands of 16 bits
// let it.
#include <gmock/gmock.h>

#include <cmath>
#include <sstream>

#include "proto/base/text.h"
#include "proto/catalog/catalog.h"
#include "tests/worker/trainer/lanes_fixture.h"
#include "tests/worker/trainer/resident/sampled_batches.h"
#include "worker/trainer/problems/problem.h"
#include "worker/trainer/resident/resident_engine.h"

namespace longreach::trainer {

namespace {

// Of the whole gradient: bfloat16 has 8 significant bits, and a hidden feature next to zero may fall on either side of ReLU's kink. It
// averages out over the batch, so that anything that is wrong would be far above.
constexpr double kGradientError = 3e-2;
// With one output of each sequence there is less to average over.
constexpr double kGradientErrorOfOneOutput = 8e-2;
// Of one parameter's, beside the size of the whole.
constexpr double kShareOfWhole = 1e-2;
constexpr double kLossError = 5e-3;
// float16 has 11 bits. Fewer features are on the other side of the kink, and each is as much as before.
struct Kind {
  const char* engine;
  const char* name;
  double share;  // Of these errors.
  int slices;    // Blocks to a member.
};
constexpr Kind kKinds[] = {{"emulated", "emulated-bf16", 1, 1},
                           {"emulated-fp16", "emulated-fp16", 0.5, 1},
                           {"emulated-spread", "emulated-spread-bf16", 1, 14},
                           {"emulated-spread-fp16", "emulated-spread-fp16", 0.5, 14}};
constexpr const Kind* kWays[] = {&kKinds[0], &kKinds[1], &kKinds[2], &kKinds[3]};

struct Case {
  std::string encoding;
  bool randomized = false;
};
std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.encoding << (c.randomized ? "_randomized" : ""); }

PackSettings Settings(const Case& c, const std::string& task = "reverse_string", int length = 9, int batch = 64) {
  PackSettings settings;
  settings.task = task;
  settings.encoding = c.encoding;
  settings.randomized = c.randomized;
  settings.positions.max_position = 512;
  settings.model.layers = 2;
  settings.training.batch_size = batch;
  settings.training.lengths = {length};
  return settings;
}

std::unique_ptr<StepEngine> Emulated(const PackSettings& settings, const Kind& kind = kKinds[0]) { return MakeNamed(settings, kind.engine); }

std::unique_ptr<StepEngine> Libtorch(const PackSettings& settings) { return MakeNamed(settings, "libtorch"); }

Batch BatchOf(const PackSettings& settings, const StepEngine& engine, uint64_t step = 0) {
  return TrainingBatch(settings, engine.model().encoding().Use(), step);
}

void ExpectSameGradients(const PackSettings& settings, const Kind& kind) {
  SCOPED_TRACE(kind.name);
  const std::unique_ptr<StepEngine> oracle = Libtorch(settings), engine = Emulated(settings, kind);
  ASSERT_EQ(engine->Name(), kind.name);
  PackState state = ScatteredState(oracle->model(), 1);
  const Batch batch = BatchOf(settings, *oracle);
  const double loss = oracle->Gradients(batch, state)[0], ours = engine->Gradients(batch, state)[0];
  EXPECT_NEAR(ours, loss, kind.share * kLossError * std::abs(loss)) << "tape " << batch.tape;
  const Tensor &expected = oracle->gradients(), &gradient = engine->gradients();
  const double most = kind.share * (batch.outputs == 1 ? kGradientErrorOfOneOutput : kGradientError);
  EXPECT_LT(RelativeError(gradient, expected), most) << "tape " << batch.tape;
  for (const Parameter& parameter : oracle->model().layout().parameters()) {
    const auto part = [&](const Tensor& flat) { return flat[0].narrow(0, parameter.offset, parameter.size); };
    const double off = (part(gradient) - part(expected)).norm().item<double>();
    EXPECT_LT(off, 2 * most * part(expected).norm().item<double>() + kind.share * kShareOfWhole * expected.norm().item<double>()) << parameter.name;
  }
}

class ResidentEncodingTest : public ::testing::TestWithParam<Case> {};

// Two tasks, without and with dropout, two kinds of operands, one or many blocks to a member: all sixteen with one encoding, whose biases are
// trained; with each other the eight in which any three of the four meet in all ways.
TEST_P(ResidentEncodingTest, HasTheLossAndGradientOfLibtorch) {
  const bool all = GetParam().encoding == "log_kerple" && GetParam().randomized;
  for (const bool one_output : {false, true}) {
    for (const bool dropout : {false, true}) {
      PackSettings settings = Settings(GetParam(), one_output ? "even_pairs" : "reverse_string");
      settings.model.dropout = dropout ? 0.1 : 0;
      for (const Kind& kind : kKinds) {
        const bool is_of_the_eight = (one_output + dropout + (kind.share == 1) + (kind.slices == 1)) % 2 == 0;
        if (all || is_of_the_eight) ExpectSameGradients(settings, kind);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Encodings, ResidentEncodingTest,
                         ::testing::Values(Case{"none"}, Case{"sin_cos"}, Case{"sin_cos", true}, Case{"shape"}, Case{"rope"}, Case{"rope", true},
                                         Case{"alibi"}, Case{"alibi", true}, Case{"power_kerple"}, Case{"power_kerple", true},
                                         Case{"log_kerple"}, Case{"log_kerple", true}, Case{"sandwich"}, Case{"sandwich", true}),
                         [](const auto& each) { return (std::ostringstream() << each.param).str(); });

// T = 2, 21, 41, 81, 122.
TEST(ResidentEngineTest, AgreesWithLibtorchOnTapesOfAllSizes) {
  for (const auto& [task, length] : {std::pair("even_pairs", 1), std::pair("even_pairs", 20), std::pair("even_pairs", 40), std::pair("even_pairs", 80),
                                     std::pair("reverse_string", 61)}) {
    for (const char* encoding : {"log_kerple", "rope"}) {
      SCOPED_TRACE(Text(task, " ", length, " ", encoding));
      for (const Kind& kind : kKinds) ExpectSameGradients(Settings({encoding}, task, length, 24), kind);
    }
  }
}

TEST(ResidentEngineTest, AgreesWithLibtorchOnTheWholeModelAndASharedKerple) {
  PackSettings settings = Settings({"log_kerple", true}, "bucket_sort", 7);
  settings.model.layers = 5;
  settings.model.kerple_shared = true;
  settings.model.break_symmetry = true;
  for (const Kind& kind : kKinds) ExpectSameGradients(settings, kind);
}

// Layers without positions turn by no angle, and have biases of 0.
TEST(ResidentEngineTest, AgreesWithLibtorchWhereSomeLayersHaveNoPositions) {
  for (const Case& c : {Case{"rope"}, Case{"rope", true}, Case{"alibi", true}}) {
    PackSettings settings = Settings(c, "reverse_string");
    settings.positions.none_every = 2;
    for (const Kind& kind : kKinds) ExpectSameGradients(settings, kind);
  }
}

// Queries and keys turn by other angles and grow, and their gradients with them.
TEST(ResidentEngineTest, AgreesWithLibtorchWhereRotationsAreScaledInTraining) {
  PackSettings settings = Settings({"rope"}, "reverse_string");
  settings.model.rope_theta = 500;
  settings.positions.rope_scaling = "yarn";
  settings.positions.rope_factor = 8;
  settings.positions.rope_scaling_at = PackSettings::Positions::RopeScalingAt::kAlways;
  for (const Kind& kind : kKinds) ExpectSameGradients(settings, kind);
}

// What goes back through the layers may be smaller than any number of float16: it is scaled on its way, in each member by a power of its own.
TEST(ResidentEngineTest, KeepsGradientsThatAreBelowTheNumbersOfFloat16) {
  const PackSettings settings = Settings({"log_kerple"}, "reverse_string");
  const std::unique_ptr<StepEngine> oracle = Libtorch(settings);
  const Parameter& head = *oracle->model().layout().Find("out.w");
  PackState state = ScatteredState(oracle->model(), 2);
  state.parameters[0].narrow(0, head.offset, head.size).mul_(1e-9);  // Their gradients become so much smaller; the head's own do not.
  const Batch batch = BatchOf(settings, *oracle);
  oracle->Gradients(batch, state);
  const auto of_layers = [&](const StepEngine& engine, int64_t member) {
    Tensor flat = engine.gradients()[member].clone();
    for (const char* name : {"out.w", "out.b"}) {
      const Parameter& parameter = *engine.model().layout().Find(name);
      flat.narrow(0, parameter.offset, parameter.size).zero_();
    }
    return flat;
  };
  for (const Kind& kind : kKinds) {
    SCOPED_TRACE(kind.name);
    const std::unique_ptr<StepEngine> engine = Emulated(settings, kind);
    engine->Gradients(batch, state);
    for (const int64_t member : {0, 1}) {
      const Tensor expected = of_layers(*oracle, member);
      EXPECT_LT(RelativeError(of_layers(*engine, member), expected), kind.share * 2 * kGradientError) << member;  // Without the head's.
      // Below the smallest number of float16.
      EXPECT_EQ(expected.abs().max().item<double>() < 1e-8, member == 0);
    }
  }
}

// From the same gradients the steps are the same to the last digits.
class ResidentWaysTest : public ::testing::TestWithParam<const Kind*> {};

INSTANTIATE_TEST_SUITE_P(Ways, ResidentWaysTest, ::testing::ValuesIn(kWays), [](const auto& each) {
  return std::string(each.param->slices == 1 ? "Alone" : "Spread") + (each.param->share == 1 ? "Bfloat16" : "Float16");
});

TEST_P(ResidentWaysTest, TakesTheStepsOfLibtorch) {
  PackSettings settings = Settings({"power_kerple"}, "reverse_string", 9, 5);
  settings.training.clip_norm = 0.5;
  const std::unique_ptr<StepEngine> oracle = Libtorch(settings), engine = Emulated(settings, *GetParam());
  PackState expected = ScatteredState(oracle->model(), 2), state = ScatteredState(oracle->model(), 2);
  const std::vector<double> rates = {1e-3, 3e-4};
  for (uint64_t step = 0; step < 3; ++step) {
    const Batch batch = BatchOf(settings, *oracle, step);
    const std::vector<double> losses = engine->Gradients(batch, state);
    oracle->Gradients(batch, expected);
    // The step is that of the gradients as they are, not of what they were added up from.
    Tensor(engine->gradients()).mul_(0.75);
    oracle->gradients().copy_(engine->gradients());
    const std::vector<StepResult> ours = engine->Update(losses, rates, state), theirs = oracle->Update(losses, rates, expected);
    for (size_t m = 0; m < 2; ++m) {
      EXPECT_EQ(ours[m].loss, theirs[m].loss);
      EXPECT_NEAR(ours[m].gradient_norm, theirs[m].gradient_norm, 1e-6 * theirs[m].gradient_norm);
    }
    EXPECT_LT((state.parameters - expected.parameters).abs().max().item<double>(), 1e-6);
    EXPECT_LT(RelativeError(state.moment2, expected.moment2), 1e-5);
    expected.parameters.copy_(state.parameters);
    expected.moment1.copy_(state.moment1);
    expected.moment2.copy_(state.moment2);
  }
}

// Rates lie on the device, and others come there with the next update.
TEST_P(ResidentWaysTest, EachUpdateHasTheRatesThatItIsGiven) {
  PackSettings settings = Settings({"none"}, "reverse_string", 9, 5);
  EXPECT_EQ(Emulated(settings, *GetParam())->UpdatesAtATime(), 2);
  settings.training.warmup_steps = 2;
  const std::unique_ptr<StepEngine> engine = Emulated(settings, *GetParam());
  EXPECT_EQ(engine->UpdatesAtATime(), 1);
  PackState state = ScatteredState(engine->model(), 2);
  const std::vector<std::vector<double>> rates = {{0, 0}, {1e-3, 0}, {0, 1e-3}};
  for (const std::vector<double>& of_update : rates) {
    const Tensor before = state.parameters.clone();
    engine->Train(
        1, [&](uint64_t step) { return BatchOf(settings, *engine, step); }, of_update, state, [](const std::vector<StepResult>&) {});
    for (const int64_t m : {0, 1}) EXPECT_EQ(state.parameters[m].equal(before[m]), of_update[static_cast<size_t>(m)] == 0) << "update " << state.step << " member " << m;
  }
}

// As a session trains: several updates at once, of a pack.
struct Trained {
  PackState state;
  std::vector<std::vector<StepResult>> results;
};

Trained Train(const PackSettings& settings, PackState state, const std::vector<double>& rates, const std::vector<int>& updates,
              const Kind& kind = kKinds[0]) {
  const std::unique_ptr<StepEngine> engine = Emulated(settings, kind);
  Trained trained{.state = std::move(state), .results = {}};
  for (const int some : updates) {
    engine->Train(
        some, [&](uint64_t step) { return BatchOf(settings, *engine, step); }, rates, trained.state,
        [&](const std::vector<StepResult>& results) { trained.results.push_back(results); });
  }
  return trained;
}

TEST(ResidentEngineTest, DrawsTheBatchesOfTheHost) { ExpectToDrawTheBatchesOfTheHost(resident::EmulatedLauncher(resident::Operands::kBfloat16)); }

TEST(ResidentEngineTest, TrainsOnSequencesThatItDrawsItself) {
  for (const Case& c : {Case{"none"}, Case{"log_kerple", true}}) {  // Without and with something that the host makes.
    PackSettings settings = Settings(c, "stack_manipulation", 9, 5);
    settings.training.lengths = {4, 9};
    const std::unique_ptr<StepEngine> engine = Emulated(settings);
    ASSERT_TRUE(engine->SamplesSequences());
    const std::unique_ptr<Problem> problem = MakeStandIn(settings);
    PackState state = ScatteredState(engine->model(), 1);
    engine->Train(
        3, [&](uint64_t step) { return problem->TrainingBatchFor(*engine, step); }, {1e-3}, state, [](const std::vector<StepResult>&) {});

    const Trained expected = Train(settings, ScatteredState(engine->model(), 1), {1e-3}, {3});
    EXPECT_TRUE(state.parameters.equal(expected.state.parameters));
    EXPECT_TRUE(problem->TrainingBatchFor(*engine, 0).tokens.empty());
    EXPECT_FALSE(problem->TrainingBatchFor(*Libtorch(settings), 0).tokens.empty());
  }
}

TEST_P(ResidentWaysTest, TrainsWithTheSameBitsAloneAndInAPackAndInAnyPortions) {
  const PackSettings settings = Settings({"log_kerple", true}, "reverse_string", 9, 5);
  const std::unique_ptr<StepEngine> engine = Emulated(settings);
  const Trained pack = Train(settings, ScatteredState(engine->model(), 3), {1e-3, 3e-4, 1e-4}, {3}, *GetParam());
  const Trained portions = Train(settings, ScatteredState(engine->model(), 3), {1e-3, 3e-4, 1e-4}, {1, 2}, *GetParam());
  PackState second = ScatteredState(engine->model(), 2);
  for (Tensor* buffer : {&second.parameters, &second.moment1, &second.moment2}) *buffer = buffer->narrow(0, 1, 1).clone();
  second.members.resize(1);
  const Trained alone = Train(settings, std::move(second), {3e-4}, {3}, *GetParam());

  EXPECT_TRUE(pack.state.parameters.equal(portions.state.parameters));
  EXPECT_TRUE(pack.state.moment2.equal(portions.state.moment2));
  EXPECT_TRUE(pack.state.parameters[1].equal(alone.state.parameters[0]));
  ASSERT_EQ(pack.results.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(pack.results[i][1].loss, alone.results[i][0].loss);
    EXPECT_EQ(pack.results[i][1].loss, portions.results[i][1].loss);
    EXPECT_GT(pack.results[i][1].gradient_norm, 0);
  }
  EXPECT_EQ(pack.state.step, 3);
}

TEST_P(ResidentWaysTest, TellsWhereTheTimeOfItsUpdatesGoesAndComputesTheSame) {
  const PackSettings settings = Settings({"log_kerple"}, "reverse_string", 9, 5);
  const std::unique_ptr<StepEngine> engine = Emulated(settings, *GetParam());
  EXPECT_TRUE(engine->TakePhases().empty()) << "nobody has asked yet";
  ASSERT_TRUE(engine->RecordPhases());
  EXPECT_TRUE(engine->TakePhases().empty()) << "nothing has been trained since";
  PackState state = ScatteredState(engine->model(), 2);
  state.members[0].live = false;  // Its clocks stand still.
  EXPECT_EQ(engine->TakeBytes(), 0);
  engine->Train(
      2, [&](uint64_t step) { return BatchOf(settings, *engine, step); }, {1e-3, 3e-4}, state, [](const std::vector<StepResult>&) {});

  const std::vector<PhaseShare> phases = engine->TakePhases();
  ASSERT_EQ(phases.size(), 8u);
  EXPECT_EQ(phases[2].phase, "layers forward");
  double sum = 0;
  for (const PhaseShare& one : phases) {
    EXPECT_GT(one.share, 0) << one.phase;
    sum += one.share;
  }
  EXPECT_NEAR(sum, 1, 1e-9);
  EXPECT_TRUE(engine->TakePhases().empty());
  // Two updates of two members with two layers and a tape of 18, of which 9 are asked for: rows of 64 features, whole ones and half ones,
  // denominators and keep-bits. The first layer has 10 and 4 of each token. The last has 3 of each token, and of those that are asked for 7 and 4,
  // and h and o once more. The ends have 2 of each token and 1 of those that are asked for.
  const double first = 10 * 256.0 + 4 * 128 + 2 * 32 + 4 * 8, last = 3 * 256 + 2 * 32, of_asked = 7 * 256 + 4 * 128 + 4 * 8 + 256 + 128;
  const double tokens = 5 * 18, asked = 5 * 9, ends = (2 * tokens + asked) * 256;
  // By parameter 42 bytes and each slice's reading of rounded weights; what slices add, or have scaled, is written and read.
  const double slices = GetParam()->slices, parts = slices > 1 || GetParam()->share < 1 ? 8 * slices : 0;
  EXPECT_DOUBLE_EQ(engine->TakeBytes(), 4 * (tokens * (first + last) + asked * of_asked + ends +
                                             (42 + 6 * slices + parts) * static_cast<double>(engine->model().layout().stride())));

  PackState expected = ScatteredState(engine->model(), 2);
  expected.members[0].live = false;
  EXPECT_TRUE(state.parameters.equal(Train(settings, std::move(expected), {1e-3, 3e-4}, {2}, *GetParam()).state.parameters));
}

TEST_P(ResidentWaysTest, LeavesAMemberThatDivergesAndThoseThatAreNotLive) {
  const PackSettings settings = Settings({"none"}, "reverse_string", 9, 5);
  const std::unique_ptr<StepEngine> engine = Emulated(settings, *GetParam());
  PackState state = ScatteredState(engine->model(), 3);
  state.members[0].live = false;
  state.parameters[1].narrow(0, engine->model().layout().Find("out.b")->offset, 1).fill_(std::nanf(""));
  const Tensor before = state.parameters.clone();

  const Trained trained = Train(settings, std::move(state), {1e-3, 1e-3, 1e-3}, {2, 1}, *GetParam());

  EXPECT_FALSE(trained.state.members[0].diverged);
  EXPECT_TRUE(trained.state.members[1].diverged);
  EXPECT_EQ(trained.state.members[1].diverged_at, 0);
  EXPECT_TRUE(trained.state.members[2].live);
  EXPECT_TRUE(trained.state.parameters[0].equal(before[0]));
  EXPECT_TRUE(trained.state.parameters[1].nan_to_num(7).equal(before[1].nan_to_num(7)));
  EXPECT_FALSE(trained.state.parameters[2].equal(before[2]));
  EXPECT_EQ(trained.results[0][0].loss, 0);
  EXPECT_EQ(trained.state.step, 3);
}

// Where the loss is finite, the norm tells: by the squares of one piece of the gradient.
TEST_P(ResidentWaysTest, LeavesAMemberWhoseGradientAloneIsNotFinite) {
  const PackSettings settings = Settings({"none"}, "reverse_string", 9, 5);
  const std::unique_ptr<StepEngine> engine = Emulated(settings, *GetParam());
  PackState state = ScatteredState(engine->model(), 2);
  const Tensor before = state.parameters.clone();
  const std::vector<double> losses = engine->Gradients(BatchOf(settings, *engine), state);
  const Parameter& last = *engine->model().layout().Find("layer1.ffn2.w");
  Tensor(engine->gradients())[0].narrow(0, last.offset + last.size - 1, 1).fill_(HUGE_VALF);

  const std::vector<StepResult> results = engine->Update(losses, {1e-3, 1e-3}, state);

  EXPECT_TRUE(std::isfinite(results[0].loss));
  EXPECT_TRUE(state.members[0].diverged);
  EXPECT_TRUE(state.parameters[0].equal(before[0]));
  EXPECT_TRUE(state.members[1].live);
  EXPECT_FALSE(state.parameters[1].equal(before[1]));
}

TEST(ResidentEngineTest, LearnsWhatItCanLearnByHeart) {
  PackSettings settings = Settings({"sin_cos"}, "even_pairs", 6, 16);
  settings.model.dropout = 0;
  const std::unique_ptr<StepEngine> engine = Emulated(settings);
  std::vector<Member> members(1);
  PackState state = InitialState(engine->model().layout(), members);
  std::vector<double> losses;
  engine->Train(
      40, [&](uint64_t) { return BatchOf(settings, *engine, 0); }, {1e-3}, state,
      [&](const std::vector<StepResult>& results) { losses.push_back(results[0].loss); });
  EXPECT_LT(losses.back(), 0.5 * losses.front());
}

TEST(ResidentEngineTest, SaysWhatItLeavesToLibtorch) {
  const auto why_not = [](PackSettings settings) { return WhyNotResident(settings); };
  EXPECT_EQ(why_not(Settings({"log_kerple", true})), "");
  EXPECT_EQ(why_not(Settings({"relative"})), "encoding relative");
  EXPECT_EQ(why_not(Settings({"learned"})), "encoding learned");
  EXPECT_EQ(why_not(Settings({"t5"})), "encoding t5");
  EXPECT_EQ(why_not(Settings({"fire"})), "encoding fire");
  EXPECT_THAT(why_not(Settings({"none"}, "duplicate_string", 50)), ::testing::HasSubstr("a tape of 150 tokens"));
  PackSettings by_position = Settings({"alibi", true});
  by_position.positions.randomized_by = PackSettings::Positions::RandomizedBy::kPosition;
  EXPECT_THAT(why_not(by_position), ::testing::HasSubstr("randomized_by"));
  PackSettings narrow = Settings({"none"});
  narrow.model.embedding_dim = 32;
  EXPECT_THAT(why_not(narrow), ::testing::HasSubstr("model.embedding_dim 32"));

  std::string log;
  const std::unique_ptr<StepEngine> engine =
      MakeEngine(Settings({"relative"}), {.threads = 1, .engine = "emulated"}, [&](const std::string& line) { log += line; });
  EXPECT_EQ(engine->Name(), "libtorch");
  EXPECT_THAT(log, ::testing::HasSubstr("encoding relative"));
}

TEST(ResidentEngineTest, TrainsWithEachEncodingOfTheCatalogThatItDoesNotLeaveToLibtorch) {
  int trained = 0;
  for (const catalog::Encoding& encoding : catalog::Encodings()) {
    const PackSettings settings = Settings({std::string(encoding.name)}, "even_pairs", 6, 4);
    if (!WhyNotResident(settings).empty()) continue;
    SCOPED_TRACE(encoding.name);
    const std::unique_ptr<StepEngine> engine = Emulated(settings);
    std::vector<Member> members(1);
    PackState state = InitialState(engine->model().layout(), members);
    std::vector<double> losses;
    engine->Train(
        1, [&](uint64_t) { return BatchOf(settings, *engine, 0); }, {1e-3}, state,
        [&](const std::vector<StepResult>& results) { losses.push_back(results[0].loss); });
    ASSERT_EQ(losses.size(), 1u);
    EXPECT_TRUE(std::isfinite(losses[0]));
    ++trained;
  }
  EXPECT_GE(trained, 7);
}

TEST(ResidentEngineTest, NeedsAGpu) {
  EXPECT_THAT([] { Emulated(Settings({"none"})); }, ::testing::Not(::testing::Throws<std::exception>()));
  EXPECT_THAT([] { MakeNamed(Settings({"none"}), "resident"); }, ::testing::Throws<std::exception>());
}

}  // namespace

}  // namespace longreach::trainer
