// A user's own task: pairs of sequences out of a data set, as batches, and trained by both engines for CPUs.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/worker/trainer/lanes_fixture.h"
#include "tests/worker/trainer/pairs_fixture.h"
#include "worker/data/pair_set.h"
#include "worker/trainer/engine/batch.h"
#include "worker/trainer/pair_shape.h"
#include "worker/trainer/problems/kinds.h"
#include "worker/trainer/problems/problem.h"
#include "worker/trainer/problems/sequences.h"

namespace longreach::trainer {
namespace {

class SequencesTest : public PairsTest {
 protected:
  data::PairSet Open(const std::string& name) const { return *data::PairSet::Open(Folder("data"), name, ""); }
};

// What a row of a batch says, in symbols: the input, and the outputs that count; "$" for an end.
std::pair<std::string, std::string> RowOf(const Batch& batch, const data::PairSet& set, int64_t row) {
  std::pair<std::string, std::string> text;
  for (int64_t t = 0; t < batch.tape - batch.outputs; ++t) text.first += set.input_symbols().at(batch.tokens[static_cast<size_t>(row * batch.tape + t)]);
  for (int64_t o = 0; o < batch.valid[static_cast<size_t>(row)]; ++o) {
    const size_t target = batch.targets[static_cast<size_t>(row * batch.outputs + o)];
    text.second += target == set.output_symbols().size() ? "$" : set.output_symbols().at(target);
  }
  return text;
}

TEST_F(SequencesTest, ATrainingBatchHasTrainingPairsOfOneLength) {
  ImportReversed();
  const auto& [settings, problem] = Resolved(Settings("reversed", "none"));
  const data::PairSet set = Open("reversed");
  const Lines train = PairsOver("abc", {1, 2, 3, 4, 5, 6, 7}, 40, Reversed);
  const std::set<std::pair<std::string, std::string>> known(train.begin(), train.end());
  std::set<int64_t> tapes;
  std::set<std::pair<std::string, std::string>> seen;
  for (uint64_t step = 0; step < 60; ++step) {
    const Batch batch = problem->TrainingBatch(PositionUse::kNothing, step);
    ASSERT_EQ(batch.size, settings.training.batch_size);
    EXPECT_EQ(batch.tape, 2 * batch.outputs);
    EXPECT_EQ(batch.tape, TapeOf(settings, static_cast<int>(batch.outputs)));
    tapes.insert(batch.tape);
    for (int64_t b = 0; b < batch.size; ++b) {
      seen.insert(RowOf(batch, set, b));
      for (int64_t t = batch.outputs; t < batch.tape; ++t) EXPECT_EQ(batch.tokens[static_cast<size_t>(b * batch.tape + t)], 3) << "the empty output's id";
    }
  }
  EXPECT_THAT(tapes, ::testing::ElementsAre(2, 4, 6, 8, 10, 12, 14));
  for (const auto& pair : seen) EXPECT_TRUE(known.contains(pair)) << pair.first << " " << pair.second;
  EXPECT_GT(seen.size(), known.size() * 9 / 10) << "drawn from all of them";
}

TEST_F(SequencesTest, ATestHasEachTestPairOnceOrOneOfEachOfAsManyParts) {
  ImportReversed();
  const data::PairSet set = Open("reversed");
  Lines all = PairsOver("abc", {8, 9, 13}, 50, Reversed);
  const Lines wanted(all.begin() + 50, all.begin() + 100);  // Of length 9.
  const auto tested = [&](int examples) {
    PackSettings settings = Settings("reversed", "none");
    settings.evaluation.examples = examples;
    const auto& [resolved, problem] = Resolved(settings);
    Lines rows;
    for (int part = 0; part < problem->TestParts(9); ++part) {
      const Batch batch = problem->TestBatch(PositionUse::kNothing, 9, part);
      for (int64_t b = 0; b < batch.size; ++b) rows.push_back(RowOf(batch, set, b));
    }
    return rows;
  };
  EXPECT_EQ(tested(0), wanted);
  EXPECT_EQ(tested(500), wanted);
  const Lines some = tested(10);
  ASSERT_EQ(some.size(), 10u);
  for (size_t i = 0; i < some.size(); ++i) {
    const Lines part(wanted.begin() + static_cast<ptrdiff_t>(5 * i), wanted.begin() + static_cast<ptrdiff_t>(5 * i + 5));
    EXPECT_NE(std::ranges::find(part, some[i]), part.end()) << i;
  }
  EXPECT_EQ(tested(10), some) << "the same for all jobs";
}

TEST_F(SequencesTest, WhereOutputsDifferInLengthEachHasAnEndThatCounts) {
  ImportRuns();
  const data::PairSet set = Open("runs");
  ASSERT_TRUE(set.has_ends());
  PackSettings wanted = Settings("runs", "none");
  wanted.training.lengths = {1, 2, 3, 4, 5};
  wanted.evaluation.lengths = {4, 6};
  const auto& [settings, problem] = Resolved(wanted);
  EXPECT_EQ(settings.model.pairs->Classes(), 3);
  const Batch batch = problem->TestBatch(PositionUse::kNothing, 6, 0);
  for (int64_t b = 0; b < batch.size; ++b) {
    const auto [input, output] = RowOf(batch, set, b);
    EXPECT_EQ(output, input.substr(0, std::min(input.find_first_not_of(input[0]), input.size())) + "$");
    for (int64_t o = batch.valid[static_cast<size_t>(b)]; o < batch.outputs; ++o) EXPECT_EQ(batch.targets[static_cast<size_t>(b * batch.outputs + o)], 2);
  }
  // A length has the same tape in training and in tests.
  EXPECT_EQ(problem->TestBatch(PositionUse::kNothing, 4, 0).tape, TapeOf(settings, 4));
}

TEST_F(SequencesTest, ADecoderReadsTheTrueOutputsBehindABegin) {
  ImportReversed();
  PackSettings wanted = Settings("reversed", "none");
  wanted.model.causal = true;
  const auto& [settings, problem] = Resolved(wanted);
  const Batch batch = problem->TestBatch(PositionUse::kNothing, 8, 0);
  for (int64_t b = 0; b < batch.size; ++b) {
    const uint16_t* const outputs = &batch.tokens[static_cast<size_t>(b * batch.tape + 8)];
    EXPECT_EQ(outputs[0], 6) << "behind three symbols of inputs and three of outputs";
    for (int64_t o = 1; o < 8; ++o) EXPECT_EQ(outputs[o], 3 + batch.targets[static_cast<size_t>(b * 8 + o - 1)]);
  }
}

TEST_F(SequencesTest, AreTheSameInAPackOnAnyThreadsAndResumed) {
  ImportReversed();
  ImportRuns();
  for (const bool causal : {false, true}) {
    for (const auto& [data, encoding, randomized] : {std::tuple("reversed", "none", false), std::tuple("reversed", "rope", true), std::tuple("runs", "log_kerple", true),
                                                      std::tuple("runs", "relative", false), std::tuple("reversed", "fire", false)}) {
      const std::string name = std::string(data) + encoding + (causal ? "_causal" : "");
      SCOPED_TRACE(name);
      PackSettings settings = Settings(data, encoding, randomized);
      settings.model.causal = causal;
      settings.training.steps = 5;
      if (settings.data == "runs") {
        settings.training.lengths = {1, 2, 3, 4, 5};
        settings.evaluation.lengths = {4, 6};
      }
      const PackRequest pack = RequestOf(settings, 3, name + "_pack");
      const PackResult of_pack = Run(pack);
      ASSERT_EQ(of_pack.results.size(), 3u);
      EXPECT_THAT(of_pack.engine, ::testing::StartsWith("lanes-"));

      const MemberResult resumed = StoppedAndGoneOn(pack, 2, name);
      ASSERT_FALSE(resumed.measurements.empty());
      ExpectSameMeasurements(of_pack.results[2], resumed);
    }
  }
}

// More symbols than the kernels' first layer has a row for, and outputs that end.
TEST_F(SequencesTest, BothEnginesForCpusHaveTheSameLossAndGradients) {
  std::string alphabet;
  for (char c = '!'; c <= 'z'; ++c) alphabet += c;
  const auto first_three = [](const std::string& input) { return input.substr(0, input[0] < 'A' ? 1 : 3); };
  Import("many", PairsOver(alphabet, {6, 9}, 60, first_three), PairsOver(alphabet, {12}, 30, first_three));
  for (const bool causal : {false, true}) {
    PackSettings wanted = Settings("many", "alibi", true);
    wanted.model.causal = causal;
    wanted.training.lengths = {6, 9};
    wanted.evaluation.lengths = {12};
    const auto& [settings, problem] = Resolved(wanted);
    const std::unique_ptr<StepEngine> reference = MakeNamed(settings, "libtorch");
    PackState state = ScatteredState(reference->model(), 2);
    const Batch batch = problem->TrainingBatch(reference->model().encoding().Use(), 1);
    const std::vector<double> losses = reference->Gradients(batch, state);
    const Tensor gradients = reference->gradients().clone();
    const Batch test = problem->TestBatch(reference->model().encoding().Use(), 12, 0);
    const std::vector<TestResult> scores = reference->Evaluate(test, state, [] {});
    for (const std::string& name : LanesNames()) {
      SCOPED_TRACE(name);
      if (name.find("bf16") != std::string::npos || name.find("tf32") != std::string::npos) continue;
      const std::unique_ptr<StepEngine> engine = MakeNamed(settings, name);
      const std::vector<double> own = engine->Gradients(batch, state);
      for (size_t m = 0; m < own.size(); ++m) EXPECT_NEAR(own[m], losses[m], 1e-5);
      EXPECT_LT(RelativeError(engine->gradients(), gradients), 1e-4);
      const std::vector<TestResult> tested = engine->Evaluate(test, state, [] {});
      for (size_t m = 0; m < tested.size(); ++m) {
        EXPECT_NEAR(tested[m].loss, scores[m].loss, 1e-4);
        EXPECT_EQ(tested[m].counted, scores[m].counted);
      }
    }
  }
}

TEST_F(SequencesTest, AModelLearnsThem) {
  const auto same = [](const std::string& input) { return input; };
  Import("copies", PairsOver("ab", {1, 2, 3}, 30, same), PairsOver("ab", {3, 4}, 30, same));
  PackSettings settings = Settings("copies", "learned");
  settings.model.dropout = 0;
  settings.training.steps = 400;
  settings.training.lengths = {1, 2, 3};
  settings.evaluation.lengths = {3, 4};
  const PackResult result = Run(RequestOf(settings, 1, "learns"));
  ASSERT_EQ(result.results.size(), 1u);
  const MemberResult& learned = result.results[0];
  EXPECT_GT(ValueOf(learned, "accuracy", 3), 0.95);
  EXPECT_GT(ValueOf(learned, "exact_match", 3), 0.9);
  EXPECT_LE(ValueOf(learned, "exact_match", 4), ValueOf(learned, "accuracy", 4));
}

// As many symbols make weights that fit: with others each would be read as another.
TEST_F(SequencesTest, WeightsOfADataSetWithOtherSymbolsAreRefused) {
  ImportReversed();
  Import("others", PairsOver("xyz", {1, 2, 3, 4, 5, 6, 7}, 40, Reversed), PairsOver("xyz", {8, 9, 13}, 50, Reversed));
  const auto upper = [](const std::string& input) { return std::string(input.size(), 'a').replace(0, 1, "c").replace(input.size() - 1, 1, "b"); };
  Import("same", PairsOver("abc", {2, 3, 4, 5, 6, 7}, 40, upper), PairsOver("abc", {8, 9, 13}, 50, Reversed));
  const PackResult trained = Run(RequestOf(Settings("reversed", "rope"), 2, "trained"));
  const auto go_on = [&](const std::string& data) {
    PackRequest request = RequestOf(Settings(data, "rope"), 1, "on_" + data);
    request.settings.training.lengths = {2, 3};
    request.members[0].weights = MemberFile{trained.weights, 1};
    RecordingObserver observer;
    return Train(request, observer).status();
  };
  EXPECT_TRUE(go_on("same").ok()) << go_on("same");
  const absl::Status refused = go_on("others");
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("were trained on a data set with other symbols than this job's"));
}

// An end is a class of its own, and no symbol.
TEST_F(SequencesTest, WeightsOfOutputsWithEndsDoNotGoOnWithoutAndAreToldSo) {
  ImportReversed();
  const auto shorter = [](const std::string& input) { return input.substr(0, 1 + (input.back() == 'a')) + "abc"; };
  Import("ends", PairsOver("abc", {2, 3, 4, 5, 6, 7}, 40, shorter), PairsOver("abc", {8, 9, 13}, 50, shorter));
  PackSettings settings = Settings("ends", "rope");
  settings.training.lengths = {2, 3};
  const PackResult trained = Run(RequestOf(settings, 1, "trained"));
  PackRequest request = RequestOf(Settings("reversed", "rope"), 1, "goes_on");
  request.members[0].weights = MemberFile{trained.weights, 0};
  RecordingObserver observer;
  const absl::Status refused = Train(request, observer).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("were trained on outputs with ends, and this job's data set has none\n  they go on with a data set whose outputs have ends, too"));
}

