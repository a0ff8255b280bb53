// What another store may be in the middle of when it is taken over, and what it is refused for.
#include <set>

#include "store/file_lock.h"
#include "tests/store/merge_fixture.h"

namespace longreach::store {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Two of its five jobs have come.
absl::Status SubmitInPart(sql::Transaction& tx) {
  ASSIGN_OR_RETURN(InsertedJobs jobs, InsertJobs(tx, MakePack(2), {.wanted = true}));
  ASSIGN_OR_RETURN(int64_t sweep, InsertSweep(tx, {.id = Sha256Of("s"), .name = "large", .spec = "s", .jobs = 5}));
  return AddSweepJobs(tx, sweep, jobs.nums, {});
}

TEST_F(MergeTest, AStoreWithASweepThatIsNotThereToItsEndIsRefused) {
  ASSERT_OK(theirs_->Write(SubmitInPart));
  EXPECT_THAT(theirs_->Violations(), IsEmpty());

  const absl::Status status = Merge().status();

  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("the sweep 'large' over there was not submitted to its end: 3 of its jobs are to come"));
  EXPECT_EQ(*ours_.db().One<int>("SELECT count(*) FROM jobs"), 0);
}

TEST_F(MergeTest, ASweepThatWasCancelledWhileItsJobsCameIsTakenOverWithThoseThatAreToCome) {
  ASSERT_OK(theirs_->Write([](sql::Transaction& tx) -> absl::Status {
    RETURN_IF_ERROR(SubmitInPart(tx));
    RETURN_IF_ERROR(SetSweepState(tx, 1, SweepState::kCancelled));
    RETURN_IF_ERROR(SetUnsettled(tx, 1, 0));
    ASSIGN_OR_RETURN(const SweepRow sweep, GetSweep(tx, 1));
    return SettleJobs(tx, sweep, 10).status();
  }));
  EXPECT_THAT(theirs_->Violations(), IsEmpty());

  ASSERT_OK(Merge());

  ASSERT_OK_AND_ASSIGN(SweepRow sweep, GetSweep(ours_.db(), 1));
  EXPECT_EQ(sweep.state, SweepState::kCancelled);
  EXPECT_EQ(sweep.to_come, 3);
  EXPECT_EQ(sweep.there(), 2);
  EXPECT_EQ(sweep.counts.cancelled, 5);
  EXPECT_THAT(ours_.Violations(), IsEmpty());
  // Submitted again, it gets the others.
  ASSERT_OK(ours_.Write([](sql::Transaction& tx) -> absl::Status {
    RETURN_IF_ERROR(SetSweepState(tx, 1, SweepState::kLive));
    const std::vector<NewJob> all = MakePack(5);
    ASSIGN_OR_RETURN(InsertedJobs jobs, InsertJobs(tx, std::span(all).subspan(2), {.wanted = true}));
    RETURN_IF_ERROR(AddSweepJobs(tx, 1, jobs.nums, {}));
    RETURN_IF_ERROR(RefreshWanted(tx, 1));
    return ReviveCancelledJobs(tx, 1).status();
  }));
  EXPECT_EQ(ours_.SweepCounts(1).queued, 5);
  EXPECT_THAT(ours_.Violations(), IsEmpty());
}

TEST_F(MergeTest, OneWhoseJobsDoNotFollowTheCancelYetIsRefusedForThat) {
  ASSERT_OK(theirs_->Write([](sql::Transaction& tx) -> absl::Status {
    RETURN_IF_ERROR(SubmitInPart(tx));
    RETURN_IF_ERROR(SetSweepState(tx, 1, SweepState::kCancelled));
    return SetUnsettled(tx, 1, 0);
  }));

  EXPECT_THAT(std::string(Merge().status().message()), HasSubstr("the sweep 'large' over there was steered (cancelled)"));
}

// Paused, and only the first of its jobs follow.
absl::Status PauseTwoJobs(sql::Transaction& tx) {
  RETURN_IF_ERROR(SetSweepState(tx, 1, SweepState::kPaused));
  RETURN_IF_ERROR(SetUnsettled(tx, 1, 0));
  ASSIGN_OR_RETURN(const SweepRow sweep, GetSweep(tx, 1));
  return SettleJobs(tx, sweep, 2).status();
}

