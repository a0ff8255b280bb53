// Files of another store that is taken over: whose they say that they are, and whose they were before.
#include <sys/stat.h>

#include "tests/store/merge_fixture.h"

namespace longreach::store {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class MergedFilesTest : public MergeTest {
 protected:
  // Both jobs of a pack have succeeded over there, and their weights are one file.
  void TrainThere() {
    const std::vector<int64_t> jobs = theirs_->AddSweep("one", pack_);
    const int64_t attempt = theirs_->Start("w2", jobs);
    for (const int member : {0, 1}) theirs_->AddFile(jobs[static_cast<size_t>(member)], "weights", 100, attempt, weights_, member);
    theirs_->Succeed(attempt, 0.75);
  }
  // As a damaged page, a program of somebody's or a bug would leave it.
  void SwapThere() { ASSERT_OK(theirs_->db().Run("UPDATE artifacts SET member = 1 - member")); }

  void Reopen() { theirs_ = std::make_unique<TestStore>(folder_ / "theirs.db"); }

  std::filesystem::path FileThere() const { return theirs_->store->artifacts().PathOf(Sha256Of(weights_)); }
  // What is said of the pack's weights when its jobs have changed places.
  auto SaysWhose() const {
    const std::string file = Sha256Of(weights_).substr(0, 8), first = pack_[0].id.substr(0, 8), second = pack_[1].id.substr(0, 8);
    return AllOf(HasSubstr("theirs.db' is not sound, nothing was merged: "), HasSubstr("weights " + file + " of job " + first + ": its member 1 is of job " + second + " (the file '"),
                 HasSubstr("and 1 more); 'longreach store check --repair --store "));
  }
  void ExpectNothingHere() {
    EXPECT_EQ(*ours_.db().One<int>("SELECT count(*) FROM jobs"), 0);
    EXPECT_EQ(*ours_.db().One<int>("SELECT count(*) FROM workers"), 1);
  }

  const std::vector<NewJob> pack_ = MakePack(2);
  const std::string weights_ = PackFileBytes("weights", 100, {pack_[0].id, pack_[1].id});
};

TEST_F(MergedFilesTest, APartOfAnotherJobIsRefusedAndNothingIsWritten) {
  TrainThere();
  SwapThere();
  ASSERT_THAT(theirs_->Violations(false), IsEmpty()) << "its rows alone are sound";

  const absl::Status refused = Merge().status();

  EXPECT_EQ(refused.code(), absl::StatusCode::kDataLoss) << refused;
  EXPECT_THAT(std::string(refused.message()), SaysWhose());
  ExpectNothingHere();
  EXPECT_THAT(ours_.store->artifacts().List(), IsEmpty()) << "nor was anything copied";
}

TEST_F(MergedFilesTest, APartWhoseRowIsRightAgainComes) {
  TrainThere();
  SwapThere();
  SwapThere();

  ASSERT_OK(Merge());

  for (const int member : {0, 1}) {
    ASSERT_OK_AND_ASSIGN(const std::optional<ArtifactRow> weights, ArtifactOfResult(ours_.db(), OurJob(pack_[static_cast<size_t>(member)]).num, "weights"));
    ASSERT_TRUE(weights.has_value());
    EXPECT_EQ(weights->member, member);
  }
  EXPECT_THAT(ours_.Violations(true), IsEmpty());
}

TEST_F(MergedFilesTest, ACheckpointOfAnotherJobOrStepIsRefused) {
  const std::vector<int64_t> jobs = theirs_->AddSweep("one", pack_);
  const int64_t attempt = theirs_->Start("w2", jobs);
  theirs_->AddFile(jobs[0], "checkpoint", 60, attempt, PackFileBytes("checkpoint", 50, {pack_[0].id, pack_[1].id}), 0);

  const absl::Status refused = Merge().status();

  EXPECT_EQ(refused.code(), absl::StatusCode::kDataLoss) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("of job " + pack_[0].id.substr(0, 8) + ": the file says that it is of step 50, and its row of step 60 (the file '"));
  ExpectNothingHere();
}

