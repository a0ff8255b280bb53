// Two runs of one job that are not told apart by their values, and results that were made of a run which is not the one that stays.
#include <string>
#include <vector>

#include "store/repair.h"
#include "tests/store/merge_fixture.h"

namespace longreach::store {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class MergeResultsTest : public MergeTest {
 protected:
  // Two jobs, of which the second begins with the first one's weights.
  MergeResultsTest() : jobs_(MakePack(2)) {
    jobs_[1].inputs = {{.name = "weights", .source = jobs_[0].id, .artifact = "weights", .metric = ""}};
  }

  // The first job, by a worker from that second on, so that the second one can begin: with this score and these weights as a member of their file.
  static void TrainFirst(TestStore& test, const std::string& worker, double score, const std::string& weights, int member = 0, int64_t at = 10) {
    const int64_t attempt = test.Start(worker, {1}, at);
    test.AddFile(1, "weights", 100, attempt, weights, member);
    test.Succeed(attempt, score, at + 10);
    EXPECT_OK(test.Write([](sql::Transaction& tx) { return ReleaseJob(tx, 2); }));
  }
  static void TrainSecond(TestStore& test, const std::string& worker, int64_t at = 30) {
    test.Succeed(test.Start(worker, {2}, at), 0.75, at + 10);
  }
  // The first job's result is found not to be whole, and it is to run again.
  static void RepairFirst(TestStore& test) {
    Mended mended;
    EXPECT_OK(test.Write([&](sql::Transaction& tx) -> absl::Status {
      RETURN_IF_ERROR(tx.Run("DELETE FROM measurements WHERE job = 1 AND length = 0").status());
      return MendResults(tx, mended);
    }));
    EXPECT_EQ(mended.done.size(), 1u);
    EXPECT_EQ(test.Job(1).state, State::kQueued);
  }

  std::string Named(size_t i) const { return "job " + jobs_[i].id.substr(0, 8) + " (even_pairs, rope, learning rate 0.001, seed " + std::to_string(i) + "): "; }
  std::string First() const { return jobs_[0].id.substr(0, 8); }
  std::string One(float value) const { return PackFileBytes("weights", 100, {jobs_[0].id}, {value}); }

  std::vector<NewJob> jobs_;
};

TEST_F(MergeResultsTest, TwoRunsWithTheSameValuesAndOtherWeightsAreToldAndOursStays) {
  ours_.AddSweep("one", jobs_);
  theirs_->AddSweep("one", jobs_);
  TrainFirst(ours_, "w1", 1, One(0.5F));
  TrainFirst(*theirs_, "w2", 1, One(0.25F));
  TrainSecond(*theirs_, "w2");

  ASSERT_OK_AND_ASSIGN(const MergeReport report, Merge());

  EXPECT_THAT(report.differences, ElementsAre(Named(0) + "its values are the same here and there, and its weights are not: there are two runs of it",
                                              Named(1) + "its result comes from there, where its input weights (job " + First() + ") has other weights than here"));
  EXPECT_EQ(report.results_in_both, 1);
  EXPECT_EQ(report.weights_not_compared, 0);
  ASSERT_OK_AND_ASSIGN(const std::optional<ArtifactRow> kept, ArtifactOfResult(ours_.db(), 1, "weights"));
  ASSERT_TRUE(kept.has_value());
  EXPECT_EQ(kept->sha256, Sha256Of(One(0.5F)));
  EXPECT_THAT(ours_.Violations(true), IsEmpty());
}

// On a CPU a job has the same bits in whichever pack it was trained, and each pack has a file of its own.
TEST_F(MergeResultsTest, TheSameWeightsInFilesOfOtherPacksAreNoDifference) {
  ours_.AddSweep("one", jobs_);
  theirs_->AddSweep("one", jobs_);
  TrainFirst(ours_, "w1", 1, PackFileBytes("weights", 100, {"another", jobs_[0].id}, {0.25F, 0.5F}), 1);
  TrainFirst(*theirs_, "w2", 1, One(0.5F));

  ASSERT_OK_AND_ASSIGN(const MergeReport report, Merge());

  EXPECT_THAT(report.differences, IsEmpty());
  EXPECT_EQ(report.results_in_both, 1);
  EXPECT_EQ(report.weights_not_compared, 0);
}

TEST_F(MergeResultsTest, WeightsThatSayNothingOfThemselvesAreCounted) {
  ours_.AddSweep("one", jobs_);
  theirs_->AddSweep("one", jobs_);
  TrainFirst(ours_, "w1", 1, "weights of another trainer");
  TrainFirst(*theirs_, "w2", 1, One(0.5F));

  ASSERT_OK_AND_ASSIGN(const MergeReport report, Merge());

  EXPECT_THAT(report.differences, IsEmpty());
  EXPECT_EQ(report.weights_not_compared, 1);
}

TEST_F(MergeResultsTest, WhatWasMadeThereOfARunThatARepairThereHasTakenBackIsTold) {
  theirs_->AddSweep("one", jobs_);
  TrainFirst(*theirs_, "w2", 0.5, One(0.5F));
  TrainSecond(*theirs_, "w2");
  RepairFirst(*theirs_);

  ASSERT_OK_AND_ASSIGN(const MergeReport report, Merge());

  EXPECT_THAT(report.differences, ElementsAre(Named(1) + "its result comes from there, where it was made of a result of its input weights (job " + First() + ") that is not there any more"));
  EXPECT_EQ(OurJob(jobs_[0]).state, State::kQueued);
  EXPECT_THAT(ours_.Violations(), IsEmpty());
}

TEST_F(MergeResultsTest, WhatWasMadeHereOfARunThatARepairHasTakenBackIsToldWhenAnotherOneComes) {
  ours_.AddSweep("one", jobs_);
  TrainFirst(ours_, "w1", 0.5, One(0.5F));
  TrainSecond(ours_, "w1");
  RepairFirst(ours_);
  theirs_->AddSweep("one", jobs_);
  TrainFirst(*theirs_, "w2", 0.5, One(0.25F));

  ASSERT_OK_AND_ASSIGN(const MergeReport report, Merge());

  EXPECT_THAT(report.differences, ElementsAre(Named(1) + "its result was made here, of another result of its input, job " + First() + ", than the one that comes from there"));
  EXPECT_EQ(report.results_added, 1);
  EXPECT_THAT(ours_.Violations(), IsEmpty());
}

// A copy of the store from before it came to harm has that very run.
TEST_F(MergeResultsTest, TheRunThatItWasMadeOfIsNoOtherOneWhenItComesBack) {
  theirs_->AddWorker("w1");
  for (TestStore* test : {&ours_, theirs_.get()}) {
    test->AddSweep("one", jobs_);
    TrainFirst(*test, "w1", 0.5, One(0.5F));
    TrainSecond(*test, "w1");
  }
  RepairFirst(ours_);

  ASSERT_OK_AND_ASSIGN(const MergeReport report, Merge());

  EXPECT_THAT(report.differences, IsEmpty());
  EXPECT_EQ(report.results_added, 1);
  EXPECT_EQ(OurJob(jobs_[0]).attempt, 1);
}

}  // namespace
}  // namespace longreach::store
