// Where a GPU answers, whole jobs of every experiment kind measure there what they measure on the CPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "proto/base/text.h"
#include "tests/worker/trainer/answers_fixture.h"
#include "tests/worker/trainer/data_fixture.h"
#include "tests/worker/trainer/kernels/gpu_fixture.h"
#include "tests/worker/trainer/pairs_fixture.h"
#include "tests/worker/trainer/words_fixture.h"
#include "worker/data/import_longbench.h"

namespace longreach::trainer {

namespace {

// Sums in another order, and what some updates make of that. The output of some tokens may tip.
constexpr double kRelative = 1e-2, kTipped = 0.1;

template <typename Fixture>
class OnGpu : public Fixture {
 protected:
  void SetUp() override {
    LONGREACH_NEEDS_GPU();
    Fixture::SetUp();
  }

  static PackRequest There(PackRequest request) {
    request.cuda = true;
    return request;
  }

  // Runs the job on both, in folders of their own; what the GPU measured.
  PackResult ExpectTheSameThere(PackRequest request, const std::string& name) {
    request.engine = "libtorch";
    request.folder = this->Folder(name + "_here");
    const PackResult here = this->Run(request);
    request.folder = this->Folder(name + "_there");
    PackResult there = this->Run(There(request));
    EXPECT_EQ(there.engine, "libtorch");
    EXPECT_EQ(there.results.size(), here.results.size());
    for (size_t m = 0; m < std::min(here.results.size(), there.results.size()); ++m) ExpectClose(here.results[m], there.results[m]);
    EXPECT_EQ(there.series.size(), here.series.size());
    return there;
  }

