// Jobs that are tested while they are trained (evaluation.curve_every): what that measures, and that it takes nothing from the rest.
#include <algorithm>
#include <set>

#include "proto/base/text.h"
#include "tests/worker/trainer/pack_fixture.h"

namespace longreach::trainer {

namespace {

class ScoreCurveJobTest : public PackTest, public ::testing::WithParamInterface<const char*> {
 protected:
  // Points after 5, 10 and all 12 updates.
  static PackSettings Tested() {
    PackSettings settings = SmallSettings("reverse_string", "log_kerple", true);
    settings.evaluation.curve_every = 5;
    settings.evaluation.curve_lengths = {8, 13};
    return settings;
  }
  static PackSettings Untested() {
    PackSettings settings = Tested();
    settings.evaluation.curve_every = 0;
    settings.evaluation.curve_lengths = {};
    return settings;
  }

  PackRequest RequestOf(const PackSettings& settings, const std::string& folder, int members = 2) const {
    PackRequest request = Request(settings, members, folder);
    request.engine = GetParam();
    return request;
  }

  static std::vector<Measurement> InSlice(const MemberResult& result, const std::string& slice) {
    std::vector<Measurement> found;
    std::ranges::copy_if(result.measurements, std::back_inserter(found), [&](const Measurement& one) { return one.slice == slice; });
    return found;
  }

  static void ExpectSameValues(const std::vector<Measurement>& a, const std::vector<Measurement>& b) {
    ASSERT_EQ(a.size(), b.size());
    ASSERT_FALSE(a.empty());
    for (size_t i = 0; i < a.size(); ++i) {
      EXPECT_EQ(a[i].metric, b[i].metric);
      EXPECT_EQ(a[i].length, b[i].length);
      EXPECT_EQ(a[i].value, b[i].value) << a[i].metric << " at " << a[i].length;
    }
  }

