#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/worker/trainer/pack_fixture.h"
#include "worker/trainer/checkpoint/safetensors.h"

namespace longreach::trainer {

namespace {

class TrainTest : public PackTest {};

TEST_F(TrainTest, TrainsWithTheEngineThatWasAskedFor) {
  for (const char* engine : {"libtorch", "lanes-portable", "lanes-portable-bf16"}) {
    PackRequest request = Request(SmallSettings("even_pairs", "rope", false), 1, engine);
    request.engine = engine;
    RecordingObserver observer;

    const absl::StatusOr<PackResult> result = Train(request, observer);

    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->engine, engine);
  }
}

TEST_F(TrainTest, AModelThatNoMachineHasMemoryForIsRefusedWithItsSize) {
  PackSettings settings = SmallSettings("even_pairs", "rope", false);
  settings.model = {.layers = 500, .embedding_dim = 4096, .heads = 8, .mlp_dim = 65536, .dropout = 0.1};
  RecordingObserver observer;

  const absl::Status refused = Train(Request(settings, 3, "large"), observer).status();

  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  const std::string message(refused.message());
  EXPECT_NE(message.find("3 jobs of it at a time take "), std::string::npos) << message;
  EXPECT_NE(message.find(" GiB for parameters, gradients and moments, and this machine has "), std::string::npos) << message;
  EXPECT_NE(message.find("take a smaller one (model.layers, "), std::string::npos) << message;
}

TEST_F(TrainTest, MeasuresAccuracyAndLossAtEachLengthAndOverAll) {
  const PackRequest request = Request(SmallSettings("even_pairs", "rope", false), 1, "a");
  RecordingObserver observer;

  const absl::StatusOr<PackResult> result = Train(request, observer);

  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->step, 12);
  EXPECT_TRUE(result->engine.starts_with("lanes-")) << result->engine;
  ASSERT_EQ(result->results.size(), 1u);
  const std::vector<Measurement>& measured = result->results[0].measurements;
  ASSERT_EQ(measured.size(), 8u);  // Two metrics, three lengths and their mean.
  EXPECT_EQ(measured[0].metric, "accuracy");
  EXPECT_EQ(measured[0].length, 0);
  EXPECT_DOUBLE_EQ(measured[0].value, (measured[1].value + measured[2].value + measured[3].value) / 3);
  EXPECT_EQ(measured[3].length, 13);
  EXPECT_EQ(measured[4].metric, "loss");
  EXPECT_GT(measured[4].value, 0.1);
  EXPECT_EQ(observer.points.size(), 12u);
}

TEST_F(TrainTest, LearnsATaskThatFitsItsLengths) {
  PackSettings settings = SmallSettings("even_pairs", "rope", false);
  settings.training.steps = 400;
  settings.training.lengths = {2, 3, 4};
  settings.evaluation.lengths = {3, 4};
  const PackRequest request = Request(settings, 1, "a");
  RecordingObserver observer;

  const absl::StatusOr<PackResult> result = Train(request, observer);

  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_GT(result->results[0].measurements[0].value, 0.9);
}

TEST_F(TrainTest, DropoutAtTestChangesWhatIsMeasured) {
  const PackSettings settings = SmallSettings("bucket_sort", "rope", false);
  PackRequest off = Request(settings, 1, "off"), on = Request(settings, 1, "on");
  on.settings.evaluation.dropout = true;
  RecordingObserver observer;

  const absl::StatusOr<PackResult> without = Train(off, observer);
  const absl::StatusOr<PackResult> with = Train(on, observer);

  ASSERT_TRUE(without.ok() && with.ok());
  // The same weights, another loss.
  EXPECT_NE(without->results[0].measurements[5].value, with->results[0].measurements[5].value);
}

TEST_F(TrainTest, WritesCheckpointsAtTheirTimeAndGoesOnWhereNoneCanBeWritten) {
  PackRequest request = Request(SmallSettings("even_pairs", "rope", false), 1, "a");
  request.checkpoint_every_s = 1e-9;
  RecordingObserver observer;
  // From update 6 on there is no folder, until the last update is done.
  observer.wish = [&](const Progress& progress) {
    if (progress.step == 6) std::filesystem::remove_all(request.folder);
    if (progress.step == 12) std::filesystem::create_directories(request.folder);
    return Observer::Wish{};
  };

  const absl::StatusOr<PackResult> result = Train(request, observer);

  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->step, 12);
  ASSERT_GE(observer.checkpoint_steps.size(), 6u);
  EXPECT_EQ(observer.checkpoint_steps[5], 6);
}

// On a slow disk each of the things that come first may take minutes, and silence is taken for a hang.
TEST_F(TrainTest, GivesSignsOfLifeBetweenWhatItDoesBeforeTheFirstUpdate) {
  class Signs final : public RecordingObserver {
   public:
    void OnProgress(const Progress& progress) override {
      signs += progress.phase == Progress::Phase::kStarting;
      RecordingObserver::OnProgress(progress);
    }
    int signs = 0;
  };
  Signs observer;

  ASSERT_TRUE(Train(Request(SmallSettings("even_pairs", "rope", false), 1, "a"), observer).ok());

  EXPECT_GE(observer.signs, 4);  // The begin, and behind problem, engine and parameters.
}

