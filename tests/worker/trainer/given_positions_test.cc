// Positions that pairs of sequences bring with them (positions.data_rows): which each token is given, and what their trained rows do in both engines for CPUs.
#include <gmock/gmock.h>

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/worker/trainer/lanes_fixture.h"
#include "tests/worker/trainer/pairs_fixture.h"
#include "worker/trainer/model/encoder.h"
#include "worker/trainer/problems/kinds.h"
#include "worker/trainer/problems/problem.h"

namespace longreach::trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class GivenPositionsTest : public PairsTest {
 protected:
  void SetUp() override {
    PairsTest::SetUp();
    ImportReversedWithPositions();
  }
  static PackSettings Settings(const std::string& encoding, bool randomized = false, int shift = 0) {
    PackSettings settings = PairsTest::Settings("reversed", encoding, randomized);
    settings.positions.data_rows = 20;
    settings.positions.data_shift = shift;
    return settings;
  }
};

std::vector<int64_t> GivenTo(const Batch& batch, int64_t row) {
  const int64_t* const given = batch.positions.given.const_data_ptr<int64_t>() + row * batch.tape;
  return {given, given + batch.tape};
}

TEST_F(GivenPositionsTest, ATestHasThemAsTheyWereImported) {
  const auto& [settings, problem] = Resolved(Settings("none", false, 5));
  const Batch batch = problem->TestBatch(PositionUse::kNothing, 8, 0);
  ASSERT_EQ(batch.size, 50);
  for (const int64_t row : {0, 49}) EXPECT_THAT(GivenTo(batch, row), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 8, 7, 6, 5, 4, 3, 2, 1));
  PackSettings without = Settings("none");
  without.positions.data_rows = 0;
  EXPECT_FALSE(Resolved(without).second->TestBatch(PositionUse::kNothing, 8, 0).positions.given.defined());
}

