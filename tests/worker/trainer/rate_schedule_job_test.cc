// Jobs whose learning rate rises and falls: every engine gives each update its own rate, and the bits depend on nothing else than before.
#include <cmath>

#include "tests/worker/trainer/pack_fixture.h"

namespace longreach::trainer {

namespace {

using RateShape = PackSettings::Training::Schedule;

class RateScheduleJobTest : public PackTest {
 protected:
  static PackSettings Scheduled(RateShape shape) {
    PackSettings settings = SmallSettings("bucket_sort", "rope", true);
    settings.training.warmup_steps = 4;
    settings.training.schedule = shape;
    return settings;
  }

  // The losses of a job's updates, each of which has a point: the first so many.
  std::vector<double> Losses(const PackSettings& settings, const std::string& engine, const std::string& folder, double rate = 1e-2) const {
    PackRequest request = Request(settings, 1, folder);
    request.engine = engine;
    request.members[0].learning_rate = rate;
    RecordingObserver observer;
    const absl::StatusOr<PackResult> result = Train(request, observer);
    EXPECT_TRUE(result.ok()) << result.status();
    EXPECT_TRUE(!result.ok() || engine.empty() || result->engine == engine) << result->engine;
    std::vector<double> losses;
    for (const LossPoint& point : observer.points) losses.push_back(point.loss);
    EXPECT_EQ(losses.size(), 12u);
    return losses;
  }
};

// Two float32 computations of the same training drift apart by some 1e-5 in twelve updates.
TEST_F(RateScheduleJobTest, EnginesAgreeThroughWarmUpAndDecay) {
  PackSettings constant = Scheduled(RateShape::kConstant);
  constant.training.warmup_steps = 0;
  const std::vector<double> without = Losses(constant, "libtorch", "constant");
  for (const auto& [shape, name] : {std::pair(RateShape::kConstant, "warmup"), std::pair(RateShape::kCosine, "cosine"), std::pair(RateShape::kLinear, "linear")}) {
    SCOPED_TRACE(name);
    const std::vector<double> oracle = Losses(Scheduled(shape), "libtorch", std::string(name) + "-libtorch");
    const std::vector<double> lanes = Losses(Scheduled(shape), "lanes-portable", std::string(name) + "-lanes");
    for (size_t i = 0; i < oracle.size(); ++i) EXPECT_NEAR(lanes[i], oracle[i], 1e-3 * oracle[i]) << "update " << i;
    EXPECT_GT(std::abs(oracle[1] - without[1]), 1e-2 * oracle[1]) << "the first update has moved nothing, where a whole one has";
  }
}

// A rate that float32 rounds to 0: the losses are those of the parameters as they were drawn.
TEST_F(RateScheduleJobTest, TheFirstUpdateOfAWarmUpMovesNothingAndTheSecondDoes) {
  for (const std::string engine : {"libtorch", "lanes-portable"}) {
    PackSettings constant = Scheduled(RateShape::kConstant);
    constant.training.warmup_steps = 0;
    const std::vector<double> unmoved = Losses(constant, engine, engine + "-unmoved", 1e-50);
    const std::vector<double> losses = Losses(Scheduled(RateShape::kCosine), engine, engine + "-cosine");
    ASSERT_EQ(losses.size(), unmoved.size());
    EXPECT_EQ(losses[0], unmoved[0]) << engine;
    EXPECT_EQ(losses[1], unmoved[1]) << engine;
    EXPECT_NE(losses[2], unmoved[2]) << engine;
  }
}

TEST_F(RateScheduleJobTest, ARateThatFallsToAllOfItselfTrainsAsAConstantOne) {
  PackSettings constant = Scheduled(RateShape::kConstant);
  PackSettings line = Scheduled(RateShape::kLinear);
  line.training.final_rate = 1;

  const PackResult expected = Run(Request(constant, 2, "constant"));
  const PackResult result = Run(Request(line, 2, "line"));

  for (size_t m = 0; m < 2; ++m) ExpectSameMeasurements(result.results.at(m), expected.results.at(m));
}

TEST_F(RateScheduleJobTest, AMemberAloneEqualsTheSameInAPackOnAnyThreads) {
  for (const std::string engine : {"libtorch", ""}) {
    for (const RateShape shape : {RateShape::kCosine, RateShape::kLinear}) {
      const std::string folder = engine + std::to_string(static_cast<int>(shape));
      PackRequest pack = Request(Scheduled(shape), 3, "pack" + folder), alone = Request(Scheduled(shape), 3, "alone" + folder);
      pack.engine = alone.engine = engine;
      alone.members = {pack.members[2]};
      alone.threads = 1;

      const PackResult of_pack = Run(pack), of_one = Run(alone);

      ASSERT_EQ(of_pack.results.size(), 3u);
      ASSERT_EQ(of_one.results.size(), 1u);
      ExpectSameMeasurements(of_pack.results[2], of_one.results[0]);
    }
  }
}

TEST_F(RateScheduleJobTest, AResumedRunEqualsAStraightOne) {
  for (const std::string engine : {"libtorch", ""}) {
    PackRequest straight = Request(Scheduled(RateShape::kLinear), 2, "straight" + engine);
    straight.engine = engine;
    const PackResult expected = Run(straight);

    // Stopped within the warm-up, and again within the fall.
    PackRequest request = straight;
    for (const int step : {2, 7}) {
      request.folder = Folder("stopped" + engine + std::to_string(step));
      RecordingObserver observer;
      observer.wish = [step](const Progress& progress) { return Observer::Wish{.stop = progress.step == step, .dropped = {}}; };
      const absl::StatusOr<PackResult> stopped = Train(request, observer);
      ASSERT_TRUE(stopped.ok()) << stopped.status();
      ASSERT_EQ(observer.checkpoint_steps, std::vector<int>{step});
      for (int m = 0; m < 2; ++m) request.members[static_cast<size_t>(m)].checkpoints = {{observer.checkpoints[0], m}};
    }
    request.folder = Folder("end" + engine);
    RecordingObserver last;
    const absl::StatusOr<PackResult> result = Train(request, last);

    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(last.points.size(), 2 * 5u) << "nothing is trained twice";
    EXPECT_TRUE(Bytes(result->weights) == Bytes(expected.weights)) << engine;
    for (size_t m = 0; m < 2; ++m) ExpectSameMeasurements(result->results[m], expected.results[m]);
  }
}

// Under another schedule it would go on from moments and parameters of other rates.
TEST_F(RateScheduleJobTest, ACheckpointOfAnotherScheduleIsNotGoneOnFrom) {
  PackRequest request = Request(Scheduled(RateShape::kCosine), 1, "cosine");
  RecordingObserver first;
  first.wish = [](const Progress& progress) { return Observer::Wish{.stop = progress.step == 5, .dropped = {}}; };
  ASSERT_TRUE(Train(request, first).ok());
  ASSERT_EQ(first.checkpoints.size(), 1u);

  PackRequest other = Request(Scheduled(RateShape::kLinear), 1, "linear");
  other.members[0].checkpoints = {{first.checkpoints[0], 0}};
  RecordingObserver second;
  ASSERT_TRUE(Train(other, second).ok());

  EXPECT_EQ(second.points.size(), 12u) << "it begins anew";
}

}  // namespace

}  // namespace longreach::trainer
