// What a member becomes depends on itself alone: not on threads, its pack, or where it went on.
#include <ostream>

#include "tests/worker/trainer/lanes_fixture.h"
#include "worker/trainer/lanes/lanes_engine.h"
#include "worker/trainer/lanes/runnable.h"

namespace longreach::trainer {

namespace {

struct BitsCase {
  const char* encoding;
  bool pre_norm = false;
};
std::ostream& operator<<(std::ostream& out, const BitsCase& c) { return out << c.encoding << (c.pre_norm ? "_pre_norm" : ""); }

class LanesBitsTest : public ::testing::TestWithParam<BitsCase> {
 protected:
  static PackSettings Settings() {
    PackSettings settings;
    settings.task = "bucket_sort";
    settings.encoding = GetParam().encoding;
    if (GetParam().pre_norm) settings.model.norm = PackSettings::Model::Norm::kPre;
    settings.randomized = settings.encoding != "shape";
    settings.positions.max_position = 128;
    settings.model.learned_rows = 128;
    settings.model.layers = 2;
    settings.training.batch_size = 42;  // Three groups, the last of them not full.
    settings.training.lengths = {1, 2, 5, 9, 14};
    settings.evaluation.examples = 40;
    return settings;
  }

  // All in float32, and the best of each kind of rounded operands.
  static std::vector<std::string> Names() {
    std::vector<std::string> names = LanesNames();
    names.insert(names.end(), {"lanes-tf32", "lanes-bf16"});
    return names;
  }
  // Updates `state` from its step to `last`, with another engine.
  static void Train(const std::string& name, int threads, int last, const std::vector<double>& rates, PackState& state) {
    const PackSettings settings = Settings();
    const std::unique_ptr<StepEngine> engine = MakeNamed(settings, name, threads);
    while (state.step < last) {
      const Batch batch = TrainingBatch(settings, engine->model().encoding().Use(), static_cast<uint64_t>(state.step));
      engine->Update(engine->Gradients(batch, state), rates, state);
    }
  }
  static PackState Start(int members) { return ScatteredState(MakeNamed(Settings(), "libtorch", 1)->model(), members); }
};

TEST_P(LanesBitsTest, DependOnNoThreads) {
  for (const std::string& name : Names()) {
    PackState one = Start(1);
    Train(name, 1, 5, {1e-3}, one);
    for (const int threads : {2, 3}) {
      PackState other = Start(1);
      Train(name, threads, 5, {1e-3}, other);
      EXPECT_TRUE(at::equal(other.parameters, one.parameters)) << name << " with " << threads << " threads";
    }
  }
}

TEST_P(LanesBitsTest, DependOnNoPack) {
  for (const std::string& name : Names()) {
    PackState pack = Start(3);
    PackState alone = Start(3);
    alone.parameters = pack.parameters.narrow(0, 2, 1).clone();
    alone.moment1 = pack.moment1.narrow(0, 2, 1).clone();
    alone.moment2 = pack.moment2.narrow(0, 2, 1).clone();
    alone.members.resize(1);

    Train(name, 2, 5, {1e-3, 2e-3, 3e-3}, pack);
    Train(name, 2, 5, {3e-3}, alone);

    EXPECT_TRUE(at::equal(pack.parameters[2], alone.parameters[0])) << name;
    EXPECT_FALSE(at::equal(pack.parameters[1], alone.parameters[0])) << name;
    const std::unique_ptr<StepEngine> engine = MakeNamed(Settings(), name);
    const Batch batch = TestBatch(Settings(), engine->model().encoding().Use(), 20);
    const TestResult in_pack = engine->Evaluate(batch, pack, [] {})[2];
    EXPECT_EQ(in_pack.loss, engine->Evaluate(batch, alone, [] {})[0].loss) << name;
  }
}

TEST_P(LanesBitsTest, DependOnNoBreakAndNoMemberThatIsLeftOut) {
  for (const std::string& name : Names()) {
    PackState whole = Start(2);
    Train(name, 2, 6, {1e-3, 2e-3}, whole);

    PackState broken = Start(2);
    Train(name, 2, 3, {1e-3, 2e-3}, broken);
    broken.members[0].live = false;
    Train(name, 3, 6, {1e-3, 2e-3}, broken);

    EXPECT_TRUE(at::equal(broken.parameters[1], whole.parameters[1])) << name;
    EXPECT_FALSE(at::equal(broken.parameters[0], whole.parameters[0])) << name;
  }
}

// Few sequences, or what is left of many, go through half registers.
TEST_P(LanesBitsTest, DependOnNoWidthOfTheLastTile) {
  const lanes::Kernels& halving = *RunnableKernels(lanes::Operands::kFloat32).front();
  if (halving.half == nullptr) GTEST_SKIP() << halving.name << " has no kernels of half a register";
  lanes::Kernels whole = halving;
  whole.half = nullptr;
  for (const bool randomized : {false, true}) {
    for (const int batch_size : {1, 7, 8, 9, 24}) {
      PackSettings settings = Settings();
      settings.randomized = randomized && settings.encoding != "shape";
      settings.training.batch_size = batch_size;
      settings.evaluation.examples = batch_size;
      settings.evaluation.dropout = true;
      const std::unique_ptr<StepEngine> halves = MakeLanesEngine(settings, {.threads = 2}, halving), wholes = MakeLanesEngine(settings, {.threads = 2}, whole);
      PackState state = ScatteredState(halves->model(), 2);
      for (uint64_t step = 0; step < 5; ++step) {
        const Batch batch = TrainingBatch(settings, halves->model().encoding().Use(), step);
        EXPECT_EQ(halves->Gradients(batch, state), wholes->Gradients(batch, state)) << batch_size << " sequences, tape " << batch.tape;
        EXPECT_TRUE(at::equal(halves->gradients(), wholes->gradients())) << batch_size << " sequences, tape " << batch.tape;
        EXPECT_TRUE(at::equal(halves->Logits(batch, state), wholes->Logits(batch, state))) << batch_size << " sequences, tape " << batch.tape;
      }
      const Batch test = TestBatch(settings, halves->model().encoding().Use(), 20);
      const std::vector<TestResult> ours = halves->Evaluate(test, state, [] {}), theirs = wholes->Evaluate(test, state, [] {});
      for (size_t m = 0; m < ours.size(); ++m) {
        EXPECT_EQ(ours[m].loss, theirs[m].loss) << batch_size;
        EXPECT_EQ(ours[m].hits, theirs[m].hits) << batch_size;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Encodings, LanesBitsTest,
                         ::testing::Values(BitsCase{"log_kerple"}, BitsCase{"learned"}, BitsCase{"relative"}, BitsCase{"rope"}, BitsCase{"shape"}, BitsCase{"t5"}, BitsCase{"fire"},
                                         BitsCase{"relative", true}, BitsCase{"rope", true}, BitsCase{"shape", true}, BitsCase{"fire", true}));

}  // namespace

}  // namespace longreach::trainer