 private:
  static void ExpectClose(const MemberResult& here, const MemberResult& there) {
    EXPECT_FALSE(there.diverged);
    ASSERT_EQ(there.measurements.size(), here.measurements.size());
    ASSERT_FALSE(here.measurements.empty());
    for (size_t i = 0; i < here.measurements.size(); ++i) {
      const Measurement &a = here.measurements[i], &b = there.measurements[i];
      SCOPED_TRACE(Text(a.metric, " at ", a.length, " ", a.slice));
      EXPECT_EQ(b.metric, a.metric);
      EXPECT_EQ(b.length, a.length);
      EXPECT_EQ(b.slice, a.slice);
      // Which scale is the best may tip too; the losses by which it is chosen are compared.
      if (a.metric == "best_attention_scale" || a.metric.starts_with("scale_growth")) continue;
      const bool share = a.metric.find("accuracy") != std::string::npos;
      EXPECT_NEAR(b.value, a.value, share ? kTipped : kRelative * std::abs(a.value));
    }
  }
};

using AlgorithmicGpuTest = OnGpu<PackTest>;

TEST_F(AlgorithmicGpuTest, EveryEncodingIsTrainedAndTestedThere) {
  for (const char* const encoding : {"none", "sin_cos", "learned", "shape", "rope", "relative", "alibi", "sandwich", "power_kerple", "log_kerple", "t5", "fire"}) {
    for (const bool randomized : {false, true}) {
      if (randomized && (std::string(encoding) == "none" || std::string(encoding) == "shape")) continue;
      const std::string name = std::string(encoding) + (randomized ? "_randomized" : "");
      SCOPED_TRACE(name);
      PackSettings settings = SmallSettings("reverse_string", encoding, randomized);
      settings.training.steps = 4;
      settings.evaluation.attention_lengths = {8};
      ExpectTheSameThere(Request(settings, 2, name), name);
    }
  }
}

TEST_F(AlgorithmicGpuTest, AttentionThatChangesWithLengthIsTrainedAndTestedThere) {
  for (const bool causal : {false, true}) {
    for (const char* const encoding : {"none", "rope", "log_kerple"}) {
      const std::string name = Text(encoding, causal ? "_causal" : "");
      SCOPED_TRACE(name);
      PackSettings settings = SmallSettings("reverse_string", encoding, false);
      settings.training.steps = 4;
      settings.model.causal = causal;
      settings.model.length_scaling = PackSettings::Model::LengthScaling::kLog;
      settings.positions.rope_scaling = "yarn";
      settings.positions.rope_factor = 2;
      ExpectTheSameThere(Request(settings, 2, name), name);
    }
  }
}

// By LibTorch, and by what is taken when nobody asks.
class StoppedGpuTest : public OnGpu<PackTest>, public ::testing::WithParamInterface<std::pair<const char*, const char*>> {};

INSTANTIATE_TEST_SUITE_P(Engines, StoppedGpuTest, ::testing::Values(std::pair("libtorch", "libtorch"), std::pair("", "spread-fp16")),
                         [](const auto& each) { return std::string(*each.param.first == '\0' ? "OfItself" : "Libtorch"); });

TEST_P(StoppedGpuTest, AJobThatWasStoppedThereEndsWithTheSameBits) {
  PackSettings settings = SmallSettings("reverse_string", "log_kerple", true);
  settings.model = {.layers = 1};  // Of the size that our own kernels know.
  settings.training.steps = 4;
  settings.training.batch_size = 6;
  PackRequest request = There(Request(settings, 2, "whole"));
  request.engine = GetParam().first;
  const PackResult whole = Run(request);
  ASSERT_EQ(whole.results.size(), 2u);
  EXPECT_EQ(whole.engine, GetParam().second);
  RecordingObserver observer;
  observer.wish = [](const Progress& progress) { return Observer::Wish{.stop = progress.lengths_done == 1, .dropped = {}}; };
  request.folder = Folder("stopped");
  const absl::StatusOr<PackResult> stopped = Train(request, observer);
  ASSERT_TRUE(stopped.ok() && stopped->stopped) << stopped.status();
  request.folder = Folder("resumed");
  for (size_t m = 0; m < 2; ++m) request.members[m].checkpoints = {{observer.checkpoints.back(), static_cast<int>(m)}};
  const PackResult resumed = Run(request);
  ASSERT_EQ(resumed.results.size(), 2u);
  for (size_t m = 0; m < 2; ++m) ExpectSameMeasurements(whole.results[m], resumed.results[m]);
  EXPECT_EQ(Bytes(whole.weights), Bytes(resumed.weights));
}

using DataGpuTest = OnGpu<DataTest>;

TEST_F(DataGpuTest, LanguageAndImagesAreTrainedAndTestedThere) {
  for (const char* const experiment : {"language", "images"}) {
    for (const char* const encoding : {"sin_cos", "relative", "rope", "log_kerple"}) {
      const std::string name = Text(experiment, "_", encoding);
      SCOPED_TRACE(name);
      ExpectTheSameThere(RequestOf(Small(experiment, encoding, true), 2, name), name);
    }
  }
}

TEST_F(DataGpuTest, LanguageAttendsByTheNumberOfKeysThere) {
  for (const char* const encoding : {"none", "rope", "log_kerple"}) {
    SCOPED_TRACE(encoding);
    PackSettings settings = Small("language", encoding, false);
    settings.model.length_scaling = PackSettings::Model::LengthScaling::kLog;
    ExpectTheSameThere(RequestOf(settings, 2, encoding), encoding);
  }
}

using PairsGpuTest = OnGpu<PairsTest>;

TEST_F(PairsGpuTest, PairsOfSequencesAreTrainedAndTestedThere) {
  ImportRuns();
  for (const bool causal : {false, true}) {
    for (const char* const encoding : {"none", "relative", "rope", "log_kerple"}) {
      const std::string name = Text(encoding, causal ? "_causal" : "");
      SCOPED_TRACE(name);
      PackSettings settings = Settings("runs", encoding);
      settings.model.causal = causal;
      settings.training.steps = 4;
      settings.training.lengths = {1, 2, 3, 4, 5};
      settings.evaluation.lengths = {4, 6};
      ExpectTheSameThere(RequestOf(settings, 2, name), name);
    }
  }
}

TEST_F(PairsGpuTest, PositionsThatPairsBringAreLearnedThere) {
  ImportReversedWithPositions();
  for (const bool causal : {false, true}) {
    for (const char* const encoding : {"none", "learned", "fire"}) {
      const std::string name = Text(encoding, causal ? "_causal" : "");
      SCOPED_TRACE(name);
      PackSettings settings = Settings("reversed", encoding);
      settings.model.causal = causal;
      settings.training.steps = 4;
      settings.positions.data_rows = 20;
      settings.positions.data_shift = 6;
      ExpectTheSameThere(RequestOf(settings, 2, name), name);
    }
  }
}

class LlamaGpuTest : public OnGpu<AnswersTest> {
 protected:
  void SetUp() override {
    OnGpu::SetUp();
    if (!IsSkipped()) ImportAnswers("48103", [](const Draw& draw) { return 2 + draw(17); });
  }
};

TEST_F(LlamaGpuTest, DecodersAreTrainedAndStudiedThere) {
  for (const char* const encoding : {"none", "rope"}) {
    SCOPED_TRACE(encoding);
    PackSettings settings = LearnsAnswers(5, 24);
    settings.encoding = encoding;
    if (settings.encoding == "rope") settings.positions = {.rope_scaling = "dynamic", .rope_factor = 2, .original_length = 12};
    settings.evaluation = {.lengths = {24, 48}, .examples = 12, .stride = 8, .position_bins = 6, .attention_scales = {0.5, 1, 2}};
    const PackResult there = ExpectTheSameThere(RequestOf(settings, 2, encoding), encoding);
    EXPECT_EQ(there.series.size(), 2u);  // Entropies.
  }
}

TEST_F(LlamaGpuTest, HeadScalesAreTunedThere) {
  PackSettings settings = LearnsAnswers(6, 24);
  settings.encoding = "none";
  settings.training.trainable = PackSettings::Training::Trainable::kHeadScales;
  settings.evaluation = {.lengths = {24}, .examples = 8};
  ExpectTheSameThere(RequestOf(settings, 2, "tuned"), "tuned");
}

TEST_F(LlamaGpuTest, PasskeysAreAskedThere) {
  for (const char* const prompts : {"nope", "landmark"}) {
    SCOPED_TRACE(prompts);
    PackSettings settings = LearnsAnswers(5, 64);
    settings.evaluation = {.lengths = {24}, .examples = 4, .passkey_lengths = {257, 352}, .passkey_depths = 2, .passkey_tests = 2, .passkey_prompts = prompts};
    if (std::string(prompts) == "landmark") settings.evaluation.passkey_depths = 10;
    ExpectTheSameThere(RequestOf(settings, 1, prompts), prompts);
  }
}

TEST_F(LlamaGpuTest, WhatIsAskedWithoutAWindowHasThePrecisionOfTheEngine) {
  PackSettings settings = LearnsAnswers(5, 24);
  settings.evaluation = {.lengths = {}, .examples = 4, .passkey_lengths = {257}, .passkey_depths = 2, .passkey_tests = 1};
  const PackResult trained = Run(There(RequestOf(settings, 1, "trained")));
  for (const bool tf32 : {true, false}) {
    PackRequest request = There(RequestOf(settings, 1, Text("tf32_", tf32)));
    request.settings.training.steps = 0;
    request.members[0].weights = MemberFile{trained.weights, 0};
    request.engine = tf32 ? "libtorch-tf32" : "libtorch";
    at::globalContext().setAllowTF32CuBLAS(!tf32);
    EXPECT_EQ(Run(request).results.size(), 1u);
    EXPECT_EQ(at::globalContext().allowTF32CuBLAS(), tf32);
  }
}

using LongBenchGpuTest = OnGpu<WordsTest>;

TEST_F(LongBenchGpuTest, TasksAreAskedThere) {
  Publish("model", TinyConfig());
  std::string text;
  for (int i = 0; i < 40; ++i) text += "The grass is green and the sky was blue. ";
  MakeCorpus("corpus", text);
  std::ofstream(Folder("LongBench") / "trec.jsonl") << R"({"input": "How many?", "context": ")" << text
                                                    << R"(", "answers": ["3", "e"], "all_classes": ["Number", "Person"]})" << "\n";
  const auto bench = data::ImportLongBench({.folder = Folder("data"), .name = "bench", .source = Folder("LongBench"), .tasks = {{"trec", true}}}, quiet_);
  ASSERT_TRUE(bench.ok()) << bench.status();
  for (const int beams : {1, 3}) {
    SCOPED_TRACE(beams);
    const PackSettings::Evaluation tests{.lengths = {12}, .examples = 2, .longbench = "bench", .longbench_tasks = {"trec"}, .longbench_window = 120,
                                         .longbench_beams = beams};
    ExpectTheSameThere(RequestOf("model", "corpus", tests, "run"), Text("beams", beams));
  }
}

}  // namespace

}  // namespace longreach::trainer