TEST_F(MergeTest, AStoreWithASweepWhoseJobsDoNotFollowItYetIsRefused) {
  theirs_->AddSweep("large", MakePack(5));
  ASSERT_OK(theirs_->Write(PauseTwoJobs));
  EXPECT_THAT(theirs_->Violations(), IsEmpty());

  const absl::Status status = Merge().status();

  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("the sweep 'large' over there was steered (paused), and not all of its jobs follow yet"));
  EXPECT_EQ(*ours_.db().One<int>("SELECT count(*) FROM jobs"), 0);
}

TEST_F(MergeTest, OurJobsThatDoNotFollowTheirSweepYetDoSoAfterwards) {
  ours_.AddSweep("large", MakePack(5));
  ASSERT_OK(ours_.Write(PauseTwoJobs));
  theirs_->AddSweep("small", MakePack(4));
  theirs_->Succeed(theirs_->Start("w2", {1, 3}), 0.75);

  ASSERT_OK(Merge());

  EXPECT_THAT(ours_.Violations(), IsEmpty());
  ASSERT_OK(ours_.Write([](sql::Transaction& tx) -> absl::Status {
    ASSIGN_OR_RETURN(const SweepRow sweep, GetSweep(tx, 1));
    EXPECT_EQ(sweep.unsettled_from, 2);
    return SettleJobs(tx, sweep, 10).status();
  }));
  EXPECT_THAT(ours_.Violations(), IsEmpty());
  EXPECT_TRUE(OurJob(MakePack(5)[1]).wanted) << "by theirs";
  EXPECT_FALSE(OurJob(MakePack(5)[4]).wanted);
}

