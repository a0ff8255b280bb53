// Members that leave a pack early, and packs that only evaluate.
#include <cmath>
#include <limits>

#include "proto/base/text.h"
#include "tests/worker/trainer/pack_fixture.h"

namespace longreach::trainer {

namespace {

class MembersTest : public PackTest {
 protected:
  PackResult Run(const PackRequest& request, RecordingObserver& observer) {
    absl::StatusOr<PackResult> result = Train(request, observer);
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? *std::move(result) : PackResult{};
  }
};

TEST_F(MembersTest, ADivergedMemberLeavesTheOthersAsTheyAre) {
  const PackSettings settings = SmallSettings("bucket_sort", "log_kerple", true);
  const PackRequest calm = Request(settings, 3, "calm");
  PackRequest wild = Request(settings, 3, "wild");
  wild.members[1].learning_rate = 1e30;
  RecordingObserver observer;

  const PackResult expected = Run(calm, observer);
  const PackResult result = Run(wild, observer);

  ASSERT_EQ(result.results.size(), 3u);
  EXPECT_TRUE(result.results[1].diverged);
  EXPECT_GE(result.results[1].diverged_at, 1);
  EXPECT_TRUE(result.results[1].measurements.empty());
  for (const size_t m : {0u, 2u}) {
    EXPECT_FALSE(result.results[m].diverged);
    ExpectSameMeasurements(result.results[m], expected.results[m]);
  }
}

TEST_F(MembersTest, AMemberThatTheLastUpdateBlewUpHasDiverged) {
  PackRequest request = Request(SmallSettings("bucket_sort", "none", false), 2, "a");
  request.settings.training.steps = 1;
  request.members[1].learning_rate = 1e30;
  RecordingObserver observer;

  const PackResult result = Run(request, observer);

  EXPECT_FALSE(result.results[0].diverged);
  EXPECT_FALSE(result.results[0].measurements.empty());
  EXPECT_TRUE(result.results[1].diverged);
  EXPECT_EQ(result.results[1].diverged_at, 1);
  EXPECT_TRUE(result.results[1].measurements.empty());
}

TEST_F(MembersTest, APackOfDivergedMembersEndsAtOnce) {
  PackRequest request = Request(SmallSettings("even_pairs", "none", false), 2, "a");
  request.settings.training.steps = 1'000'000;  // Would take an hour.
  for (Member& member : request.members) member.learning_rate = 1e30;
  RecordingObserver observer;

  const PackResult result = Run(request, observer);

  EXPECT_TRUE(result.results[0].diverged);
  EXPECT_TRUE(result.results[1].diverged);
  EXPECT_LT(result.step, 100);
}

TEST_F(MembersTest, ADivergedMemberStaysDivergedWhenResumed) {
  PackRequest request = Request(SmallSettings("even_pairs", "none", false), 2, "a");
  request.members[0].learning_rate = 1e30;
  RecordingObserver first;
  first.wish = [](const Progress& progress) {
    return Observer::Wish{.stop = progress.step == 8, .dropped = {}};
  };
  Run(request, first);
  ASSERT_EQ(first.checkpoints.size(), 1u);
  for (int m = 0; m < 2; ++m) {
    request.members[static_cast<size_t>(m)].checkpoints = {{first.checkpoints[0], m}};
  }
  request.folder = Folder("b");
  RecordingObserver second;

  const PackResult result = Run(request, second);

  EXPECT_TRUE(result.results[0].diverged);
  EXPECT_LT(result.results[0].diverged_at, 8);
  EXPECT_FALSE(result.results[1].diverged);
}

TEST_F(MembersTest, ADroppedMemberLeavesTheOthersAsTheyAre) {
  const PackSettings settings = SmallSettings("reverse_string", "rope", true);
  const PackRequest whole = Request(settings, 3, "whole");
  const PackRequest dropped = Request(settings, 3, "dropped");
  RecordingObserver observer;
  const PackResult expected = Run(whole, observer);
  RecordingObserver dropping;
  dropping.wish = [](const Progress& progress) {
    return progress.step >= 4 ? Observer::Wish{.stop = false, .dropped = {0}} : Observer::Wish{};
  };

  const PackResult result = Run(dropped, dropping);

  EXPECT_TRUE(result.results[0].dropped);
  EXPECT_TRUE(result.results[0].measurements.empty());
  ExpectSameMeasurements(result.results[1], expected.results[1]);
  ExpectSameMeasurements(result.results[2], expected.results[2]);
}

TEST_F(MembersTest, OneThatIsDroppedAfterItsTestsHasNoPartOfAResult) {
  PackSettings settings = SmallSettings("reverse_string", "rope", true);
  settings.evaluation.attention_lengths = {8};
  RecordingObserver observer, dropping;
  const PackResult expected = Run(Request(settings, 2, "whole"), observer);
  dropping.wish = [](const Progress& progress) {
    return progress.lengths_done == 3 ? Observer::Wish{.stop = false, .dropped = {0}} : Observer::Wish{};
  };

  const PackResult result = Run(Request(settings, 2, "dropped"), dropping);

  EXPECT_TRUE(result.results[0].dropped);
  EXPECT_TRUE(result.results[0].measurements.empty());
  EXPECT_FALSE(result.results[1].dropped);
  ExpectSameMeasurements(result.results[1], expected.results[1]);
}

TEST_F(MembersTest, ADroppedMemberCannotGoOnFromThatCheckpoint) {
  // Job 0 was dropped at update 4; the checkpoint is of update 9. Asked for again, it must start anew, not go
  // on from 4 as if it were 9.
  PackRequest request = Request(SmallSettings("even_pairs", "none", false), 2, "a");
  RecordingObserver first;
  first.wish = [](const Progress& progress) {
    return Observer::Wish{.stop = progress.step == 9,
                          .dropped = progress.step >= 4 ? std::vector<int>{0} : std::vector<int>{}};
  };
  Run(request, first);
  ASSERT_EQ(first.checkpoints.size(), 1u);
  PackRequest again = Request(request.settings, 1, "b");
  RecordingObserver fresh, resumed;
  const PackResult expected = Run(again, fresh);
  again.folder = Folder("c");
  again.members[0].checkpoints = {{first.checkpoints[0], 0}};

  const PackResult result = Run(again, resumed);

  EXPECT_EQ(resumed.points.size(), 12u);
  ExpectSameMeasurements(result.results[0], expected.results[0]);
}

// A worker's trainer lives on from pack to pack, and its first may have nothing to train.
TEST_F(MembersTest, WhatOnlyEvaluatesMayComeBeforeWhatTrains) {
  PackSettings settings = SmallSettings("reverse_string", "none", false);
  RecordingObserver observer;
  const PackResult trained = Run(Request(settings, 1, "trained"), observer);  // By the lanes engine, where there is one.
  settings.model.heads = 2;  // By LibTorch: parameters have the same shapes.
  PackRequest evaluated = Request(settings, 1, "evaluated");
  evaluated.settings.training.steps = 0;
  evaluated.settings.training.lengths.clear();
  evaluated.members[0].weights = MemberFile{trained.weights, 0};
  EXPECT_EQ(Run(evaluated, observer).engine, "libtorch");

  const PackResult result = Run(Request(settings, 1, "after"), observer);

  EXPECT_EQ(result.step, 12);
}

TEST_F(MembersTest, WithoutStepsWeightsAreEvaluatedAsTheyAre) {
  const PackSettings settings = SmallSettings("reverse_string", "log_kerple", true);
  RecordingObserver observer;
  const PackResult trained = Run(Request(settings, 2, "trained"), observer);
  PackRequest request = Request(settings, 2, "evaluated");
  request.settings.training.steps = 0;
  request.settings.training.lengths.clear();
  // The other way round.
  request.members[0].weights = MemberFile{trained.weights, 1};
  request.members[1].weights = MemberFile{trained.weights, 0};

  const PackResult result = Run(request, observer);

  EXPECT_EQ(result.step, 0);
  ExpectSameMeasurements(result.results[0], trained.results[1]);
  ExpectSameMeasurements(result.results[1], trained.results[0]);
}

TEST_F(MembersTest, WeightsOfAnotherModelAreRefused) {
  RecordingObserver observer;
  const PackResult trained =
      Run(Request(SmallSettings("reverse_string", "none", false), 1, "trained"), observer);
  PackRequest request = Request(SmallSettings("bucket_sort", "none", false), 1, "other");
  request.members[0].weights = MemberFile{trained.weights, 0};

  const absl::StatusOr<PackResult> result = Train(request, observer);

  EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument) << result.status();
  EXPECT_NE(result.status().message().find("embed.w"), absl::string_view::npos) << result.status();
}

// All members of a file have the same shapes.
TEST_F(MembersTest, WeightsOfAnotherMemberThanTheJobsAreRefused) {
  const PackSettings settings = SmallSettings("reverse_string", "none", false);
  RecordingObserver observer;
  const PackRequest makers = Request(settings, 2, "trained");
  const PackResult trained = Run(makers, observer);
  PackRequest request = Request(settings, 1, "tested");
  request.settings.training.steps = 0;
  request.settings.training.lengths.clear();
  for (const int member : {-1, 0, 2}) {
    request.members[0].weights = MemberFile{trained.weights, member, makers.members[1].job};
    const absl::Status status = Train(request, observer).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_NE(status.message().find(Text("its member ", member, " is not job ", makers.members[1].job)), absl::string_view::npos) << status;
  }
  request.members[0].weights = MemberFile{trained.weights, 1, makers.members[1].job};

  ExpectSameMeasurements(Run(request, observer).results[0], trained.results[1]);
}

TEST_F(MembersTest, WithoutTestLengthsThereAreNoMeasurements) {
  PackRequest request = Request(SmallSettings("even_pairs", "none", false), 1, "a");
  request.settings.evaluation.lengths.clear();
  RecordingObserver observer;

  const PackResult result = Run(request, observer);

  EXPECT_EQ(result.step, 12);
  EXPECT_TRUE(result.results[0].measurements.empty());
  EXPECT_FALSE(result.results[0].diverged);
}

}  // namespace

}  // namespace longreach::trainer