TEST_F(SequencesTest, WhatTheDataSetLacksIsRefusedWithTheFieldBeforeAnythingIsTrained) {
  ImportReversed();
  const auto refusal = [&](const PackSettings& settings) {
    RecordingObserver observer;
    const absl::Status of_training = Train(RequestOf(settings, 1, "refused"), observer).status();
    EXPECT_EQ(CheckDataSets(settings, Here()), of_training) << "whatever machine has these bytes";
    EXPECT_TRUE(absl::IsInvalidArgument(of_training)) << of_training;
    return std::string(of_training.message());
  };
  PackSettings settings = Settings("reversed", "rope");
  settings.training.lengths = {3, 8};
  EXPECT_EQ(refusal(settings), "training.lengths: 8: 'reversed' has no training pairs with inputs of that length; it has those of 1..7");
  settings = Settings("reversed", "rope");
  settings.evaluation.lengths = {7, 8};
  EXPECT_EQ(refusal(settings), "evaluation.lengths: 7: 'reversed' has no test pairs with inputs of that length; it has those of 8..9, 13");
  settings = Settings("reversed", "rope", true);
  settings.positions.max_position = 20;
  EXPECT_THAT(refusal(settings), ::testing::StartsWith("evaluation.lengths: 13 takes a tape of 26 positions, more than positions.max_position 20"));
  // The scheduler takes outputs to be of one symbol: how long they are, the data says.
  settings = Settings("reversed", "learned");
  settings.model.learned_rows = 25;
  EXPECT_EQ(refusal(settings), "evaluation.lengths: 13 takes a tape of 26 positions, more than model.learned_rows 25");
  settings = Settings("reversed", "shape");
  settings.positions = {.max_position = 40, .shift_max = 15, .shift_at_test = PackSettings::Positions::ShiftAtTest::kFixed};
  EXPECT_EQ(refusal(settings), "evaluation.lengths: 13 takes a tape of 26 positions, which tests shift by 15, more than positions.max_position 40 from which they are drawn");
  settings.positions.shift_max = 14;
  EXPECT_TRUE(CheckDataSets(settings, Here()).ok());
  settings = Settings("reversed", "learned", true);
  settings.positions.max_position = 64;
  settings.model.learned_rows = 63;
  EXPECT_EQ(Validate(settings).message(), "model.learned_rows: 63 is below positions.max_position 64, up to which positions are drawn");

  settings = Settings("reversed", "rope");
  settings.model.causal = true;
  settings.model.norm = PackSettings::Model::Norm::kPre;
  EXPECT_TRUE(CheckDataSets(settings, Here()).ok());
  PackRequest other = RequestOf(settings, 1, "other");
  other.data.sha256 = std::string(64, '0');
  RecordingObserver observer;
  EXPECT_EQ(Train(other, observer).status().code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace longreach::trainer
