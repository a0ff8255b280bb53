// Attention matrices that a job leaves beside its measurements. Their values are held to an independent implementation by
// golden_check (tests/golden/language).
#include "tests/worker/trainer/pack_fixture.h"
#include "worker/trainer/checkpoint/safetensors.h"

namespace longreach::trainer {

namespace {

class AttentionSeriesTest : public PackTest {
 protected:
  static PackSettings Settings(const std::string& encoding, bool randomized) {
    PackSettings settings = SmallSettings("reverse_string", encoding, randomized);
    settings.evaluation.attention_lengths = {8, 13};
    return settings;
  }
  static PackResult Run(const PackRequest& request, RecordingObserver& observer) {
    absl::StatusOr<PackResult> result = Train(request, observer);
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? *std::move(result) : PackResult{};
  }
};

TEST_F(AttentionSeriesTest, EachMemberHasItsOwnWithTheBitsThatItHasAlone) {
  RecordingObserver observer;
  PackRequest pack = Request(Settings("rope", true), 3, "pack");
  PackRequest alone = pack;
  alone.members = {pack.members[1]};
  alone.folder = Folder("alone");
  alone.threads = 1;

  const PackResult together = Run(pack, observer);
  const PackResult single = Run(alone, observer);

  ASSERT_EQ(together.series.size(), 3u);
  ASSERT_EQ(single.series.size(), 1u);
  EXPECT_EQ(together.series[1].member, 1);
  EXPECT_EQ(Bytes(together.series[1].file), Bytes(single.series[0].file));
  EXPECT_NE(Bytes(together.series[0].file), Bytes(together.series[1].file));
}

TEST_F(AttentionSeriesTest, OneHeadsSharesSumToOneAndTokensAndPositionsStandBeside) {
  RecordingObserver observer;
  PackSettings settings = Settings("sin_cos", true);
  settings.model.heads = 1;

  const PackResult result = Run(Request(settings, 1, "a"), observer);

  ASSERT_EQ(result.series.size(), 1u);
  const absl::StatusOr<SafetensorsFile> file = SafetensorsFile::Open(result.series[0].file);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->Metadata("job"), "job0");
  EXPECT_EQ(file->Metadata("encoding"), "sin_cos:randomized");
  for (const int length : {8, 13}) {
    const size_t tape = 2 * static_cast<size_t>(length);  // A string and its reverse.
    const absl::StatusOr<std::vector<float>> shares = file->Floats("attention/" + std::to_string(length));
    const absl::StatusOr<std::vector<int32_t>> tokens = file->Integers("tokens/" + std::to_string(length)),
                                               positions = file->Integers("positions/" + std::to_string(length));
    ASSERT_TRUE(shares.ok() && tokens.ok() && positions.ok());
    ASSERT_EQ(shares->size(), 2 * tape * tape);
    for (size_t row = 0; row < 2 * tape; ++row) {
      double sum = 0;
      for (size_t key = 0; key < tape; ++key) sum += (*shares)[row * tape + key];
      EXPECT_NEAR(sum, 1, 1e-5) << "row " << row;
    }
    ASSERT_EQ(tokens->size(), tape);
    EXPECT_EQ(tokens->back(), 2);  // An output's place.
    ASSERT_EQ(positions->size(), tape);
    for (size_t t = 1; t < tape; ++t) EXPECT_LT((*positions)[t - 1], (*positions)[t]);
    EXPECT_LT(positions->back(), settings.positions.max_position);
  }
}

TEST_F(AttentionSeriesTest, AStopOnTheWayLosesNothing) {
  RecordingObserver straight, stopping;
  const PackRequest whole = Request(Settings("log_kerple", false), 2, "whole");
  PackRequest broken = Request(Settings("log_kerple", false), 2, "broken");
  // All lengths are tested and the first layer has been looked at.
  int after = 0;
  stopping.wish = [&after](const Progress& progress) {
    return Observer::Wish{.stop = progress.lengths_done == 3 && ++after == 2, .dropped = {}};
  };
  const PackResult expected = Run(whole, straight);

  const PackResult stopped = Run(broken, stopping);
  ASSERT_TRUE(stopped.stopped);
  ASSERT_EQ(stopping.checkpoints.size(), 1u);
  for (int m = 0; m < 2; ++m) broken.members[static_cast<size_t>(m)].checkpoints = {{stopping.checkpoints[0], m}};
  broken.folder = Folder("resumed");
  RecordingObserver observer;
  const PackResult result = Run(broken, observer);

  ASSERT_EQ(result.series.size(), 2u);
  for (size_t m = 0; m < 2; ++m) EXPECT_EQ(Bytes(result.series[m].file), Bytes(expected.series[m].file));
}

TEST_F(AttentionSeriesTest, ADivergedMemberHasNone) {
  PackRequest request = Request(Settings("none", false), 2, "a");
  request.members[0].learning_rate = 1e30;
  RecordingObserver observer;

  const PackResult result = Run(request, observer);

  ASSERT_TRUE(result.results[0].diverged);
  ASSERT_EQ(result.series.size(), 1u);
  EXPECT_EQ(result.series[0].member, 1);
}

TEST_F(AttentionSeriesTest, RefusesLengthsThatAreNotTestedOrTooMany) {
  PackSettings settings = Settings("none", false);
  settings.evaluation.attention_lengths = {9, 10};
  EXPECT_EQ(Validate(settings).message(), "evaluation.attention_lengths: 10 is not among evaluation.lengths");
  // 500 layers of 400 x 400.
  settings.model.layers = 500;
  settings.evaluation.lengths = settings.evaluation.attention_lengths = {200};
  EXPECT_EQ(Validate(settings).code(), absl::StatusCode::kInvalidArgument);
  settings.evaluation.attention_lengths = {};
  EXPECT_TRUE(Validate(settings).ok()) << Validate(settings);
}

}  // namespace

}  // namespace longreach::trainer