// Over there nobody can tell.
TEST_F(MergedFilesTest, AFileThatIsMissingThereAndIsHereIsLookedAtHere) {
  TrainThere();
  SwapThere();
  ours_.PutFile(weights_);
  ours_.store->artifacts().Settle(Sha256Of(weights_));
  std::filesystem::remove(FileThere());

  const absl::Status refused = Merge().status();

  EXPECT_EQ(refused.code(), absl::StatusCode::kDataLoss) << refused;
  EXPECT_THAT(std::string(refused.message()), SaysWhose());
  ExpectNothingHere();
}

TEST_F(MergedFilesTest, WhatADamagedFileSaysOfItselfKeepsNoResultBack) {
  TrainThere();
  SwapThere();
  std::string damaged = weights_;
  damaged.back() = 'x';
  WriteFile(FileThere(), damaged);

  ASSERT_OK_AND_ASSIGN(const MergeReport report, Merge());

  EXPECT_EQ(report.results_added, 2);
  EXPECT_EQ(report.lacking, 1);
}

TEST_F(MergedFilesTest, APipeInAFilesPlaceIsNotWaitedFor) {
  TrainThere();
  std::filesystem::remove(FileThere());
  ASSERT_EQ(mkfifo(FileThere().c_str(), 0600), 0);

  ASSERT_OK_AND_ASSIGN(const MergeReport report, Merge());

  EXPECT_EQ(report.results_added, 2);
  EXPECT_EQ(report.lacking, 1);
}

TEST_F(MergedFilesTest, TheCopyWithoutFilesThatARefusalProposesHasAllResults) {
  TrainThere();
  SwapThere();
  ASSERT_OK(Backup(theirs_->db(), folder_ / "copy.db").status());
  theirs_.reset();
  std::filesystem::remove_all(folder_ / "theirs.db.artifacts");
  for (const char* log : {"", "-wal", "-shm"}) std::filesystem::remove(folder_ / ("theirs.db" + std::string(log)));
  std::filesystem::rename(folder_ / "copy.db", folder_ / "theirs.db");

  ASSERT_OK_AND_ASSIGN(const MergeReport report, Merge());

  EXPECT_EQ(report.results_added, 2);
  EXPECT_EQ(report.lacking, 1);
}

TEST_F(MergedFilesTest, ARefusalSaysHowOftenAsTheCheckDoes) {
  theirs_->AddSweep("one", pack_);
  ASSERT_OK(theirs_->db().Execute("PRAGMA ignore_check_constraints = ON; DROP TRIGGER jobs_counted; UPDATE jobs SET diverged = 2; PRAGMA ignore_check_constraints = OFF"));

  const absl::Status refused = Merge().status();

  EXPECT_THAT(std::string(refused.message()), HasSubstr("nothing was merged: CHECK constraint failed in jobs (2 times)"));
}

// A store whose rows were wrong came when its file was nowhere; another one brings the file.
TEST_F(MergedFilesTest, ARowOfOursThatTheFileWhichComesContradictsIsNamedAndStays) {
  TrainThere();
  std::filesystem::copy(folder_ / "theirs.db.artifacts", folder_ / "kept", std::filesystem::copy_options::recursive);
  std::filesystem::remove(FileThere());
  SwapThere();
  ASSERT_OK_AND_ASSIGN(const MergeReport first, Merge());
  ASSERT_EQ(first.lacking, 1);
  EXPECT_THAT(first.misplaced, IsEmpty()) << "nobody can tell";
  Reopen();
  SwapThere();
  std::filesystem::remove_all(folder_ / "theirs.db.artifacts");
  std::filesystem::rename(folder_ / "kept", folder_ / "theirs.db.artifacts");

  ASSERT_OK_AND_ASSIGN(const MergeReport second, Merge());

  EXPECT_THAT(second.misplaced, ::testing::UnorderedElementsAre(
                                    HasSubstr("of job " + pack_[0].id.substr(0, 8) + ": its member 1 is of job " + pack_[1].id.substr(0, 8)),
                                    HasSubstr("of job " + pack_[1].id.substr(0, 8) + ": its member 0 is of job " + pack_[0].id.substr(0, 8))));
  EXPECT_EQ(second.results_in_both, 2);
  EXPECT_EQ(second.lacking, 0);
  EXPECT_THAT(second.differences, IsEmpty()) << "the file has the same weights for both rows of a job";
  EXPECT_EQ(second.weights_not_compared, 0);
  EXPECT_EQ(ours_.Violations(true).size(), 2u) << "the file is here, and a repair can read it";

  // And the same merge again, as the file is here.
  Reopen();
  ASSERT_OK_AND_ASSIGN(const MergeReport third, Merge());
  EXPECT_EQ(third.misplaced, second.misplaced);
}