  // Runs until it has been asked so often whether to stop at this update; the checkpoint that it leaves.
  std::filesystem::path StoppedAt(const PackRequest& request, int step, int asked) {
    RecordingObserver observer;
    int times = 0;
    observer.wish = [&times, step, asked](const Progress& progress) {
      return Observer::Wish{.stop = progress.step == step && ++times >= asked, .dropped = {}};
    };
    const absl::StatusOr<PackResult> stopped = Train(request, observer);
    EXPECT_TRUE(stopped.ok()) << stopped.status();
    EXPECT_TRUE(!stopped.ok() || stopped->stopped);
    EXPECT_EQ(observer.checkpoint_steps, std::vector<int>{step});
    return observer.checkpoints.empty() ? std::filesystem::path() : observer.checkpoints[0];
  }
};

INSTANTIATE_TEST_SUITE_P(Engines, ScoreCurveJobTest, ::testing::Values("libtorch", "lanes-portable"),
                         [](const auto& each) { return std::string(each.param) == "libtorch" ? "Libtorch" : "Lanes"; });

TEST_P(ScoreCurveJobTest, EachPointIsWhatATrainingOfSoManyUpdatesEndsWith) {
  const PackResult result = Run(RequestOf(Tested(), "curve"));
  ASSERT_EQ(result.results.size(), 2u);
  for (const int step : {5, 10, 12}) {
    PackSettings shorter = Untested();
    shorter.training.steps = step;
    shorter.evaluation.lengths = {8, 13};
    const PackResult expected = Run(RequestOf(shorter, Text("to", step)));
    for (size_t m = 0; m < 2; ++m) {
      SCOPED_TRACE(Text("member ", m, " at update ", step));
      ExpectSameValues(InSlice(result.results[m], Text("step=", step)), expected.results[m].measurements);
    }
  }
}

TEST_P(ScoreCurveJobTest, WhatIsMeasuredAtTheEndAndTheLossesAreThoseOfAJobWithoutTestsOnTheWay) {
  RecordingObserver with, without;
  const absl::StatusOr<PackResult> tested = Train(RequestOf(Tested(), "with"), with);
  const absl::StatusOr<PackResult> untested = Train(RequestOf(Untested(), "without"), without);
  ASSERT_TRUE(tested.ok() && untested.ok());

  std::set<std::string> slices;
  for (size_t m = 0; m < 2; ++m) {
    ExpectSameValues(InSlice(tested->results[m], ""), untested->results[m].measurements);
    for (const Measurement& one : tested->results[m].measurements) slices.insert(one.slice);
  }
  EXPECT_EQ(slices, (std::set<std::string>{"", "step=5", "step=10", "step=12"}));
  ASSERT_EQ(with.points.size(), without.points.size());
  for (size_t i = 0; i < with.points.size(); ++i) EXPECT_EQ(with.points[i].loss, without.points[i].loss);
}

TEST_P(ScoreCurveJobTest, AJobThatIsStoppedBetweenTestsOrWithinOneEndsWithTheSameBits) {
  const PackRequest straight = RequestOf(Tested(), "straight");
  const PackResult expected = Run(straight);
  std::set<std::string> names;
  // Until both tests of the point after 5 updates are made.
  for (int asked = 1; !names.contains("checkpoint-5-t2.safetensors"); ++asked) {
    ASSERT_LT(asked, 20);
    SCOPED_TRACE(Text("asked ", asked, " times"));
    PackRequest request = straight;
    request.folder = Folder(Text("stopped", asked));
    const std::filesystem::path checkpoint = StoppedAt(request, 5, asked);
    names.insert(checkpoint.filename().string());
    for (int m = 0; m < 2; ++m) request.members[static_cast<size_t>(m)].checkpoints = {{checkpoint, m}};
    request.folder = Folder(Text("resumed", asked));

    const PackResult result = Run(request);

    EXPECT_TRUE(Bytes(result.weights) == Bytes(expected.weights));
    for (size_t m = 0; m < 2; ++m) ExpectSameMeasurements(result.results.at(m), expected.results.at(m));
  }
  // One that has more tests does not take the place of one before, and its numbers are larger.
  EXPECT_EQ(names, (std::set<std::string>{"checkpoint-5-t0.safetensors", "checkpoint-5-t1.safetensors", "checkpoint-5-t2.safetensors"}));
}

// Members of packs that were stopped at different tests of the same update.
TEST_P(ScoreCurveJobTest, MembersThatWereTestedUnequallyFarGoOnTogether) {
  const PackRequest straight = RequestOf(Tested(), "straight");
  const PackResult expected = Run(straight);
  PackRequest request = straight;
  for (int m = 0; m < 2; ++m) {
    PackRequest alone = straight;
    alone.members = {straight.members[static_cast<size_t>(m)]};
    alone.folder = Folder(Text("alone", m));
    // The first within the tests after 10 updates, the second before they have begun.
    request.members[static_cast<size_t>(m)].checkpoints = {{StoppedAt(alone, 10, m == 0 ? 3 : 1), 0}};
  }
  request.folder = Folder("together");

  const PackResult result = Run(request);

  for (size_t m = 0; m < 2; ++m) ExpectSameMeasurements(result.results.at(m), expected.results.at(m));
}

TEST_P(ScoreCurveJobTest, OneThatDivergesHasNoPointsAndTheOthersHaveTheirs) {
  const PackResult expected = Run(RequestOf(Tested(), "calm", 3));
  PackRequest wild = RequestOf(Tested(), "wild", 3);
  wild.members[1].learning_rate = 1e30;

  const PackResult result = Run(wild);

  ASSERT_EQ(result.results.size(), 3u);
  EXPECT_TRUE(result.results[1].diverged);
  EXPECT_TRUE(result.results[1].measurements.empty());
  for (const size_t m : {0u, 2u}) ExpectSameMeasurements(result.results[m], expected.results[m]);
}

TEST_P(ScoreCurveJobTest, DecodersHaveTheirExactMatchesAndAllLengthsStandForNone) {
  PackSettings settings = Tested();
  settings.model.causal = true;
  settings.evaluation.curve_lengths = {};
  const PackResult result = Run(RequestOf(settings, "decoder", 1));

  const std::vector<Measurement> point = InSlice(result.results.at(0), "step=10");
  std::vector<std::string> metrics;
  for (const Measurement& one : point) metrics.push_back(Text(one.metric, " ", one.length));
  EXPECT_EQ(metrics, (std::vector<std::string>{"accuracy 0", "accuracy 8", "accuracy 9", "accuracy 13", "exact_match 0", "exact_match 8", "exact_match 9",
                                               "exact_match 13", "loss 0", "loss 8", "loss 9", "loss 13"}));
  ExpectSameValues(InSlice(result.results[0], "step=12"), InSlice(result.results[0], ""));
}

// As many as leave room for others: of 300 points each fourth.
TEST_P(ScoreCurveJobTest, PointsAreLinesOfTheLog) {
  class Reading : public RecordingObserver {
   public:
    void OnLine(const std::string& line) override {
      if (line.find(" at length 8") != std::string::npos) lines.push_back(line.substr(0, line.find(',')));
    }
    std::vector<std::string> lines;
  } observer;
  PackSettings settings = Tested();
  settings.training.steps = 301;
  settings.training.batch_size = 2;
  settings.evaluation = {.lengths = {8}, .examples = 1, .curve_every = 1};

  ASSERT_TRUE(Train(RequestOf(settings, "lines", 1), observer).ok());

  ASSERT_EQ(observer.lines.size(), 75u);
  EXPECT_EQ(observer.lines[0], "step 1 of 301");
  EXPECT_EQ(observer.lines[1], "step 5 of 301");
}

// Test batches are the trainer's sign of life, and part of the training until its last update.
TEST_P(ScoreCurveJobTest, TestsOnTheWayAreToldAsTraining) {
  std::set<int> evaluated_at;
  class Watching : public RecordingObserver {
   public:
    explicit Watching(std::set<int>& steps) : steps_(steps) {}
    void OnProgress(const Progress& progress) override {
      if (progress.phase == Progress::Phase::kEvaluating) steps_.insert(progress.step);
      RecordingObserver::OnProgress(progress);
    }

   private:
    std::set<int>& steps_;
  } observer(evaluated_at);

  ASSERT_TRUE(Train(RequestOf(Tested(), "told"), observer).ok());

  EXPECT_EQ(evaluated_at, std::set<int>{12});
}

}  // namespace

}  // namespace longreach::trainer
