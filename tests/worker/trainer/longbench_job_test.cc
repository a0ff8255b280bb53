// Jobs that ask a published model the tasks of LongBench: stopped at any sample, on any number of threads, and what is refused.
#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <map>

#include "tests/worker/trainer/words_fixture.h"
#include "worker/data/import_longbench.h"
#include "worker/trainer/llama/memory.h"

namespace longreach::trainer {

namespace {

using ::testing::HasSubstr;

class LongBenchJobTest : public WordsTest {
 protected:
  static constexpr int kSamples = 4;  // Two of each task.

  void SetUp() override {
    PackTest::SetUp();
    Publish("model", TinyConfig());
    Publish("wordless", TinyConfig(), /*tokenizer=*/false);
    std::string text;
    for (int i = 0; i < 40; ++i) text += "The grass is green and the sky was blue. ";
    MakeCorpus("corpus", text);
    // Two prompts that lose their middle, and two that do not.
    Write("trec", R"("Number", "Person")", text);
    Write("passage_count", "", text);
    const auto bench = data::ImportLongBench(
        {.folder = Folder("data"), .name = "bench", .source = Folder("LongBench"), .tasks = {{"trec", true}, {"passage_count", false}}}, quiet_);
    ASSERT_TRUE(bench.ok()) << bench.status();
    ASSERT_EQ(bench->samples, kSamples);
  }

  void Write(const std::string& task, const std::string& classes, const std::string& text) {
    std::ofstream file(Folder("LongBench") / (task + ".jsonl"));
    for (const std::string& context : {text, text.substr(0, 90)}) {
      file << R"({"input": "How many?", "context": ")" << context << R"(", "answers": ["3", "e"], "all_classes": [)" << classes << "]}\n";
    }
  }

