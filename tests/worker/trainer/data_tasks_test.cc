// Language modelling and image classification from a data folder: the same contract as the algorithmic tasks have.
#include <cmath>
#include <map>
#include <numbers>

#include "tests/worker/trainer/data_fixture.h"

namespace longreach::trainer {

namespace {

TEST_F(DataTest, EveryEncodingIsTheSameInAPackOnAnyThreadsAndResumed) {
  const std::vector<std::string> plain = {"none", "sin_cos", "alibi",        "relative",   "rope",
                                          "learned", "power_kerple", "log_kerple", "sandwich", "shape", "t5", "fire"};
  for (const std::string experiment : {"language", "images"}) {
    for (const std::string& encoding : plain) {
      for (const bool randomized : {false, true}) {
        if (randomized && (encoding == "none" || encoding == "shape")) continue;
        const std::string name = experiment + encoding + (randomized ? "R" : "");
        SCOPED_TRACE(name);
        const PackSettings settings = Small(experiment, encoding, randomized);
        const PackRequest pack = RequestOf(settings, 3, name + "_pack");
        const PackResult of_pack = Run(pack);
        ASSERT_EQ(of_pack.results.size(), 3u);
        EXPECT_EQ(of_pack.engine, "libtorch");

        // Alone, on one thread, stopped after two updates and again at the first test length.
        PackRequest request = RequestOf(settings, 3, name + "_first");
        request.members = {pack.members[2]};
        request.threads = 1;
        RecordingObserver first;
        first.wish = [](const Progress& progress) { return Observer::Wish{.stop = progress.step == 2, .dropped = {}}; };
        ASSERT_TRUE(Train(request, first).ok());
        ASSERT_EQ(first.checkpoints.size(), 1u);
        request.folder = Folder(name + "_second");
        request.members[0].checkpoints = {{first.checkpoints[0], 0}};
        RecordingObserver second;
        second.wish = [](const Progress& progress) { return Observer::Wish{.stop = progress.lengths_done == 1, .dropped = {}}; };
        ASSERT_TRUE(Train(request, second).ok());
        ASSERT_EQ(second.checkpoints.size(), 1u);
        request.folder = Folder(name + "_third");
        request.members[0].checkpoints = {{second.checkpoints[0], 0}};
        const PackResult alone = Run(request);

        ASSERT_EQ(alone.results.size(), 1u);
        ASSERT_FALSE(alone.results[0].measurements.empty());
        ExpectSameMeasurements(of_pack.results[2], alone.results[0]);
      }
    }
  }
}

TEST_F(DataTest, AModelOfTextLearnsAndItsMetricsAreOneLoss) {
  PackSettings settings = Small("language", "alibi", false);
  settings.training.steps = 60;
  RecordingObserver observer;
  const absl::StatusOr<PackResult> result = Train(RequestOf(settings, 1, "learns"), observer);
  ASSERT_TRUE(result.ok()) << result.status();
  // From 256 alike to the few letters that there are.
  EXPECT_NEAR(observer.points.front().loss, std::log(256), 0.7);
  EXPECT_LT(observer.points.back().loss, 3.4);
  const MemberResult& member = result->results[0];
  for (const int length : {16, 40}) {
    const double cross_entropy = ValueOf(member, "cross_entropy", length);
    EXPECT_NEAR(ValueOf(member, "bits_per_byte", length), cross_entropy / length / std::numbers::ln2, 1e-12);
    EXPECT_LT(cross_entropy, 3.6 * length);
    EXPECT_GT(ValueOf(member, "accuracy", length), 0.05);
  }
  EXPECT_NEAR(ValueOf(member, "cross_entropy", 0),
              (ValueOf(member, "cross_entropy", 16) + ValueOf(member, "cross_entropy", 40)) / 2, 1e-9);
}

// Up to the length that it is trained at, a model whose queries grow beyond it alone has the bits of one whose queries never do.
TEST_F(DataTest, AModelOfTextAttendsByTheNumberOfKeys) {
  using Scaling = PackSettings::Model::LengthScaling;
  const auto measured = [&](Scaling scaling, const std::string& name, int from = 0) {
    PackSettings settings = Small("language", "rope", false);
    settings.model.length_scaling = scaling;
    settings.model.length_scaling_from = from;
    return Run(RequestOf(settings, 1, name)).results.at(0);
  };
  const MemberResult plain = measured(Scaling::kNone, "plain"), beyond = measured(Scaling::kLogBeyond, "beyond"), always = measured(Scaling::kLog, "always");
  EXPECT_EQ(ValueOf(beyond, "cross_entropy", 16), ValueOf(plain, "cross_entropy", 16));
  EXPECT_NE(ValueOf(beyond, "cross_entropy", 40), ValueOf(plain, "cross_entropy", 40));
  EXPECT_NE(ValueOf(always, "cross_entropy", 16), ValueOf(plain, "cross_entropy", 16));
  ExpectSameMeasurements(measured(Scaling::kLogBeyond, "given", 16), beyond);
}

TEST_F(DataTest, NoByteIsPredictedFromItselfOrALaterOne) {
  // Of noise nothing can be known beforehand: were a byte visible at its own place, its loss would fall.
  PackSettings settings = Small("language", "none", false);
  settings.model.dropout = 0;
  std::ofstream(Folder("source") / "noise", std::ios::binary) << [] {
    std::string noise;
    unsigned next = 7;
    for (int i = 0; i < 20000; ++i) {
      next = next * 1664525u + 1013904223u;
      noise += static_cast<char>(next >> 24);
    }
    return noise;
  }();
  data::NoProgress quiet;
  ASSERT_TRUE(data::ImportText({.folder = Folder("data"), .name = "noise", .sources = {Folder("source") / "noise"}}, quiet).ok());
  settings.data = "noise";
  settings.training.steps = 100;
  const PackResult noise = Run(RequestOf(settings, 1, "noise"));
  ASSERT_EQ(noise.results.size(), 1u);
  EXPECT_GT(ValueOf(noise.results[0], "cross_entropy", 16) / 16, 0.98 * std::log(256));
}

TEST_F(DataTest, FineTuningGoesOnFromTheWeightsOfAnotherEncoding) {
  PackSettings settings = Small("language", "rope", false);
  settings.training.steps = 40;
  const PackResult pretrained = Run(RequestOf(settings, 2, "pretrained"));
  settings.encoding = "alibi";
  settings.training.steps = 1;
  PackRequest tuning = RequestOf(settings, 1, "tuned");
  const PackResult anew = Run(tuning);
  tuning.folder = Folder("tuned2");
  tuning.members[0].weights = MemberFile{pretrained.weights, 1};
  const PackResult tuned = Run(tuning);
  ASSERT_EQ(tuned.results.size(), 1u);
  EXPECT_LT(ValueOf(tuned.results[0], "cross_entropy", 16), ValueOf(anew.results[0], "cross_entropy", 16) - 10);
}

TEST_F(DataTest, BothReadingsOfAnImagesLengthHaveTheirImages) {
  std::map<std::string, double> losses;
  for (const auto& [delimiter, counted, linear] :
       {std::tuple(true, true, false), {true, false, false}, {false, true, false}, {true, true, true}}) {
    PackSettings settings = Small("images", "sin_cos", false);
    settings.model.row_delimiter = delimiter;
    settings.model.count_delimiters = counted;
    if (linear) settings.model.pixel_embedding = PackSettings::Model::PixelEmbedding::kLinear;
    const std::string name = std::to_string(delimiter) + std::to_string(counted) + std::to_string(linear);
    const PackResult result = Run(RequestOf(settings, 1, name));
    ASSERT_EQ(result.results.size(), 1u);
    losses[name] = ValueOf(result.results[0], "cross_entropy", 20);
    EXPECT_NEAR(losses[name], std::log(4), 1.0) << name;
  }
  EXPECT_NE(losses["110"], losses["100"]);
  EXPECT_NE(losses["110"], losses["010"]);
  EXPECT_NE(losses["110"], losses["111"]);
}

TEST_F(DataTest, RefusesDataThatIsNotThereOrTooShort) {
  RecordingObserver observer;
  PackSettings settings = Small("language", "rope", false);
  settings.data = "elsewhere";
  EXPECT_EQ(Train(RequestOf(settings, 1, "a"), observer).status().code(), absl::StatusCode::kNotFound);
  settings.data = "marks";
  const absl::Status images = Train(RequestOf(settings, 1, "b"), observer).status();
  EXPECT_EQ(images, absl::InvalidArgumentError("data: the data set 'marks' is of the kind 'images', and 'text' is needed"));
  EXPECT_EQ(CheckDataSets(settings, RequestOf(settings, 1, "b2").data), images) << "the kind is in its identity";
  PackSettings texts = Small("images", "rope", false);
  texts.data = "words";
  EXPECT_EQ(CheckDataSets(texts, RequestOf(texts, 1, "b3").data), absl::InvalidArgumentError("data: the data set 'words' is of the kind 'text', and 'images' is needed"));
  settings.data = "words";
  settings.evaluation.lengths = {100'000};
  const absl::Status too_long = Train(RequestOf(settings, 1, "c"), observer).status();
  EXPECT_EQ(too_long.code(), absl::StatusCode::kInvalidArgument) << too_long;
  const auto everywhere = [&](const PackSettings& of) { return CheckDataSets(of, RequestOf(of, 1, "everywhere").data); };
  EXPECT_EQ(everywhere(settings), too_long) << "whatever machine has these bytes";
  PackSettings sizes = Small("images", "rope", false);
  sizes.evaluation.lengths = {30};  // 5 x (5+1): imported without it.
  const absl::Status no_size = Train(RequestOf(sizes, 1, "d"), observer).status();
  EXPECT_EQ(no_size.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(std::string(no_size.message()).starts_with("evaluation.lengths: the data set 'marks' has its images at ")) << no_size;
  EXPECT_EQ(everywhere(sizes), no_size);
  sizes.evaluation.lengths = {30, 42};  // And 6 x (6+1).
  EXPECT_NE(everywhere(sizes).message().find(", not at 5x5, 6x6; import it"), std::string_view::npos) << everywhere(sizes) << ": images are imported anew once";
  PackSettings classes = Small("images", "rope", false);
  classes.model.classes = 3;
  EXPECT_EQ(Train(RequestOf(classes, 1, "e"), observer).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(everywhere(classes).code(), absl::StatusCode::kInvalidArgument);
  PackRequest other = RequestOf(Small("language", "rope", false), 1, "f");
  other.data.sha256 = std::string(64, '0');
  EXPECT_EQ(Train(other, observer).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_FALSE(absl::IsInvalidArgument(CheckDataSets(other.settings, other.data))) << "another machine may have them";

  PackSettings unknown = Small("language", "rope", false);
  unknown.encoding = "of a later build";
  EXPECT_EQ(Train(RequestOf(unknown, 1, "g"), observer).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(everywhere(unknown).ok());
  EXPECT_TRUE(everywhere(Small("images", "rope", false)).ok());
}

TEST_F(DataTest, SettingsThatOnlyTwoSidesHaveAreRefused) {
  PackSettings settings = Small("language", "relative", true);
  settings.positions.relative_as_released = true;
  EXPECT_FALSE(Validate(settings).ok());
  settings = Small("language", "sandwich", false);
  settings.model.break_symmetry = true;
  EXPECT_FALSE(Validate(settings).ok());
  settings = Small("language", "rope", false);
  settings.data = "";
  EXPECT_FALSE(Validate(settings).ok());
  settings = Small("images", "rope", false);
  settings.task = "enwik8";
  EXPECT_FALSE(Validate(settings).ok());
}

}  // namespace

}  // namespace longreach::trainer
