// Accuracy at each place among the outputs (evaluation.output_lengths).
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/base/text.h"
#include "tests/worker/trainer/pairs_fixture.h"
#include "worker/trainer/problems/measurements.h"

namespace longreach::trainer {

namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

using ByLengthAndSlice = std::map<std::pair<int, std::string>, double>;

ByLengthAndSlice OutputsOf(const std::vector<Measurement>& all) {
  ByLengthAndSlice found;
  for (const Measurement& one : all) {
    if (one.metric != "output_accuracy") continue;
    EXPECT_TRUE(found.emplace(std::pair(one.length, one.slice), one.value).second) << one.length << " " << one.slice;
  }
  return found;
}

// The second length has a third output, and none of its sequences has the fourth.
TEST(OutputScoresTest, AreSharesAndMeansOverTheLengthsThatHaveThem) {
  const std::vector<Measurement> scores = OutputScores({4, 6}, {{{.hits = 3, .counted = 4}, {.hits = 1, .counted = 4}},
                                                                {{.hits = 1, .counted = 4}, {.hits = 2, .counted = 2}, {.hits = 1, .counted = 1}, {}}});
  const ByLengthAndSlice found = OutputsOf(scores);
  EXPECT_THAT(found, ElementsAre(Pair(Pair(0, "output=1"), 0.5), Pair(Pair(0, "output=2"), 0.625), Pair(Pair(0, "output=3"), 1.0), Pair(Pair(4, "output=1"), 0.75),
                                 Pair(Pair(4, "output=2"), 0.25), Pair(Pair(6, "output=1"), 0.25), Pair(Pair(6, "output=2"), 1.0), Pair(Pair(6, "output=3"), 1.0)));
  EXPECT_TRUE(OutputScores({}, {}).empty());
}

class OutputScoresJobTest : public PairsTest {
 protected:
  static PackSettings Scored(PackSettings settings, const std::vector<int>& lengths) {
    settings.evaluation.output_lengths = lengths;
    return settings;
  }
};

// As many outputs at each place, so that the mean of these is the accuracy of all.
TEST_F(OutputScoresJobTest, EachEngineMeasuresWhatItsAccuracyIsTheMeanOf) {
  for (const char* engine : {"libtorch", "lanes"}) {
    for (const bool causal : {false, true}) {
      PackSettings settings = Scored(SmallSettings("reverse_string", "rope", false), {8, 13});
      settings.model.causal = causal;
      PackRequest request = Request(settings, 2, Text(engine, causal));
      request.engine = engine;
      const PackResult result = Run(request);
      for (const MemberResult& member : result.results) {
        const ByLengthAndSlice found = OutputsOf(member.measurements);
        ASSERT_EQ(found.size(), 8u + 13u + 13u) << engine;
        for (const int length : {8, 13}) {
          double sum = 0;
          for (int output = 1; output <= length; ++output) sum += found.at({length, Text("output=", output)});
          EXPECT_NEAR(sum / length, ValueOf(member, "accuracy", length), 1e-12) << engine << " " << length;
        }
        EXPECT_THAT(found.at({0, "output=3"}), DoubleNear((found.at({8, "output=3"}) + found.at({13, "output=3"})) / 2, 1e-12));
        EXPECT_EQ(found.at({0, "output=13"}), found.at({13, "output=13"}));
      }
    }
  }
}

TEST_F(OutputScoresJobTest, AreTheSameAloneAndAfterAStopAtTheEnd) {
  const PackSettings settings = Scored(SmallSettings("reverse_string", "log_kerple", true), {9});
  const PackResult pack = Run(Request(settings, 2, "pack")), alone = Run(Request(settings, 1, "alone"));
  ExpectSameMeasurements(pack.results[0], alone.results[0]);

  PackRequest request = Request(settings, 2, "stopped");
  RecordingObserver observer;
  // When all lengths are tested and one of them is tested once more.
  observer.wish = [](const Progress& progress) { return Observer::Wish{.stop = progress.lengths_done == 3, .dropped = {}}; };
  const absl::StatusOr<PackResult> stopped = Train(request, observer);
  ASSERT_TRUE(stopped.ok()) << stopped.status();
  ASSERT_TRUE(stopped->stopped);
  request.folder = Folder("resumed");
  for (size_t m = 0; m < 2; ++m) request.members[m].checkpoints = {{.file = observer.checkpoints.back(), .member = static_cast<int>(m)}};
  const PackResult resumed = Run(request);
  for (size_t m = 0; m < 2; ++m) ExpectSameMeasurements(resumed.results[m], pack.results[m]);
}

TEST_F(OutputScoresJobTest, AnOutputThatNoSequenceHasHasNone) {
  ImportRuns();
  PackSettings settings = Settings("runs", "none");
  settings.training.lengths = {1, 2, 3, 4, 5};
  settings.evaluation.lengths = {4, 6};
  const PackResult result = Run(RequestOf(Scored(settings, {6}), 1, "runs"));
  const ByLengthAndSlice found = OutputsOf(result.results[0].measurements);
  EXPECT_TRUE(found.contains({6, "output=1"}));
  EXPECT_TRUE(found.contains({6, "output=2"})) << "an end at least";
  EXPECT_FALSE(found.contains({6, "output=8"})) << "six symbols and an end are the most";
  EXPECT_FALSE(found.contains({4, "output=1"})) << "nobody asked";
}

TEST_F(OutputScoresJobTest, WhatIsRefused) {
  const auto refused = [](const PackSettings& settings) { return std::string(Validate(settings).message()); };
  EXPECT_EQ(refused(Scored(SmallSettings("reverse_string", "none", false), {8, 13})), "");
  EXPECT_THAT(refused(Scored(SmallSettings("reverse_string", "none", false), {10})), HasSubstr("evaluation.output_lengths: 10 is not among evaluation.lengths"));
  PackSettings many = Scored(SmallSettings("reverse_string", "none", false), {300, 400});
  many.evaluation.lengths = {300, 400};
  EXPECT_THAT(refused(many), HasSubstr("evaluation.output_lengths: 400 makes 700 outputs and 400 means over lengths: more than 1000 values"));
  PackSettings language = Scored(SmallSettings("even_pairs", "none", false), {8});
  language.experiment = "language";
  language.task = language.data = "enwik8";
  EXPECT_THAT(refused(language), HasSubstr("evaluation.output_lengths: 8 is only for experiments 'algorithmic' and 'sequences'"));
}

}  // namespace

}  // namespace longreach::trainer