TEST_F(MergeTest, AStoreThatIsHeldForeignNewerOrAbsentIsRefused) {
  EXPECT_EQ(MergeSource::Open(folder_ / "theirs.db").status().code(), absl::StatusCode::kFailedPrecondition) << "held";
  theirs_->store->ListensAt("localhost:7070");
  const absl::Status held = MergeSource::Open(folder_ / "theirs.db").status();
  EXPECT_THAT(std::string(held.message()), HasSubstr("theirs.db' is held by another scheduler, at localhost:7070, and is merged while nobody has it open"));
  EXPECT_THAT(std::string(held.message()), HasSubstr("'longreach store backup FILE --scheduler localhost:7070'")) << "asking it to merge itself is no way";
  EXPECT_THAT(std::string(held.message()), HasSubstr("; stop that one, or merge a copy"));
  EXPECT_TRUE(held.GetPayload(kHeldAt).has_value());
  theirs_->store->ListensAt("unix:/run/s.sock", /*soon_free=*/true);
  EXPECT_THAT(std::string(MergeSource::Open(folder_ / "theirs.db").status().message()), HasSubstr("try again when that has ended, or merge a copy")) << "a command's";
  EXPECT_EQ(MergeSource::Open(folder_ / "ours.db").status().code(), absl::StatusCode::kFailedPrecondition) << "ourselves";
  EXPECT_EQ(MergeSource::Open(folder_ / "none.db").status().code(), absl::StatusCode::kNotFound);
  const absl::Status folder = MergeSource::Hold(folder_.path()).status();
  EXPECT_EQ(folder.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(folder.message()), HasSubstr("is a folder, and no store to merge"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "none.db"));
  WriteFile(folder_ / "text", "this is not a database, but it is long enough to look like one could be here\n");
  EXPECT_EQ(MergeSource::Open(folder_ / "text").status().code(), absl::StatusCode::kFailedPrecondition) << "as the call's description has it";
  EXPECT_FALSE(std::filesystem::exists(folder_ / "text.lock")) << "nothing is put beside what is no store";
  EXPECT_OK(sql::Connection::Open(folder_ / "foreign.db", sql::Mode::kReadWriteCreate)->Execute("CREATE TABLE t(x)"));
  EXPECT_EQ(MergeSource::Open(folder_ / "foreign.db").status().code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_OK(theirs_->db().Execute("PRAGMA user_version = 999"));
  theirs_.reset();
  EXPECT_EQ(MergeSource::Open(folder_ / "theirs.db").status().code(), absl::StatusCode::kFailedPrecondition) << "newer";
  const std::filesystem::path moved = folder_ / "their own.db";
  std::filesystem::rename(folder_ / "theirs.db", moved);
  EXPECT_OK(sql::Connection::Open(moved, sql::Mode::kReadWrite)->Execute("PRAGMA user_version = 3"));
  EXPECT_THAT(std::string(MergeSource::Open(moved).status().message()), HasSubstr("'longreach store migrate --store \"" + moved.string() + "\"'")) << "older";
}

TEST_F(MergeTest, AStoreThatIsHeldIsReadBeforeItIsMerged) {
  theirs_->AddSweep("one", MakePack(2));
  theirs_->Succeed(theirs_->Start("w2", {1}), 0.75);
  ASSERT_OK(theirs_->db().Run("DELETE FROM measurements"));
  theirs_.reset();

  ASSERT_OK_AND_ASSIGN(MergeSource held, MergeSource::Hold(folder_ / "theirs.db"));

  EXPECT_FALSE(Store::Open((folder_ / "theirs.db").string()).ok()) << "nobody else has it";
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(held.Read(stop.get_token()).code(), absl::StatusCode::kUnavailable);
  for (int time = 0; time < 2; ++time) EXPECT_EQ(held.Read({}).code(), absl::StatusCode::kDataLoss) << "whoever has it read in vain has not read it";
}

TEST_F(MergeTest, AStoreThatContradictsItselfIsRefused) {
  theirs_->AddSweep("one", MakePack(2));
  theirs_->Succeed(theirs_->Start("w2", {1}), 0.75);
  ASSERT_OK(theirs_->db().Run("DELETE FROM measurements"));

  const absl::Status status = Merge().status();

  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr("has no measurements; merge a copy of it from before"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("theirs.db' says what is at stake"));
}

// A backup of the database alone has every result.
TEST_F(MergeTest, ResultsComeWithoutTheirFiles) {
  const std::vector<NewJob> pack = MakePack(2);
  theirs_->AddSweep("one", pack);
  const int64_t attempt = theirs_->Start("w2", {1, 2});
  theirs_->AddFile(1, "weights", 100, attempt, "missing weights");
  theirs_->AddFile(2, "weights", 100, attempt, "the weights");
  theirs_->Succeed(attempt, 0.75);
  const std::filesystem::path away = theirs_->store->artifacts().PathOf(Sha256Of("missing weights"));
  std::filesystem::rename(away, folder_ / "away");
  WriteFile(theirs_->store->artifacts().PathOf(Sha256Of("the weights")), "the wEights");

  ASSERT_OK_AND_ASSIGN(MergeReport report, Merge());

  EXPECT_EQ(report.results_added, 2);
  EXPECT_EQ(report.lacking, 2);
  EXPECT_EQ(OurJob(pack[0]).state, State::kSucceeded);
  EXPECT_THAT(ours_.store->artifacts().List(), IsEmpty()) << "nor what is damaged";
  ASSERT_OK_AND_ASSIGN(const CheckReport check, Check(ours_.db(), ours_.store->artifacts(), false));
  EXPECT_TRUE(check.Has(Concern::kArtifacts));
  EXPECT_THAT(check.violations, ::testing::Each(HasSubstr("its file is missing")));

  // Whoever has them brings them.
  std::filesystem::rename(folder_ / "away", away);
  ASSERT_OK_AND_ASSIGN(MergeReport again, Merge());
  EXPECT_EQ(again.lacking, 1);
  EXPECT_THAT(ours_.store->artifacts().List(), ::testing::ElementsAre(Sha256Of("missing weights")));
}

TEST_F(MergeTest, AFolderOfArtifactsThatIsNotThereLosesNoResult) {
  theirs_->AddSweep("one", MakePack(1));
  const int64_t attempt = theirs_->Start("w2", {1});
  theirs_->AddFile(1, "weights", 100, attempt, "the weights");
  theirs_->Succeed(attempt, 0.75);
  std::filesystem::remove_all(theirs_->store->artifacts().folder());

  ASSERT_OK_AND_ASSIGN(MergeReport report, Merge());

  EXPECT_EQ(report.results_added, 1);
  EXPECT_EQ(report.lacking, 1);
}

TEST_F(MergeTest, ACheckpointThatIsNotThereTakesNoPlaceOfOurs) {
  const std::vector<NewJob> pack = MakePack(1);
  for (TestStore* store : {&ours_, theirs_.get()}) store->AddSweep("one", pack);
  ours_.AddFile(1, "checkpoint", 10, ours_.Start("w1", {1}), "ours at 10");
  ASSERT_OK(ours_.db().Run("UPDATE jobs SET state = 'queued', attempt = NULL"));
  ASSERT_OK(ours_.db().Run("UPDATE attempts SET outcome = 'lost', ended_at = started_at"));
  const int64_t attempt = theirs_->Start("w2", {1});
  for (const int step : {20, 30}) theirs_->AddFile(1, "checkpoint", step, attempt, "theirs at " + std::to_string(step));
  ASSERT_OK(theirs_->db().Run("UPDATE jobs SET state = 'queued', attempt = NULL"));
  ASSERT_OK(theirs_->db().Run("UPDATE attempts SET outcome = 'lost', ended_at = started_at"));
  std::filesystem::remove(theirs_->store->artifacts().PathOf(Sha256Of("theirs at 30")));

  ASSERT_OK(Merge());

  ASSERT_OK_AND_ASSIGN(const std::vector<ArtifactRow> checkpoints, CheckpointsOf(ours_.db(), OurJob(pack[0]).num));
  ASSERT_EQ(checkpoints.size(), 2u);
  EXPECT_EQ(checkpoints[0].step, 20);
  EXPECT_EQ(checkpoints[1].step, 10);
}

// On a GPU a job's bits depend on its pack.
TEST_F(MergeTest, PacksThatHaveBegunOverThereGoOnAsTheyWere) {
  const std::vector<NewJob> jobs = MakePack(4);
  ours_.Start("w1", ours_.AddSweep("mine", {MakeJob("odds_first", "none", false, 1, 0)}));  // So that numbers of attempts are others here.
  const std::vector<int64_t> nums = theirs_->AddSweep("one", jobs);
  for (const size_t first : {0, 2}) {
    const int64_t attempt = theirs_->Start("w2", {nums[first], nums[first + 1]}, 50);
    for (const size_t job : {first, first + 1}) theirs_->AddFile(nums[job], "checkpoint", 60, attempt, "checkpoint of attempt " + std::to_string(attempt));
  }

  ASSERT_OK(Merge());

  EXPECT_EQ(OurJob(jobs[0]).split_group, -2);
  EXPECT_EQ(OurJob(jobs[1]).split_group, -2);
  EXPECT_EQ(OurJob(jobs[2]).split_group, -3);
  EXPECT_EQ(OurJob(jobs[3]).split_group, -3);
}

// They are looked for a culprit here, and have come to the same step over there as two packs.
TEST_F(MergeTest, PacksOfAHalfThatHaveBegunOverThereStaySplitAndApart) {
  const std::vector<NewJob> jobs = MakePack(4);
  const std::vector<int64_t> own = ours_.AddSweep("one", jobs), nums = theirs_->AddSweep("one", jobs);
  const int64_t failed = ours_.Start("w1", own);
  ASSERT_OK(ours_.Write([&](sql::Transaction& tx) -> absl::Status {
    for (const int64_t job : own) RETURN_IF_ERROR(RequeueJob(tx, job, failed, {.failure = "crashed", .split_group = 2 * failed}));
    return EndAttempt(tx, failed, Outcome::kFailed, "crashed", "", At(30));
  }));
  for (const size_t first : {0, 2}) {
    const int64_t attempt = theirs_->Start("w2", {nums[first], nums[first + 1]}, 50);
    for (const size_t job : {first, first + 1}) theirs_->AddFile(nums[job], "checkpoint", 60, attempt, "checkpoint of attempt " + std::to_string(attempt));
  }

  ASSERT_OK(Merge());

  const int64_t one = OurJob(jobs[0]).split_group, other = OurJob(jobs[2]).split_group;
  EXPECT_GT(one, 0);
  EXPECT_GT(other, 0);
  EXPECT_NE(one, other);
  EXPECT_EQ(OurJob(jobs[1]).split_group, one);
  EXPECT_EQ(OurJob(jobs[3]).split_group, other);
  for (const int64_t group : {one, other}) EXPECT_TRUE(group != 2 * failed && group != 2 * failed + 1) << group;
}

// They are looked for a culprit here, and whoever is none would fail once more in a pack of both halves. At step 0 they have not begun.
TEST_F(MergeTest, HalvesThatHaveBegunAsOnePackOverThereStayApart) {
  const std::vector<NewJob> at_60 = MakePack(2, "even_pairs"), at_0 = MakePack(2, "odds_first");
  const auto split_here_and_train_there = [&](const std::string& name, const std::vector<NewJob>& jobs, int step) {
    const std::vector<int64_t> own = ours_.AddSweep(name, jobs), nums = theirs_->AddSweep(name, jobs);
    const int64_t failed = ours_.Start("w1", own);
    EXPECT_OK(ours_.Write([&](sql::Transaction& tx) -> absl::Status {
      RETURN_IF_ERROR(RequeueJob(tx, own[0], failed, {.failure = "crashed", .split_group = 2 * failed}));
      RETURN_IF_ERROR(RequeueJob(tx, own[1], failed, {.failure = "crashed", .split_group = 2 * failed + 1}));
      return EndAttempt(tx, failed, Outcome::kFailed, "crashed", "", At(30));
    }));
    const int64_t attempt = theirs_->Start("w2", nums, 50);
    for (const int64_t num : nums) theirs_->AddFile(num, "checkpoint", step, attempt, "checkpoint of " + name);
    return failed;
  };
  const int64_t failed_60 = split_here_and_train_there("one", at_60, 60), failed_0 = split_here_and_train_there("two", at_0, 0);

  ASSERT_OK(Merge());

  const int64_t one = OurJob(at_60[0]).split_group;
  EXPECT_GT(one, 0);
  EXPECT_EQ(OurJob(at_60[1]).split_group, one + 1);
  for (const int64_t failed : {failed_60, failed_0}) EXPECT_TRUE(one != 2 * failed && one != 2 * failed + 1) << one;
  EXPECT_EQ(OurJob(at_0[0]).split_group, 2 * failed_0);
  EXPECT_EQ(OurJob(at_0[1]).split_group, 2 * failed_0 + 1);
}

// Each half has failed here once more, and over there all were one pack.
TEST_F(MergeTest, QuartersOfDifferentHalvesThatHaveBegunAsOnePackOverThereStayApart) {
  const std::vector<NewJob> jobs = MakePack(5);
  const std::vector<int64_t> own = ours_.AddSweep("one", jobs), nums = theirs_->AddSweep("one", jobs);
  // Those of the first quarter have two jobs.
  const std::vector<std::vector<int64_t>> halves = {{own[0], own[1], own[2]}, {own[3], own[4]}};
  for (const std::vector<int64_t>& half : halves) {
    const int64_t failed = ours_.Start("w1", half);
    ASSERT_OK(ours_.Write([&](sql::Transaction& tx) -> absl::Status {
      for (const int64_t job : half) RETURN_IF_ERROR(RequeueJob(tx, job, failed, {.failure = "crashed", .split_group = 2 * failed + (job == half.back() ? 1 : 0)}));
      return EndAttempt(tx, failed, Outcome::kFailed, "crashed", "", At(30));
    }));
  }
  const int64_t attempt = theirs_->Start("w2", nums, 50);
  for (const int64_t num : nums) theirs_->AddFile(num, "checkpoint", 60, attempt, "checkpoint of all");

  ASSERT_OK(Merge());

  EXPECT_GT(OurJob(jobs[0]).split_group, 0);
  EXPECT_EQ(OurJob(jobs[1]).split_group, OurJob(jobs[0]).split_group);
  std::set<int64_t> quarters;
  for (const size_t job : {0, 2, 3, 4}) quarters.insert(OurJob(jobs[job]).split_group);
  EXPECT_EQ(quarters.size(), 4u);
}

// The worker has handed its results in twice: no answer came before the store was put back from a copy, in which one of the jobs was cancelled meanwhile.
TEST_F(MergeTest, AResultOfAnAttemptThatHadLostTheJobHereIsThatAttempts) {
  const std::vector<NewJob> jobs = MakePack(2);
  const int64_t attempt = theirs_->Start("w2", theirs_->AddSweep("one", jobs));
  ASSERT_OK(Merge());
  // As it is in a copy of the file, whose scheduler has found it running.
  ASSERT_OK(ours_.db().Execute("UPDATE attempts SET outcome = NULL, ended_at = NULL, detail = ''; UPDATE jobs SET state = 'leased', attempt = 1"));
  const int64_t lost = OurJob(jobs[1]).num;
  ASSERT_OK(ours_.Write([&](sql::Transaction& tx) -> absl::Status {
    RETURN_IF_ERROR(DropMember(tx, 1, lost));
    return tx.Run("UPDATE jobs SET state = 'queued', attempt = NULL WHERE num = ?", lost).status();
  }));
  ours_.Succeed(1, 0.75);
  ASSERT_THAT(ours_.Violations(), IsEmpty());
  theirs_ = std::make_unique<TestStore>(folder_ / "theirs.db");
  theirs_->Succeed(attempt, 0.75);

  ASSERT_OK_AND_ASSIGN(const MergeReport report, Merge());

  EXPECT_EQ(report.results_in_both, 1);
  EXPECT_EQ(report.results_added, 1);
  for (const NewJob& job : jobs) EXPECT_EQ(OurJob(job).attempt, 1);
  EXPECT_EQ(*ours_.db().One<int64_t>("SELECT count(*) FROM attempts"), 1);
  EXPECT_THAT(ours_.Violations(), IsEmpty());
}

TEST_F(MergeTest, WhatIsNoHashIsRefused) {
  theirs_->AddSweep("one", MakePack(1));
  const int64_t attempt = theirs_->Start("w2", {1});
  theirs_->AddFile(1, "weights", 100, attempt, "the weights");
  theirs_->Succeed(attempt, 0.75);
  ASSERT_OK(theirs_->db().Run("UPDATE artifacts SET sha256 = '../../../../etc/passwd'"));

  EXPECT_EQ(Merge().status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(MergeTest, OneThatIsStoppedWritesNothing) {
  theirs_->AddSweep("one", MakePack(2));
  const int64_t attempt = theirs_->Start("w2", {1, 2});
  theirs_->AddFile(1, "weights", 100, attempt, "the weights");
  theirs_->Succeed(attempt, 0.75);
  theirs_.reset();
  std::stop_source stop;
  {
    ASSERT_OK_AND_ASSIGN(MergeSource source, MergeSource::Open(folder_ / "theirs.db", {}, stop.get_token()));
    ASSERT_OK(source.Check(ours_.db()));
    stop.request_stop();

    std::vector<Pin> pins;
    EXPECT_EQ(source.CopyFiles(ours_.store->artifacts(), PartsIn(ours_), pins).code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(pins, IsEmpty());
    ASSERT_OK_AND_ASSIGN(sql::Transaction tx, sql::Transaction::Begin(ours_.db()));
    EXPECT_EQ(source.Apply(tx).status().code(), absl::StatusCode::kUnavailable);
  }
  EXPECT_EQ(MergeSource::Open(folder_ / "theirs.db", {}, stop.get_token()).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(ours_.store->artifacts().List(), IsEmpty());
  EXPECT_EQ(*ours_.db().One<int>("SELECT count(*) FROM jobs"), 0);
  ASSERT_OK(Merge());
}

TEST_F(MergeTest, WhatACrashLeftInTheLogOfTheOtherStoreComesToo) {
  theirs_->AddSweep("one", MakePack(2));
  // The files as they are while the store is open: the rows are still in the write-ahead log.
  std::filesystem::copy_file(folder_ / "theirs.db", folder_ / "crashed.db");
  std::filesystem::copy_file(folder_ / "theirs.db-wal", folder_ / "crashed.db-wal");
  ASSERT_GT(std::filesystem::file_size(folder_ / "crashed.db-wal"), 0u);
  theirs_.reset();
  std::filesystem::remove(folder_ / "theirs.db");
  std::filesystem::rename(folder_ / "crashed.db", folder_ / "theirs.db");
  std::filesystem::rename(folder_ / "crashed.db-wal", folder_ / "theirs.db-wal");

  ASSERT_OK_AND_ASSIGN(MergeReport report, Merge());

  EXPECT_EQ(report.jobs_added, 2);
}

TEST_F(MergeTest, WhatASweepWasExpectedToTakeComesWithItAndTakesNothingsPlace) {
  for (TestStore* test : {&ours_, theirs_.get()}) test->AddSweep("both", MakePack(1));
  theirs_->AddSweep("theirs", MakePack(2));
  const auto expect = [](TestStore& test, std::string_view name, double seconds) {
    EXPECT_OK(test.Write([&](sql::Transaction& tx) -> absl::Status {
      ASSIGN_OR_RETURN(const SweepRow sweep, NewestSweep(tx, name));
      return SetSweepExpected(tx, sweep.num, {.seconds = seconds, .made_at = At(7)});
    }));
  };
  expect(ours_, "both", 10);
  expect(*theirs_, "both", 20);
  expect(*theirs_, "theirs", 30);

  ASSERT_OK(Merge());

  ASSERT_OK_AND_ASSIGN(const SweepRow both, NewestSweep(ours_.db(), "both"));
  ASSERT_OK_AND_ASSIGN(const SweepRow theirs, NewestSweep(ours_.db(), "theirs"));
  ASSERT_TRUE(both.expected && theirs.expected);
  EXPECT_EQ(both.expected->seconds, 10);
  EXPECT_EQ(theirs.expected->seconds, 30);
  EXPECT_EQ(theirs.expected->made_at, At(7));
}

TEST_F(MergeTest, WhatGoesOnFromTheOtherStoresCheckpointSaysSo) {
  const std::vector<NewJob> jobs = MakePack(1);
  ours_.AddSweep("other", MakePack(2, "parity_check"));
  const int64_t ours = ours_.AddSweep("one", jobs)[0];
  ours_.Start("w1", {1});  // So that numbers here are others than there.
  theirs_->AddSweep("one", jobs);
  const auto train = [&](int step, int64_t at) {
    const int64_t attempt = theirs_->Start("w2", {1}, at);
    theirs_->AddFile(1, "checkpoint", step, attempt, "of step " + std::to_string(step));
    EXPECT_OK(theirs_->Write([&](sql::Transaction& tx) -> absl::Status {
      RETURN_IF_ERROR(RequeueJob(tx, 1, attempt, {}));
      return EndAttempt(tx, attempt, Outcome::kGivenBack, "", "", At(at + 5));
    }));
  };
  train(20, 100);
  train(40, 200);

  ASSERT_OK(Merge());
  const int64_t here = ours_.Start("w1", {ours}, 300);

  ASSERT_OK_AND_ASSIGN(const std::vector<AttemptRow> attempts, AttemptsOfJob(ours_.db(), ours));
  ASSERT_EQ(attempts.size(), 3u);
  EXPECT_EQ(attempts[0].id, here);
  EXPECT_EQ(attempts[0].from_attempt, attempts[1].id) << "the last over there, by its number here";
  EXPECT_EQ(attempts[1].worker, "w2");
  EXPECT_EQ(attempts[1].from_attempt, attempts[2].id) << "as it was over there";
  EXPECT_NE(attempts[1].from_attempt, 1) << "which is its number over there";
  EXPECT_EQ(attempts[2].from_attempt, std::nullopt);
  EXPECT_THAT(ours_.Violations(true), IsEmpty());
}

}  // namespace
}  // namespace longreach::store