// A store that went on from there brings both of its checkpoints, and their rows.
TEST_F(MergedFilesTest, ARowOfOursThatTheMergeReplacesIsNotNamed) {
  const std::vector<int64_t> jobs = theirs_->AddSweep("one", pack_);
  const int64_t attempt = theirs_->Start("w2", jobs);
  const auto add = [&](int step) {
    const std::string checkpoint = PackFileBytes("checkpoint", step, {pack_[0].id, pack_[1].id});
    for (const int member : {0, 1}) theirs_->AddFile(jobs[static_cast<size_t>(member)], "checkpoint", step, attempt, checkpoint, member);
    return Sha256Of(checkpoint);
  };
  const std::string first = add(50);
  ASSERT_OK(Merge());
  ASSERT_OK(ours_.db().Run("UPDATE artifacts SET member = 1 - member"));
  std::filesystem::remove(ours_.store->artifacts().PathOf(first));
  Reopen();
  add(60);

  ASSERT_OK_AND_ASSIGN(const MergeReport report, Merge());

  EXPECT_THAT(report.misplaced, IsEmpty());
  EXPECT_THAT(ours_.Violations(true), IsEmpty());
}

// A copy was put in the store's place, with its folder (docs/OPERATIONS.md, Restore). What was trained after it is taken over.
TEST_F(MergedFilesTest, WhatTheOtherStoreNamesAloneStaysInAFolderThatBothHave) {
  theirs_.reset();
  const auto open = [&](const std::string& name) {
    EXPECT_OK(Store::Open((folder_ / name).string(), {.artifacts = folder_ / "big"}).status());
    return std::make_unique<TestStore>(folder_ / name);
  };
  const auto train = [](TestStore& test, const std::string& weights, int64_t at) {
    const int64_t attempt = test.Start("w2", {1}, at);
    test.AddFile(1, "weights", 100, attempt, weights);
    test.Succeed(attempt, 0.75, at + 5);
  };
  theirs_ = open("theirs.db");
  theirs_->AddSweep("one", pack_);
  theirs_.reset();
  std::filesystem::copy(folder_ / "theirs.db", folder_ / "restored.db");
  theirs_ = std::make_unique<TestStore>(folder_ / "theirs.db");
  train(*theirs_, "the weights there", 10);
  theirs_.reset();
  std::filesystem::rename(folder_ / "theirs.db", folder_ / "away.db");
  const std::unique_ptr<TestStore> restored = open("restored.db");
  std::filesystem::rename(folder_ / "away.db", folder_ / "theirs.db");
  train(*restored, "the weights here", 50);

  std::vector<Pin> pins;
  {
    ASSERT_OK_AND_ASSIGN(MergeSource source, MergeSource::Open(folder_ / "theirs.db"));
    ASSERT_OK(source.CopyFiles(restored->store->artifacts(), PartsIn(*restored), pins));
    ASSERT_OK_AND_ASSIGN(sql::Transaction tx, sql::Transaction::Begin(restored->db()));
    ASSERT_OK_AND_ASSIGN(const MergeReport report, source.Apply(tx));
    ASSERT_OK(tx.Commit());
    EXPECT_EQ(report.results_in_both, 1);
    EXPECT_EQ(report.lacking, 0);
  }
  pins.clear();
  ASSERT_OK(RemoveUnusedFiles(restored->db(), restored->store->artifacts(), 10).status());

  for (const char* weights : {"the weights there", "the weights here"}) {
    EXPECT_TRUE(std::filesystem::exists(restored->store->artifacts().PathOf(Sha256Of(weights)))) << weights;
  }
}

}  // namespace
}  // namespace longreach::store