TEST_F(GivenPositionsTest, TrainingMovesEachSequenceByADrawOfItsOwn) {
  const auto& [settings, problem] = Resolved(Settings("none", false, 5));
  std::set<int64_t> shifts;
  bool differ = false;
  for (uint64_t step = 0; step < 20; ++step) {
    const Batch batch = problem->TrainingBatch(PositionUse::kNothing, step);
    const int64_t first = GivenTo(batch, 0)[0];
    for (int64_t row = 0; row < batch.size; ++row) {
      const std::vector<int64_t> given = GivenTo(batch, row);
      const int64_t shift = given[0] - 1;
      shifts.insert(shift);
      differ |= given[0] != first;
      for (int64_t t = 0; t < batch.outputs; ++t) {
        EXPECT_EQ(given[static_cast<size_t>(t)], t + 1 + shift);
        EXPECT_EQ(given[static_cast<size_t>(batch.outputs + t)], batch.outputs - t + shift);
      }
    }
  }
  EXPECT_THAT(shifts, ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_TRUE(differ) << "within a batch";
}

// With an end, which was given a position, and behind it a tape that goes on; and tokens that are nowhere.
TEST_F(GivenPositionsTest, WhatIsBehindAnOutputIsWhereItsEndIsAndZeroStaysZero) {
  ImportTexts("ends", "{\"input\": \"ab\", \"output\": \"x\", \"positions\": [3, 0, 4, 9]}\n{\"input\": \"ba\", \"output\": \"xyx\", \"positions\": [3, 0, 4, 5, 6]}\n",
              "{\"input\": \"ab\", \"output\": \"x\", \"positions\": [3, 0, 4, 9]}\n{\"input\": \"bb\", \"output\": \"yx\", \"positions\": [1, 2, 3, 4]}\n");
  PackSettings wanted = Settings("none", false, 2);
  wanted.data = "ends";
  wanted.training.lengths = wanted.evaluation.lengths = {2};
  const auto& [settings, problem] = Resolved(wanted);
  const Batch test = problem->TestBatch(PositionUse::kNothing, 2, 0);
  EXPECT_THAT(GivenTo(test, 0), ElementsAre(3, 0, 4, 9, 9, 9));
  EXPECT_THAT(GivenTo(test, 1), ElementsAre(1, 2, 3, 4, 0, 0));
  const Batch training = problem->TrainingBatch(PositionUse::kNothing, 3);
  for (int64_t row = 0; row < training.size; ++row) {
    const std::vector<int64_t> given = GivenTo(training, row);
    const int64_t shift = given[0] - 3;
    EXPECT_EQ(given[1], 0);
    if (training.valid[static_cast<size_t>(row)] == 2) {
      EXPECT_THAT(given, ElementsAre(3 + shift, 0, 4 + shift, 9 + shift, 9 + shift, 9 + shift));
    } else {
      EXPECT_THAT(given, ElementsAre(3 + shift, 0, 4 + shift, 5 + shift, 6 + shift, 0));
    }
  }
}

// A model without any other positions, whose rows are all alike, is one without positions; and rows that differ tell them apart.
TEST_F(GivenPositionsTest, AnEngineAddsTheRowOfEachTokensPosition) {
  const auto& [settings, problem] = Resolved(Settings("none"));
  const Batch batch = problem->TestBatch(PositionUse::kNothing, 8, 0);
  for (const std::string& name : EngineNames()) {
    SCOPED_TRACE(name);
    const std::unique_ptr<StepEngine> engine = MakeNamed(settings, name);
    ASSERT_EQ(engine->Name(), name);
    PackState state = ScatteredState(engine->model(), 1);
    const Parameter& table = *engine->model().layout().Find(std::string(kGivenTable));
    EXPECT_THAT(table.shape, ElementsAre(20, 32));
    const Tensor before = engine->Logits(batch, state).clone();
    // Of a position that no token has.
    state.parameters[0].narrow(0, table.offset + 9 * 32, 11 * 32).add_(1);
    EXPECT_TRUE(engine->Logits(batch, state).equal(before));
    state.parameters[0].narrow(0, table.offset + 8 * 32, 32).add_(1);
    EXPECT_GT(RelativeError(engine->Logits(batch, state), before), 1e-2);
  }
}

TEST_F(GivenPositionsTest, BothEnginesForCpusHaveTheSameLossAndGradients) {
  for (const auto& [encoding, randomized] : {std::pair("none", false), std::pair("sin_cos", true), std::pair("learned", false), std::pair("fire", false), std::pair("rope", true)}) {
    for (const bool causal : {false, true}) {
      SCOPED_TRACE(std::string(encoding) + (causal ? " causal" : ""));
      PackSettings wanted = Settings(encoding, randomized, 4);
      wanted.model.causal = causal;
      wanted.model.norm = causal ? PackSettings::Model::Norm::kPre : PackSettings::Model::Norm::kPost;
      const auto& [settings, problem] = Resolved(wanted);
      const std::unique_ptr<StepEngine> reference = MakeNamed(settings, "libtorch");
      PackState state = ScatteredState(reference->model(), 2);
      const PositionUse use = reference->model().encoding().Use();
      const Batch batch = problem->TrainingBatch(use, 1), test = problem->TestBatch(use, 13, 0);
      const std::vector<double> losses = reference->Gradients(batch, state);
      const Tensor gradients = reference->gradients().clone();
      const std::vector<TestResult> scores = reference->Evaluate(test, state, [] {});
      for (const std::string& name : LanesNames()) {
        if (name.find("bf16") != std::string::npos || name.find("tf32") != std::string::npos) continue;
        SCOPED_TRACE(name);
        const std::unique_ptr<StepEngine> engine = MakeNamed(settings, name);
        ASSERT_EQ(engine->Name(), name);
        const std::vector<double> own = engine->Gradients(batch, state);
        const std::vector<TestResult> tested = engine->Evaluate(test, state, [] {});
        for (size_t m = 0; m < own.size(); ++m) {
          EXPECT_NEAR(own[m], losses[m], 1e-5);
          EXPECT_NEAR(tested[m].loss, scores[m].loss, 1e-4);
        }
        const Parameter& table = *engine->model().layout().Find(std::string(kGivenTable));
        EXPECT_LT(RelativeError(engine->gradients(), gradients), 1e-4);
        EXPECT_LT(RelativeError(engine->gradients().narrow(1, table.offset, table.size), gradients.narrow(1, table.offset, table.size)), 1e-4);
      }
    }
  }
}

TEST_F(GivenPositionsTest, AreTheSameInAPackOnAnyThreadsAndResumed) {
  for (const char* engine : {"libtorch", "lanes"}) {
    PackSettings settings = Settings("alibi", false, 6);
    settings.model.causal = true;
    settings.training.steps = 5;
    PackRequest pack = RequestOf(settings, 3, std::string(engine) + "_pack");
    pack.engine = engine;
    const PackResult of_pack = Run(pack);
    const MemberResult resumed = StoppedAndGoneOn(pack, 2, engine);
    ASSERT_FALSE(resumed.measurements.empty());
    ExpectSameMeasurements(of_pack.results[2], resumed);
  }
}

// Nothing else tells this encoder where a letter is.
TEST_F(GivenPositionsTest, AModelLearnsByThem) {
  const auto exact_match = [&](int rows) {
    PackSettings settings = Settings("none");
    settings.positions.data_rows = rows;
    settings.model.dropout = 0;
    settings.training.steps = 400;
    settings.training.lengths = {3, 4};
    settings.evaluation.lengths = {4};
    settings.training.batch_size = 64;
    ImportTexts("short" + std::to_string(rows), WithPositions(PairsOver("abc", {3, 4}, 200, Reversed)), WithPositions(PairsOver("abc", {4}, 50, Reversed)));
    settings.data = "short" + std::to_string(rows);
    return ValueOf(Run(RequestOf(settings, 1, "learns" + std::to_string(rows))).results.at(0), "exact_match", 4);
  };
  EXPECT_GT(exact_match(9), 0.9);
  EXPECT_LT(exact_match(0), 0.5);
}

TEST_F(GivenPositionsTest, WhatIsRefused) {
  const auto refusal = [&](const PackSettings& settings) { return std::string(CheckDataSets(settings, Here()).message()); };
  EXPECT_EQ(refusal(Settings("rope", false, 6)), "");
  PackSettings settings = Settings("rope", false, 13);
  EXPECT_EQ(refusal(settings), "positions.data_rows: 20: pairs of length 7 of 'reversed' have positions up to 7, which training moves up by as much as 13; set at least 21");
  settings.positions.data_shift = 0;
  settings.positions.data_rows = 13;
  EXPECT_EQ(refusal(settings), "positions.data_rows: 13: pairs of length 13 of 'reversed' have positions up to 13; set at least 14");
  settings.evaluation.lengths = {8, 9};
  EXPECT_EQ(refusal(settings), "");
  Import("plain", PairsOver("abc", {1, 2, 3, 4, 5, 6, 7}, 5, Reversed), PairsOver("abc", {8, 9, 13}, 5, Reversed));
  settings = Settings("rope");
  settings.data = "plain";
  EXPECT_EQ(refusal(settings), "positions.data_rows: 20: the pairs of 'plain' have no positions; import some that have, or leave it out");
  settings = SmallSettings("reverse_string", "rope", false);
  settings.positions.data_rows = 20;
  EXPECT_THAT(std::string(Validate(settings).message()), HasSubstr("positions.data_rows: 20 is for experiment 'sequences', whose data may have positions, not for 'algorithmic'"));
}

}  // namespace
}  // namespace longreach::trainer