TEST_F(TrainTest, WritesACheckpointOnceMoreWhereRoomCouldBeMade) {
  for (const bool makes_room : {false, true}) {
    PackRequest request = Request(SmallSettings("even_pairs", "rope", false), 1, makes_room ? "room" : "none");
    // Full at the first try: what could not be written is removed.
    std::filesystem::create_symlink("/dev/full", request.folder / "checkpoint-6.safetensors.part");
    RecordingObserver observer;
    observer.makes_room = makes_room;
    observer.wish = [](const Progress& progress) { return Observer::Wish{.stop = progress.step == 6, .dropped = {}}; };

    const absl::StatusOr<PackResult> result = Train(request, observer);

    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_TRUE(result->stopped);
    EXPECT_EQ(observer.asked_for_room, 1);
    EXPECT_EQ(observer.checkpoint_steps, makes_room ? std::vector<int>{6} : std::vector<int>{});
  }
}

// Who looks for why nothing comes of a job finds it in its log.
TEST_F(TrainTest, SaysOnceThatWhatIsComputedWaitsForRoom) {
  class Lines final : public RecordingObserver {
   public:
    void OnLine(const std::string& line) override {
      if (line.find("room") != std::string::npos) of_room.push_back(line);
    }
    void OnProgress(const Progress& progress) override {
      if (waits.empty() || waits.back() != progress.waits_for_room) waits.push_back(progress.waits_for_room);
      EXPECT_TRUE(!progress.waits_for_room || progress.phase == Progress::Phase::kWriting);
      RecordingObserver::OnProgress(progress);
    }
    std::vector<std::string> of_room;
    std::vector<bool> waits;  // As it changed.
  };
  PackRequest request = Request(SmallSettings("even_pairs", "rope", false), 1, "full");
  // Full at the first try: what could not be written is removed.
  const std::filesystem::path beside = request.folder / "weights.safetensors.part";
  std::filesystem::create_symlink("/dev/full", beside);
  Lines observer;

  const absl::StatusOr<PackResult> result = Train(request, observer);

  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_EQ(observer.of_room.size(), 2u);
  EXPECT_EQ(observer.of_room[0], "what is computed waits until there is room for it: cannot write " + beside.string() + ": No space left on device");
  EXPECT_EQ(observer.of_room[1], "there was room again, and it is written");
  EXPECT_EQ(observer.waits, (std::vector<bool>{false, true, false}));
  EXPECT_TRUE(std::filesystem::exists(result->weights));
}

TEST_F(TrainTest, StopsWithoutACheckpointWhereItsFolderIsGone) {
  PackRequest request = Request(SmallSettings("even_pairs", "rope", false), 1, "gone");
  request.checkpoint_every_s = 0;
  RecordingObserver observer;
  observer.wish = [&](const Progress& progress) {
    if (progress.step == 6) std::filesystem::remove_all(request.folder);
    return Observer::Wish{.stop = progress.step == 6, .dropped = {}};
  };

  const absl::StatusOr<PackResult> result = Train(request, observer);

  ASSERT_TRUE(result.ok()) << result.status();  // Its job would be to blame for its worker's disk.
  EXPECT_TRUE(result->stopped);
  EXPECT_EQ(result->step, 6);
  EXPECT_TRUE(observer.checkpoints.empty());
}

TEST_F(TrainTest, WritesNoCheckpointOfWhatIsAbandoned) {
  for (const bool testing : {false, true}) {
    PackRequest request = Request(SmallSettings("even_pairs", "rope", false), 1, testing ? "testing" : "training");
    request.checkpoint_every_s = 0;
    RecordingObserver observer;
    observer.wish = [&](const Progress& progress) {
      Observer::Wish wish;
      wish.abandon = testing ? progress.lengths_done == 1 : progress.step == 6;
      return wish;
    };

    const absl::StatusOr<PackResult> result = Train(request, observer);

    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_TRUE(result->stopped);
    EXPECT_EQ(result->step, testing ? 12 : 6);
    EXPECT_TRUE(observer.checkpoints.empty());
    EXPECT_TRUE(std::filesystem::is_empty(request.folder));
  }
}

TEST_F(TrainTest, AModelThatFitsNoMachineIsOutOfMemory) {
  PackRequest request = Request(SmallSettings("even_pairs", "rope", false), 1, "a");
  request.settings.model = {.layers = 1000, .embedding_dim = 65536, .heads = 8192, .mlp_dim = 65536};  // 70 TB.
  RecordingObserver observer;

  const absl::StatusOr<PackResult> result = Train(request, observer);

  EXPECT_EQ(result.status().code(), absl::StatusCode::kResourceExhausted) << result.status();
}

}  // namespace

}  // namespace longreach::trainer
