// Algorithmic tasks for a decoder (model.causal): its tape, what its outputs may depend on, and what its tests count.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/catalog/catalog.h"
#include "tests/worker/trainer/lanes_fixture.h"
#include "worker/trainer/model/model.h"

namespace longreach::trainer {

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CausalTest : public PackTest {
 protected:
  static PackSettings Decoder(const std::string& task, const std::string& encoding, bool randomized = false) {
    PackSettings settings = SmallSettings(task, encoding, randomized);
    settings.model.causal = true;
    return settings;
  }
};

TEST_F(CausalTest, TheTapeIsTheInputABeginTokenAndTheOutputsButTheLast) {
  const PackSettings settings = Decoder("reverse_string", "none");

  const Batch batch = TestBatch(settings, PositionUse::kNothing, 3);

  ASSERT_EQ(batch.tape, 6);
  ASSERT_EQ(batch.outputs, 3);
  for (int64_t b = 0; b < batch.size; ++b) {
    const uint16_t* const tokens = &batch.tokens[static_cast<size_t>(b * 6)];
    const uint16_t* const targets = &batch.targets[static_cast<size_t>(b * 3)];
    EXPECT_EQ(targets[0], tokens[2]);  // It is the task: the last letter first.
    EXPECT_EQ(tokens[3], 4) << "two letters and two outputs are read, then comes the begin token";
    EXPECT_EQ(tokens[4], 2 + targets[0]);
    EXPECT_EQ(tokens[5], 2 + targets[1]);
  }
}

TEST_F(CausalTest, HasTheSequencesOfTheEncoder) {
  PackSettings settings = Decoder("stack_manipulation", "none");
  const Batch decoder = TrainingBatch(settings, PositionUse::kNothing, 5);
  settings.model.causal = false;
  const Batch encoder = TrainingBatch(settings, PositionUse::kNothing, 5);

  EXPECT_EQ(decoder.targets, encoder.targets);
  EXPECT_EQ(decoder.valid, encoder.valid);
  ASSERT_EQ(decoder.tape, encoder.tape);
  for (int64_t b = 0; b < decoder.size; ++b) {
    for (int64_t t = 0; t < decoder.tape - decoder.outputs; ++t) {
      const size_t i = static_cast<size_t>(b * decoder.tape + t);
      EXPECT_EQ(decoder.tokens[i], encoder.tokens[i]);
    }
  }
}

// For each encoding and engine: whatever stands behind a token, its output stays the same to the bit.
class CausalEngineTest : public CausalTest, public ::testing::WithParamInterface<std::string> {};

TEST_P(CausalEngineTest, NoOutputDependsOnWhatComesBehindIt) {
  for (const catalog::Encoding& encoding : catalog::Encodings()) {
    for (const bool randomized : {false, true}) {
      if (randomized && (encoding.positions & catalog::kRandomized) == 0) continue;
      const PackSettings settings = Decoder("reverse_string", std::string(encoding.name), randomized);
      const std::unique_ptr<StepEngine> engine = MakeNamed(settings, GetParam());
      ASSERT_EQ(engine->Name(), GetParam()) << encoding.name;
      PackState state = ScatteredState(engine->model(), 1);
      Batch batch = TestBatch(settings, engine->model().encoding().Use(), 5);
      const Tensor before = engine->Logits(batch, state).view({batch.size, batch.outputs, -1});

      // The second output that is read: what is behind it are outputs 2, 3 and 4.
      for (int64_t b = 0; b < batch.size; ++b) {
        uint16_t& token = batch.tokens[static_cast<size_t>(b * batch.tape + 5 + 2)];
        token = token == 2 ? 3 : 2;
      }
      const Tensor after = engine->Logits(batch, state).view({batch.size, batch.outputs, -1});

      EXPECT_TRUE(at::equal(before.narrow(1, 0, 2), after.narrow(1, 0, 2))) << encoding.name;
      EXPECT_FALSE(at::allclose(before.narrow(1, 2, 3), after.narrow(1, 2, 3))) << encoding.name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Engines, CausalEngineTest, ::testing::ValuesIn(EngineNames()), [](const auto& each) {
  std::string name = each.param;
  std::ranges::replace(name, '-', '_');
  return name;
});

// What exact_match promises: it is the share of sequences that the decoder writes by itself, taking its own most likely token each time.
TEST_F(CausalTest, SequencesWithoutAMistakeAreThoseThatItWouldWriteByItself) {
  PackSettings settings = Decoder("reverse_string", "rope");
  settings.training.lengths = {1, 2, 3};
  settings.evaluation.examples = 200;
  const std::unique_ptr<StepEngine> engine = MakeNamed(settings, "libtorch");
  PackState state = InitialState(engine->model().layout(), {Member{}});
  const PositionUse use = engine->model().encoding().Use();
  const Batch batch = TestBatch(settings, use, 3);
  // Until it gets some of them right and not yet all: one that makes no mistake, or nothing else, would tell nothing.
  TestResult tested;
  for (uint64_t step = 0; step < 400 && (tested.exact < batch.size / 4 || tested.exact == batch.size); ++step) {
    engine->Update(engine->Gradients(TrainingBatch(settings, use, step), state), {3e-3}, state);
    tested = engine->Evaluate(batch, state, [] {})[0];
  }
  ASSERT_GE(tested.exact, batch.size / 4);
  ASSERT_LT(tested.exact, batch.size);

  Batch written = batch;
  for (int64_t o = 0; o < batch.outputs; ++o) {
    const Tensor best = engine->Logits(written, state).argmax(-1).view({batch.size, batch.outputs}).contiguous();
    for (int64_t b = 0; b < batch.size; ++b) {
      const uint16_t output = static_cast<uint16_t>(best.const_data_ptr<int64_t>()[b * batch.outputs + o]);
      written.targets[static_cast<size_t>(b * batch.outputs + o)] = output;
      if (o + 1 < batch.outputs) written.tokens[static_cast<size_t>((b + 1) * batch.tape - batch.outputs + o + 1)] = static_cast<uint16_t>(2 + output);
    }
  }
  int64_t right = 0;
  for (int64_t b = 0; b < batch.size; ++b) {
    const auto first = static_cast<std::ptrdiff_t>(b * batch.outputs);
    right += std::equal(batch.targets.begin() + first, batch.targets.begin() + first + batch.outputs, written.targets.begin() + first);
  }
  EXPECT_EQ(tested.exact, right);
}

TEST_F(CausalTest, MeasuresExactMatchAtEachLengthAndOverAll) {
  const PackRequest request = Request(Decoder("bucket_sort", "alibi"), 2, "a");
  RecordingObserver observer;

  const absl::StatusOr<PackResult> result = Train(request, observer);

  ASSERT_TRUE(result.ok()) << result.status();
  for (const MemberResult& member : result->results) {
    std::vector<std::string> metrics;
    for (const Measurement& one : member.measurements) {
      if (one.length == 0) metrics.push_back(one.metric);
    }
    EXPECT_THAT(metrics, ElementsAre("accuracy", "exact_match", "loss"));
    ASSERT_EQ(member.measurements.size(), 12u);
    // No sequence without a mistake has a wrong output.
    for (size_t i = 0; i < 4; ++i) EXPECT_LE(member.measurements[4 + i].value, member.measurements[i].value);
  }
}

TEST_F(CausalTest, GoesOnFromACheckpointBetweenTestsToTheSameBits) {
  const PackSettings settings = Decoder("reverse_string", "log_kerple", true);
  RecordingObserver undisturbed;
  const absl::StatusOr<PackResult> whole = Train(Request(settings, 2, "whole"), undisturbed);
  ASSERT_TRUE(whole.ok()) << whole.status();

  PackRequest request = Request(settings, 2, "parts");
  RecordingObserver first;
  first.wish = [](const Progress& progress) { return Observer::Wish{.stop = progress.lengths_done == 2, .dropped = {}}; };
  ASSERT_TRUE(Train(request, first)->stopped);
  ASSERT_FALSE(first.checkpoints.empty());
  for (int m = 0; m < 2; ++m) request.members[static_cast<size_t>(m)].checkpoints = {{.file = first.checkpoints.back(), .member = m}};
  RecordingObserver second;
  const absl::StatusOr<PackResult> rest = Train(request, second);

  ASSERT_TRUE(rest.ok()) << rest.status();
  EXPECT_TRUE(second.points.empty()) << "nothing is trained again";
  for (size_t m = 0; m < 2; ++m) {
    ASSERT_EQ(rest->results[m].measurements.size(), whole->results[m].measurements.size());
    for (size_t i = 0; i < rest->results[m].measurements.size(); ++i) {
      EXPECT_EQ(rest->results[m].measurements[i].metric, whole->results[m].measurements[i].metric);
      EXPECT_EQ(rest->results[m].measurements[i].value, whole->results[m].measurements[i].value);
    }
  }
}

TEST_F(CausalTest, ACheckpointOfAnEncoderIsNotGoneOnFrom) {
  PackSettings settings = SmallSettings("even_pairs", "none", false);
  PackRequest encoder = Request(settings, 1, "encoder");
  RecordingObserver observer;
  observer.wish = [](const Progress& progress) { return Observer::Wish{.stop = progress.step == 6, .dropped = {}}; };
  ASSERT_TRUE(Train(encoder, observer)->stopped);

  settings.model.causal = true;
  PackRequest decoder = Request(settings, 1, "decoder");
  decoder.members[0].checkpoints = {{.file = observer.checkpoints.back(), .member = 0}};
  RecordingObserver anew;
  ASSERT_TRUE(Train(decoder, anew).ok());
  EXPECT_EQ(anew.points.size(), 12u);
}

// The kernels for GPUs know encoders alone: a decoder that they took for an encoder would be another model.
TEST_F(CausalTest, KernelsForGpusLeaveItToLibtorchAndSaySo) {
  PackSettings settings = Decoder("even_pairs", "rope");
  settings.model = {};
  settings.model.causal = true;
  for (const std::string& name : {std::string("emulated"), std::string("emulated-spread-fp16")}) {
    std::string line;
    const std::unique_ptr<StepEngine> engine = MakeEngine(settings, {.threads = 1, .engine = name}, [&](const std::string& said) { line += said; });
    EXPECT_EQ(engine->Name(), "libtorch");
    EXPECT_THAT(line, HasSubstr("model.causal"));
  }
}

TEST_F(CausalTest, WhatTellsTheTwoSidesApartIsRefused) {
  PackSettings settings = Decoder("even_pairs", "log_kerple");
  settings.model.break_symmetry = true;
  EXPECT_THAT(std::string(Validate(settings).message()), HasSubstr("model.break_symmetry: true tells the two sides apart"));
  PackSettings language = settings;
  language.experiment = "language";
  language.task = "enwik8";
  language.data = "enwik8";
  language.model.break_symmetry = false;
  EXPECT_THAT(std::string(Validate(language).message()), HasSubstr("model.causal: true"));
}

}  // namespace

}  // namespace longreach::trainer