  PackRequest RequestOf(const std::string& folder, int beams = 2) {
    return WordsTest::RequestOf("model", "corpus", {.lengths = {12}, .examples = 2, .longbench = "bench", .longbench_tasks = {"trec", "passage_count"},
                                                    .longbench_window = 120, .longbench_beams = beams}, folder);
  }
};

TEST_F(LongBenchJobTest, ScoresAreMeasuredByTaskAndOverAll) {
  const PackResult result = Run(RequestOf("all"));
  std::map<std::string, double> scores;
  for (const Measurement& one : result.results.at(0).measurements) {
    if (one.metric == "longbench" && one.length == 0) scores[one.slice] = one.value;
  }
  ASSERT_EQ(scores.size(), 3u);
  EXPECT_DOUBLE_EQ(scores.at(""), (scores.at("longbench_task=trec") + scores.at("longbench_task=passage_count")) / 2);
}

TEST_F(LongBenchJobTest, AStopRepeatsNoFinishedSampleAndChangesNoBit) {
  const PackResult whole = Run(RequestOf("whole"));
  for (int done = 0; done < kSamples; ++done) {
    RecordingObserver stopping;
    stopping.wish = [&](const Progress& progress) {
      return Observer::Wish{.stop = progress.lengths_done == 1 && progress.longbench_samples_done == done, .dropped = {}};
    };
    PackRequest request = RequestOf("stopped" + std::to_string(done));
    const absl::StatusOr<PackResult> stopped = Train(request, stopping);
    ASSERT_TRUE(stopped.ok() && stopped->stopped) << stopped.status();

    request.folder = Folder("resumed" + std::to_string(done));
    request.members[0].checkpoints = {{stopping.checkpoints.back(), 0}};
    int least = kSamples;
    RecordingObserver resuming;
    resuming.wish = [&](const Progress& progress) {
      if (progress.phase == Progress::Phase::kEvaluating) least = std::min(least, progress.longbench_samples_done);
      return Observer::Wish{};
    };
    const absl::StatusOr<PackResult> resumed = Train(request, resuming);
    ASSERT_TRUE(resumed.ok()) << resumed.status();
    EXPECT_EQ(least, done);
    ExpectSameMeasurements(resumed->results.at(0), whole.results.at(0));
  }
}

TEST_F(LongBenchJobTest, BitsDependOnNoThreadAndSignsOfLifeComeWithEveryToken) {
  PackRequest one = RequestOf("one"), three = RequestOf("three");
  one.threads = 1;
  three.threads = 3;
  int signs = 0;
  RecordingObserver observer;
  observer.wish = [&](const Progress& progress) {
    signs += progress.lengths_done == 1 && progress.longbench_samples_done == 0;
    return Observer::Wish{};
  };
  const absl::StatusOr<PackResult> first = Train(one, observer);
  ASSERT_TRUE(first.ok()) << first.status();
  ExpectSameMeasurements(Run(three).results.at(0), first->results.at(0));
  // The first answer has 64 tokens at most, if not one of its beams ended before.
  EXPECT_GT(signs, 20);
}

TEST_F(LongBenchJobTest, WhatCannotBeAskedIsRefusedBeforeAnythingIsComputed) {
  absl::Status before;  // As whoever is to submit such a job is told.
  const auto refusal = [&](const std::function<void(PackRequest&)>& change) {
    PackRequest request = RequestOf("refused");
    change(request);
    RecordingObserver observer;
    const absl::Status status = Train(request, observer).status();
    EXPECT_FALSE(status.ok());
    EXPECT_EQ(observer.last.lengths_done, 0);
    before = CheckPublished(request.settings, request.data);
    return std::string(status.message());
  };
  EXPECT_THAT(refusal([](PackRequest& r) { r.settings.evaluation.longbench_tasks = {"qasper", "trec"}; }), HasSubstr("the data set 'bench' has no qasper"));
  EXPECT_EQ(before.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(before.message()), HasSubstr("the data set 'bench' has no qasper; ask for those that it has, or import it with them under another name"));
  EXPECT_THAT(refusal([](PackRequest& r) { r.settings.model.folder = "wordless"; }), HasSubstr("tokenizer.model"));
  EXPECT_THAT(std::string(before.message()), HasSubstr("model.folder: the model 'wordless' was imported without tokenizer.model"));
  EXPECT_EQ(before.code(), absl::StatusCode::kInvalidArgument) << "it is so on every machine";
  EXPECT_THAT(refusal([](PackRequest& r) { r.settings.evaluation.longbench = "corpus"; }), HasSubstr("'longbench' is needed"));
  EXPECT_THAT(std::string(before.message()), HasSubstr("'longbench' is needed"));
  const PackRequest good = RequestOf("good");
  EXPECT_TRUE(CheckPublished(good.settings, good.data).ok());
  EXPECT_THAT(refusal([](PackRequest& r) { r.data.longbench_sha256 = std::string(64, '0'); }), HasSubstr("has other bytes"));
  EXPECT_THAT(refusal([](PackRequest& r) { r.settings.evaluation.longbench_tasks = {"passage_count", "trec"}; }), HasSubstr("'trec' does not follow 'passage_count'"));
  EXPECT_THAT(refusal([](PackRequest& r) { r.settings.evaluation.longbench_tasks = {"gossip"}; }), HasSubstr("'gossip' is no task of LongBench"));
  EXPECT_THAT(refusal([](PackRequest& r) { r.settings.evaluation.longbench_window = 15; }), HasSubstr("evaluation.longbench_window: 15 is not in 16.."));
  EXPECT_THAT(refusal([](PackRequest& r) { r.settings.evaluation.longbench_beams = 0; }), HasSubstr("evaluation.longbench_beams: 0 is not in 1..64"));

  PackRequest large = RequestOf("large", 5);
  ASSERT_TRUE(ReadPublished(large).ok());
  large.settings.evaluation.longbench_window = 1 << 20;
  EXPECT_THAT(std::string(ThreadsThatFit(large.settings, 1, 1, 1e6).status().message()), HasSubstr("evaluation.longbench_window: 1048576 takes at least "));
}

}  // namespace

}  // namespace longreach::trainer
