// A member's result depends on its own settings, learning rate and seed only: not on pack, threads or where
// it was resumed.
#include "tests/worker/trainer/pack_fixture.h"

namespace longreach::trainer {

namespace {

struct Case {
  std::string encoding;
  bool randomized;
  std::string task;
  bool pre_norm = false;
};

class BitsTest : public PackTest, public ::testing::WithParamInterface<Case> {
 protected:
  PackSettings Settings() const {
    PackSettings settings = SmallSettings(GetParam().task, GetParam().encoding, GetParam().randomized);
    if (GetParam().pre_norm) settings.model.norm = PackSettings::Model::Norm::kPre;
    return settings;
  }
};

TEST_P(BitsTest, AMemberAloneEqualsTheSameInAPack) {
  const PackRequest pack = Request(Settings(), 3, "pack");
  PackRequest alone = Request(Settings(), 3, "alone");
  alone.members = {pack.members[2]};

  const PackResult of_pack = Run(pack);
  const PackResult of_one = Run(alone);

  ASSERT_EQ(of_pack.results.size(), 3u);
  ASSERT_EQ(of_one.results.size(), 1u);
  ExpectSameMeasurements(of_pack.results[2], of_one.results[0]);
}

TEST_P(BitsTest, ThreadsDoNotMatter) {
  std::string weights;
  for (const int threads : {1, 2, 3}) {
    PackRequest request = Request(Settings(), 2, "threads" + std::to_string(threads));
    request.threads = threads;

    const PackResult result = Run(request);

    const std::string bytes = Bytes(result.weights);
    ASSERT_FALSE(bytes.empty());
    if (weights.empty()) weights = bytes;
    EXPECT_TRUE(bytes == weights) << threads << " threads";
  }
}

TEST_P(BitsTest, AResumedRunEqualsAStraightOne) {
  const PackRequest straight = Request(Settings(), 2, "straight");
  const PackResult expected = Run(straight);

  // Stopped after 5 updates, then again after the first test length, each time in a new folder.
  PackRequest request = Request(Settings(), 2, "first");
  RecordingObserver first;
  first.wish = [](const Progress& progress) {
    return Observer::Wish{.stop = progress.step == 5, .dropped = {}};
  };
  absl::StatusOr<PackResult> stopped = Train(request, first);
  ASSERT_TRUE(stopped.ok()) << stopped.status();
  ASSERT_TRUE(stopped->stopped);
  ASSERT_EQ(first.checkpoint_steps, std::vector<int>{5});

  const auto resume_from = [&](const std::filesystem::path& file, const std::string& folder) {
    request.folder = Folder(folder);
    for (int m = 0; m < 2; ++m) request.members[static_cast<size_t>(m)].checkpoints = {{file, m}};
  };
  resume_from(first.checkpoints[0], "second");
  RecordingObserver second;
  second.wish = [](const Progress& progress) {
    return Observer::Wish{.stop = progress.lengths_done == 1, .dropped = {}};
  };
  stopped = Train(request, second);
  ASSERT_TRUE(stopped.ok()) << stopped.status();
  ASSERT_TRUE(stopped->stopped);

  resume_from(second.checkpoints[0], "third");
  RecordingObserver third;
  int first_step = -1;
  third.wish = [&](const Progress& progress) {
    if (first_step < 0) first_step = progress.step;
    return Observer::Wish{};
  };
  const absl::StatusOr<PackResult> result = Train(request, third);

  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(Bytes(result->weights) == Bytes(expected.weights));
  for (size_t m = 0; m < 2; ++m) ExpectSameMeasurements(result->results[m], expected.results[m]);
  EXPECT_TRUE(third.points.empty()) << "nothing is trained twice";
}

INSTANTIATE_TEST_SUITE_P(
    Encodings, BitsTest,
    ::testing::Values(Case{"alibi", true, "bucket_sort"}, Case{"learned", false, "even_pairs"},
                    Case{"log_kerple", true, "reverse_string"}, Case{"none", false, "parity_check"},
                    Case{"power_kerple", false, "stack_manipulation"},
                    Case{"relative", true, "binary_addition"}, Case{"rope", true, "odds_first"},
                    Case{"sandwich", true, "compute_sqrt"}, Case{"shape", false, "duplicate_string"},
                    Case{"sin_cos", true, "solve_equation"}, Case{"t5", true, "missing_duplicate_string"},
                    Case{"fire", true, "duplicate_string"}, Case{"log_kerple", true, "reverse_string", true}, Case{"rope", false, "bucket_sort", true}),
    [](const auto& variant) { return variant.param.encoding + (variant.param.pre_norm ? "_pre_norm" : ""); });

class LossCurveTest : public PackTest {};

TEST_F(LossCurveTest, PointsDoNotDependOnWhereARunWasStopped) {
  PackSettings settings = SmallSettings("even_pairs", "rope", false);
  settings.training.steps = 1003;  // Two updates a point.
  settings.training.batch_size = 2;
  settings.model.layers = 1;
  settings.evaluation.lengths = {8};
  const PackRequest straight = Request(settings, 1, "straight");
  RecordingObserver expected;
  ASSERT_TRUE(Train(straight, expected).ok());
  ASSERT_EQ(expected.points.size(), 502u);
  EXPECT_EQ(expected.points[0].step, 2);
  EXPECT_EQ(expected.points.back().step, 1003);

  // Stopped between two points.
  PackRequest request = Request(settings, 1, "first");
  RecordingObserver first;
  first.wish = [](const Progress& progress) {
    return Observer::Wish{.stop = progress.step == 7, .dropped = {}};
  };
  ASSERT_TRUE(Train(request, first).ok());
  request.folder = Folder("second");
  request.members[0].checkpoints = {{first.checkpoints.at(0), 0}};
  RecordingObserver second;
  ASSERT_TRUE(Train(request, second).ok());

  std::vector<LossPoint> points = first.points;
  points.insert(points.end(), second.points.begin(), second.points.end());
  ASSERT_EQ(points.size(), expected.points.size());
  for (size_t i = 0; i < points.size(); ++i) {
    EXPECT_EQ(points[i].step, expected.points[i].step);
    EXPECT_EQ(points[i].loss, expected.points[i].loss);
  }
  // The end tells the whole curve, also what was trained before this run.
  ASSERT_EQ(second.points_at_the_end.size(), expected.points.size());
  for (size_t i = 0; i < points.size(); ++i) {
    EXPECT_EQ(second.points_at_the_end[i].step, expected.points[i].step);
    EXPECT_EQ(second.points_at_the_end[i].loss, expected.points[i].loss);
  }
}

}  // namespace

}  // namespace longreach::trainer
