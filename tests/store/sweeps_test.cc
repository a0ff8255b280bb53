#include "store/sweeps.h"

#include "tests/store/fixture.h"

namespace longreach::store {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SweepsTest : public ::testing::Test {
 protected:
  SweepsTest() { test_.AddWorker("w1"); }

  void Set(int64_t sweep, SweepState state) {
    EXPECT_OK(test_.Write([&](sql::Transaction& tx) -> absl::Status {
      RETURN_IF_ERROR(SetSweepState(tx, sweep, state));
      return RefreshWanted(tx, sweep);
    }));
  }
  std::vector<DroppedJob> Cancel(int64_t sweep) {
    std::vector<DroppedJob> dropped;
    EXPECT_OK(test_.Write([&](sql::Transaction& tx) -> absl::Status {
      RETURN_IF_ERROR(SetSweepState(tx, sweep, SweepState::kCancelled));
      RETURN_IF_ERROR(RefreshWanted(tx, sweep));
      ASSIGN_OR_RETURN(dropped, CancelUnwantedJobs(tx, sweep));
      for (const DroppedJob& job : dropped) RETURN_IF_ERROR(DropMember(tx, job.attempt, job.job));
      return absl::OkStatus();
    }));
    return dropped;
  }

  TestStore test_;
};

TEST_F(SweepsTest, CountersFollowEachJobInEachOfItsSweeps) {
  const std::vector<int64_t> jobs = test_.AddSweep("one", MakePack(4));
  test_.AddSweep("two", MakePack(2), 0, 1);
  const int64_t attempt = test_.Start("w1", {jobs[0], jobs[1], jobs[2]});
  EXPECT_EQ(test_.SweepCounts(1).leased, 3);
  EXPECT_EQ(test_.SweepCounts(2).leased, 2);

  ASSERT_OK(test_.Write([&](sql::Transaction& tx) -> absl::Status {
    RETURN_IF_ERROR(CompleteJob(tx, jobs[0], attempt, {.measurements = {{"accuracy", 0, "", 1.0}}}));
    RETURN_IF_ERROR(CompleteJob(tx, jobs[1], attempt, {.diverged = true, .diverged_at = 3}));
    return FailJob(tx, jobs[2], attempt, {.failures = 3, .failure = "crashed"});
  }));

  const Counts one = test_.SweepCounts(1);
  EXPECT_EQ(one.succeeded, 2);
  EXPECT_EQ(one.diverged, 1);
  EXPECT_EQ(one.failed, 1);
  EXPECT_EQ(one.queued, 1);
  EXPECT_EQ(one.jobs(), 4);
  EXPECT_EQ(one.open(), 1);
  EXPECT_EQ(test_.SweepCounts(2).succeeded, 2);
  EXPECT_EQ(test_.SweepCounts(2).failed, 0);
}

TEST_F(SweepsTest, AJobIsWantedWhileALiveSweepHasItWithTheHighestPriorityAmongThose) {
  const int64_t job = test_.AddSweep("one", MakePack(1), 2)[0];
  test_.AddSweep("two", MakePack(1), 9, 1);
  EXPECT_EQ(test_.Job(job).priority, 9);

  Set(2, SweepState::kPaused);
  EXPECT_TRUE(test_.Job(job).wanted);
  EXPECT_EQ(test_.Job(job).priority, 2);
  Set(1, SweepState::kPaused);
  EXPECT_FALSE(test_.Job(job).wanted);
  Set(2, SweepState::kLive);
  EXPECT_TRUE(test_.Job(job).wanted);
  EXPECT_EQ(test_.Job(job).priority, 9);
  EXPECT_THAT(test_.Violations(), IsEmpty());
}

TEST_F(SweepsTest, CancelStopsOnlyWhatNoOtherLiveOrPausedSweepHas) {
  const std::vector<int64_t> jobs = test_.AddSweep("one", MakePack(4));
  test_.AddSweep("two", MakePack(2), 0, 1);
  Set(2, SweepState::kPaused);
  test_.Succeed(test_.Start("w1", {jobs[3]}), 1.0);
  const int64_t attempt = test_.Start("w1", {jobs[0], jobs[2]});

  const std::vector<DroppedJob> dropped = Cancel(1);

  ASSERT_EQ(dropped.size(), 1u);
  EXPECT_EQ(dropped[0].job, jobs[2]);
  EXPECT_EQ(dropped[0].attempt, attempt);
  EXPECT_EQ(test_.Job(jobs[0]).state, State::kLeased) << "a paused sweep has it: it is held, not cancelled";
  EXPECT_EQ(test_.Job(jobs[1]).state, State::kQueued);
  EXPECT_EQ(test_.Job(jobs[2]).state, State::kCancelled);
  EXPECT_EQ(test_.Job(jobs[3]).state, State::kSucceeded);
  EXPECT_THAT(test_.Violations(), IsEmpty());
}

TEST_F(SweepsTest, CancelFreesTheCheckpointsOfWhatNobodyWants) {
  const std::vector<int64_t> jobs = test_.AddSweep("one", MakePack(4));
  test_.AddSweep("two", MakePack(1), 0, 1);  // Has the first job, too.
  const int64_t attempt = test_.Start("w1", jobs);
  for (const int64_t job : jobs) {
    for (const int step : {10, 20}) test_.AddFile(job, "checkpoint", step, attempt, "job " + std::to_string(job) + ", step " + std::to_string(step));
    test_.AddFile(job, "log", 20, attempt, "log of " + std::to_string(job));
  }
  ASSERT_OK(test_.Write([&](sql::Transaction& tx) -> absl::Status {
    RETURN_IF_ERROR(RequeueJob(tx, jobs[1], attempt, {.split_group = -attempt}));
    return FailJob(tx, jobs[2], attempt, {.failures = 3, .failure = "crashed", .split_group = 2 * attempt});
  }));
  EXPECT_EQ(test_.Job(jobs[2]).checkpoint_step, 20) << "for a retry";

  Cancel(1);

  EXPECT_EQ(test_.Job(jobs[0]).checkpoint_step, 20);
  EXPECT_EQ(CheckpointsOf(test_.db(), jobs[0])->size(), 2u);
  for (size_t i = 1; i < jobs.size(); ++i) {
    EXPECT_EQ(test_.Job(jobs[i]).checkpoint_step, 0) << i;
    EXPECT_EQ(ArtifactsOf(test_.db(), jobs[i])->size(), 1u) << "the log of job " << i;
  }
  EXPECT_EQ(test_.Job(jobs[1]).split_group, 0) << "nothing is left to go on from as one pack";
  EXPECT_EQ(test_.Job(jobs[2]).split_group, 2 * attempt);
  EXPECT_EQ(*RemoveUnusedFiles(test_.db(), test_.store->artifacts(), 100), 6);
  EXPECT_EQ(*test_.db().One<int>("SELECT count(*) FROM jobs WHERE checkpoint_step > 0 AND state NOT IN ('leased', 'succeeded')"), 0);
  Cancel(2);
  EXPECT_EQ(test_.Job(jobs[0]).checkpoint_step, 0);
  ASSERT_OK(test_.Write([&](sql::Transaction& tx) { return EndAttempt(tx, attempt, Outcome::kDropped, "", "", At(30)); }));
  EXPECT_THAT(test_.Violations(), IsEmpty());
}

// A job that is only tested has its checkpoints at step 0; and what was to be a result may be there before its attempt is lost.
TEST_F(SweepsTest, CancelFreesCheckpointsOfStep0AndWhatLostAttemptsHandedIn) {
  const std::vector<int64_t> jobs = test_.AddSweep("one", MakePack(2));
  const int64_t attempt = test_.Start("w1", jobs);
  test_.AddFile(jobs[0], "checkpoint", 0, attempt, "tested half");
  test_.AddFile(jobs[1], "weights", 100, attempt, "of no result");
  test_.AddFile(jobs[1], "series", 100, attempt, "nor these");
  test_.AddFile(jobs[1], "log", 100, attempt, "what it said");
  ASSERT_OK(test_.Write([&](sql::Transaction& tx) -> absl::Status {
    for (const int64_t job : jobs) RETURN_IF_ERROR(RequeueJob(tx, job, attempt, {}));
    return EndAttempt(tx, attempt, Outcome::kLost, "", "", At(30));
  }));

  Cancel(1);

  EXPECT_EQ(ArtifactsOf(test_.db(), jobs[0])->size(), 0u);
  EXPECT_EQ(ArtifactsOf(test_.db(), jobs[1])->size(), 1u) << "the log";
  EXPECT_EQ(*RemoveUnusedFiles(test_.db(), test_.store->artifacts(), 100), 3);
  EXPECT_THAT(test_.Violations(), IsEmpty());
}

TEST_F(SweepsTest, CancellingAgainFreesWhatAnOlderVersionLeft) {
  const std::vector<int64_t> jobs = test_.AddSweep("one", MakePack(1));
  Cancel(1);
  ASSERT_OK(test_.Write([&](sql::Transaction& tx) -> absl::Status {
    RETURN_IF_ERROR(tx.Run("INSERT INTO attempts(id, worker, incarnation, started_at, ended_at, outcome, detail, build, device, engine, threads, "
                           "members, start_step, step) VALUES (1, 'w1', 7, 1, 2, 'dropped', '', '', '', '', 1, 1, 0, 0)")
                        .status());
    RETURN_IF_ERROR(tx.Run("INSERT INTO attempt_jobs(attempt, member, job, dropped) VALUES (1, 0, ?, 1)", jobs[0]).status());
    return absl::OkStatus();
  }));
  test_.AddFile(jobs[0], "checkpoint", 10, 1, "left");
  ASSERT_EQ(test_.Job(jobs[0]).checkpoint_step, 10);

  Cancel(1);

  EXPECT_EQ(test_.Job(jobs[0]).checkpoint_step, 0);
  EXPECT_THAT(test_.Violations(), IsEmpty());
}

TEST_F(SweepsTest, SubmittingAgainRevivesCancelledJobsAndKeepsResults) {
  const std::vector<int64_t> jobs = test_.AddSweep("one", MakePack(3));
  test_.Succeed(test_.Start("w1", {jobs[0]}), 1.0);
  Cancel(1);

  int revived = 0;
  ASSERT_OK(test_.Write([&](sql::Transaction& tx) -> absl::Status {
    RETURN_IF_ERROR(SetSweepState(tx, 1, SweepState::kLive));
    RETURN_IF_ERROR(RefreshWanted(tx, 1));
    ASSIGN_OR_RETURN(revived, ReviveCancelledJobs(tx, 1));
    return absl::OkStatus();
  }));

  EXPECT_EQ(revived, 2);
  EXPECT_EQ(test_.SweepCounts(1).queued, 2);
  EXPECT_EQ(test_.SweepCounts(1).succeeded, 1);
  EXPECT_THAT(test_.Violations(), IsEmpty());
}

TEST_F(SweepsTest, RetryQueuesFailedJobsWithFreshCountersAndWaitingOnesWait) {
  std::vector<NewJob> jobs = MakePack(2);
  jobs[1].inputs = {{.name = "weights", .source = jobs[0].id, .artifact = "weights", .metric = ""}};
  const std::vector<int64_t> nums = test_.AddSweep("one", jobs);
  const int64_t attempt = test_.Start("w1", {nums[0]});
  ASSERT_OK(test_.Write([&](sql::Transaction& tx) -> absl::Status {
    RETURN_IF_ERROR(FailJob(tx, nums[0], attempt, {.failures = 3, .losses = 2, .failure = "crashed", .split_group = 4}));
    RETURN_IF_ERROR(FailUnstartedJob(tx, nums[1], "input failed: weights"));
    return EndAttempt(tx, attempt, Outcome::kFailed, "crashed", "", At(30));
  }));
  EXPECT_THAT(test_.Violations(), IsEmpty());

  int retried = 0;
  ASSERT_OK(test_.Write([&](sql::Transaction& tx) -> absl::Status {
    ASSIGN_OR_RETURN(retried, RetryFailedJobs(tx, 1));
    return absl::OkStatus();
  }));

  EXPECT_EQ(retried, 2);
  EXPECT_EQ(test_.Job(nums[0]).state, State::kQueued);
  EXPECT_EQ(test_.Job(nums[0]).failures, 0);
  EXPECT_EQ(test_.Job(nums[0]).losses, 0);
  EXPECT_EQ(test_.Job(nums[0]).split_group, 0);
  EXPECT_EQ(test_.Job(nums[0]).failure, "");
  EXPECT_EQ(test_.Job(nums[1]).state, State::kWaiting);
  EXPECT_THAT(test_.Violations(), IsEmpty());
}

// Two packs that have come to the same step, and failed there: mixed, they would go on as a pack that none of them was of.
TEST_F(SweepsTest, ARetriedJobGoesOnAsThePackThatMadeItsCheckpoint) {
  const std::vector<int64_t> jobs = test_.AddSweep("one", MakePack(5));
  const int64_t first = test_.Start("w1", {jobs[0], jobs[1]}), second = test_.Start("w1", {jobs[2], jobs[3]}), third = test_.Start("w1", {jobs[4]});
  for (size_t i = 0; i < 4; ++i) test_.AddFile(jobs[i], "checkpoint", 10, i < 2 ? first : second, "job " + std::to_string(i));
  ASSERT_OK(test_.Write([&](sql::Transaction& tx) -> absl::Status {
    for (size_t i = 0; i < 5; ++i) {
      const int64_t attempt = i < 2 ? first : i < 4 ? second : third;
      RETURN_IF_ERROR(FailJob(tx, jobs[i], attempt, {.failures = 3, .failure = "crashed", .split_group = static_cast<int64_t>(100 + i)}));
    }
    for (const int64_t attempt : {first, second, third}) RETURN_IF_ERROR(EndAttempt(tx, attempt, Outcome::kFailed, "crashed", "", At(30)));
    return RetryFailedJobs(tx, 1).status();
  }));

  EXPECT_EQ(test_.Job(jobs[0]).split_group, -first);
  EXPECT_EQ(test_.Job(jobs[1]).split_group, -first);
  EXPECT_EQ(test_.Job(jobs[2]).split_group, -second);
  EXPECT_EQ(test_.Job(jobs[3]).split_group, -second);
  EXPECT_EQ(test_.Job(jobs[4]).split_group, 0) << "it begins anew";
  EXPECT_THAT(test_.Violations(), IsEmpty());
}

// As of a pack that was stopped before its first update.
TEST_F(SweepsTest, ARetriedJobWithACheckpointOfStepZeroBeginsAnewUnlessItIsOnlyTested) {
  const std::vector<int64_t> jobs = test_.AddSweep("one", MakePack(2));
  ASSERT_OK(test_.db().Run("UPDATE jobs SET steps = 0 WHERE num = ?", jobs[1]).status());
  const int64_t trained = test_.Start("w1", {jobs[0]}), tested = test_.Start("w1", {jobs[1]});
  test_.AddFile(jobs[0], "checkpoint", 0, trained, "of a job that is trained");
  test_.AddFile(jobs[1], "checkpoint", 0, tested, "of a job that is only tested");
  ASSERT_OK(test_.Write([&](sql::Transaction& tx) -> absl::Status {
    RETURN_IF_ERROR(FailJob(tx, jobs[0], trained, {.failures = 3, .failure = "crashed", .split_group = 7}));
    RETURN_IF_ERROR(FailJob(tx, jobs[1], tested, {.failures = 3, .failure = "crashed", .split_group = 7}));
    for (const int64_t attempt : {trained, tested}) RETURN_IF_ERROR(EndAttempt(tx, attempt, Outcome::kFailed, "crashed", "", At(30)));
    return RetryFailedJobs(tx, 1).status();
  }));

  EXPECT_EQ(test_.Job(jobs[0]).split_group, 0);
  EXPECT_EQ(test_.Job(jobs[1]).split_group, -tested);
}

TEST_F(SweepsTest, PrerequisitesAreWantedButNotCounted) {
  std::vector<int64_t> nums;
  ASSERT_OK(test_.Write([&](sql::Transaction& tx) -> absl::Status {
    ASSIGN_OR_RETURN(InsertedJobs jobs, InsertJobs(tx, MakePack(3)));
    nums = jobs.nums;
    ASSIGN_OR_RETURN(int64_t sweep, InsertSweep(tx, {.id = Sha256Of("s"), .name = "s", .spec = "s", .priority = 0, .jobs = 2}));
    // The last is both: a member.
    RETURN_IF_ERROR(AddSweepJobs(tx, sweep, std::vector<int64_t>{nums[1], nums[2]}, std::vector<int64_t>{nums[0], nums[2]}));
    return RefreshWanted(tx, sweep);
  }));

  EXPECT_TRUE(test_.Job(nums[0]).wanted);
  EXPECT_EQ(test_.SweepCounts(1).jobs(), 2);
  EXPECT_THAT(SweepMembers(test_.db(), 1), ElementsAre(nums[1], nums[2]));
  EXPECT_EQ(SweepsOfJob(test_.db(), nums[0])->size(), 1u);
}

TEST_F(SweepsTest, PrerequisitesMayComeWithEachSlice) {
  std::vector<int64_t> nums;
  ASSERT_OK(test_.Write([&](sql::Transaction& tx) -> absl::Status {
    std::vector<NewJob> pack = MakePack(4);
    pack[1].inputs = {{.name = "weights", .source = pack[0].id, .artifact = "weights", .metric = ""}};
    pack[3].inputs = {{.name = "scale", .source = pack[0].id, .artifact = "", .metric = "accuracy"}, {.name = "weights", .source = pack[2].id, .artifact = "weights", .metric = ""}};
    ASSIGN_OR_RETURN(InsertedJobs jobs, InsertJobs(tx, pack));
    nums = jobs.nums;
    ASSIGN_OR_RETURN(int64_t sweep, InsertSweep(tx, {.id = Sha256Of("s"), .name = "s", .spec = "s", .priority = 0, .jobs = 2}));
    RETURN_IF_ERROR(AddSweepJobs(tx, sweep, std::vector<int64_t>{nums[1]}, std::vector<int64_t>{nums[0]}));
    RETURN_IF_ERROR(AddSweepJobs(tx, sweep, std::vector<int64_t>{nums[3]}, std::vector<int64_t>{nums[0], nums[2]}));
    return RefreshWanted(tx, sweep);
  }));

  EXPECT_THAT(SweepMembers(test_.db(), 1), ElementsAre(nums[1], nums[3]));
  EXPECT_TRUE(test_.Job(nums[0]).wanted);
  EXPECT_TRUE(test_.Job(nums[2]).wanted);
  EXPECT_THAT(test_.Violations(), IsEmpty());
}

TEST_F(SweepsTest, ASweepHasTheTableThatItWasGivenLast) {
  ASSERT_OK(test_.Write([](sql::Transaction& tx) -> absl::Status {
    RETURN_IF_ERROR(InsertSweep(tx, {.id = Sha256Of("a"), .name = "a", .spec = "a", .table = "first"}).status());
    return InsertSweep(tx, {.id = Sha256Of("b"), .name = "b", .spec = "b"}).status();
  }));
  EXPECT_EQ(*TableOfSweep(test_.db(), 1), "first");
  EXPECT_EQ(*TableOfSweep(test_.db(), 2), "");

  ASSERT_OK(test_.Write([](sql::Transaction& tx) { return SetSweepTable(tx, 1, "second"); }));

  EXPECT_EQ(*TableOfSweep(test_.db(), 1), "second");
  EXPECT_EQ(*TableOfSweep(test_.db(), 2), "");
  EXPECT_FALSE(TableOfSweep(test_.db(), 3).ok());
  EXPECT_FALSE(test_.Write([](sql::Transaction& tx) { return SetSweepTable(tx, 3, "of none"); }).ok());
}

TEST_F(SweepsTest, JobsThatAreToComeCountAsWaitingOrAsCancelledWithTheirSweep) {
  ASSERT_OK(test_.Write([&](sql::Transaction& tx) -> absl::Status {
    const std::vector<NewJob> all = MakePack(5);
    ASSIGN_OR_RETURN(InsertedJobs first, InsertJobs(tx, std::span(all).first(2), {.wanted = true}));
    ASSIGN_OR_RETURN(int64_t sweep, InsertSweep(tx, {.id = Sha256Of("s"), .name = "s", .spec = "s", .jobs = 5}));
    return AddSweepJobs(tx, sweep, first.nums, {});
  }));
  EXPECT_EQ(test_.SweepCounts(1).queued, 2);
  EXPECT_EQ(test_.SweepCounts(1).waiting, 3);
  EXPECT_THAT(*UnfinishedSweeps(test_.db()), ElementsAre(1));

  ASSERT_OK(test_.Write([](sql::Transaction& tx) { return SetSweepState(tx, 1, SweepState::kCancelled); }));
  EXPECT_EQ(test_.SweepCounts(1).cancelled, 3);
  EXPECT_THAT(*UnfinishedSweeps(test_.db()), IsEmpty());
  ASSERT_OK(test_.Write([](sql::Transaction& tx) { return SetSweepState(tx, 1, SweepState::kLive); }));

  ASSERT_OK(test_.Write([](sql::Transaction& tx) -> absl::Status {
    const std::vector<NewJob> all = MakePack(5);
    ASSIGN_OR_RETURN(InsertedJobs rest, InsertJobs(tx, std::span(all).subspan(2), {.wanted = true}));
    EXPECT_THAT(rest.found, IsEmpty());
    return AddSweepJobs(tx, 1, rest.nums, {});
  }));
  EXPECT_EQ(test_.SweepCounts(1).queued, 5);
  EXPECT_EQ(test_.SweepCounts(1).waiting, 0);
  EXPECT_THAT(SweepMembers(test_.db(), 1), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(test_.Violations(), IsEmpty());
}

TEST_F(SweepsTest, ASweepIsFoundByIdByItsBeginningByNameAndAsTheLast) {
  test_.AddSweep("alpha", MakePack(1), 0, 100);
  test_.AddSweep("beta", MakePack(1), 0, 200);
  ASSERT_OK_AND_ASSIGN(SweepRow alpha, GetSweep(test_.db(), 1));
  const auto named = [&](std::string_view reference) {
    const absl::StatusOr<SweepRow> row = NewestSweep(test_.db(), reference);
    return row.ok() ? row->name : std::string(absl::StatusCodeToString(row.status().code()));
  };

  EXPECT_EQ(named(alpha.id), "alpha");
  EXPECT_EQ(named(alpha.id.substr(0, 8)), "alpha");
  EXPECT_EQ(named("beta"), "beta");
  EXPECT_EQ(named("last"), "beta");
  EXPECT_EQ(named(alpha.id.substr(0, 3)), "NOT_FOUND") << "too short";
  EXPECT_THAT(std::string(NewestSweep(test_.db(), alpha.id.substr(0, 3)).status().message()), HasSubstr("'; of an id give at least 4 digits; 'longreach sweeps'"));
  EXPECT_THAT(std::string(NewestSweep(test_.db(), "zzz").status().message()), HasSubstr("there is no sweep 'zzz'; 'longreach sweeps'")) << "no id begins so";
  EXPECT_EQ(named(""), "INVALID_ARGUMENT");
  EXPECT_THAT(std::string(NewestSweep(test_.db(), "alpah").status().message()), HasSubstr("did you mean 'alpha'?"));
  ASSERT_OK(test_.Write([](sql::Transaction& tx) { return SetSweepAsked(tx, 1, At(300)); }));
  EXPECT_EQ(named("last"), "alpha") << "it was submitted again";
}

TEST_F(SweepsTest, ABeginningThatSeveralSweepsHaveIsRefused) {
  for (const char last : {'1', '2'}) {
    ASSERT_OK(test_.Write([&](sql::Transaction& tx) {
      return InsertSweep(tx, {.id = "abcd" + std::string(59, '0') + last, .name = std::string("s") + last, .spec = ""}).status();
    }));
  }

  const absl::Status status = NewestSweep(test_.db(), "abcd").status();

  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("several sweeps begin with 'abcd'"));
}

TEST_F(SweepsTest, JobsFollowTheirSweepInSlicesAndNameTheAttemptsThatMustStop) {
  const std::vector<int64_t> jobs = test_.AddSweep("one", MakePack(5));
  const int64_t a = test_.Start("w1", {jobs[0]});
  const int64_t b = test_.Start("w1", {jobs[1], jobs[3]});
  Settled settled;
  const auto settle = [&](sql::Transaction& tx) -> absl::Status {
    ASSIGN_OR_RETURN(const SweepRow sweep, GetSweep(tx, 1));
    ASSIGN_OR_RETURN(settled, SettleJobs(tx, sweep, 3));
    return absl::OkStatus();
  };

  ASSERT_OK(test_.Write([&](sql::Transaction& tx) -> absl::Status {
    RETURN_IF_ERROR(SetSweepState(tx, 1, SweepState::kPaused));
    RETURN_IF_ERROR(SetUnsettled(tx, 1, 0));
    return settle(tx);
  }));

  EXPECT_TRUE(settled.more);
  EXPECT_THAT(settled.running, ElementsAre(a, b));
  EXPECT_FALSE(test_.Job(jobs[2]).wanted);
  EXPECT_TRUE(test_.Job(jobs[3]).wanted) << "not yet";
  EXPECT_THAT(*UnfinishedSweeps(test_.db()), ElementsAre(1));
  EXPECT_THAT(test_.Violations(), IsEmpty());

  ASSERT_OK(test_.Write(settle));

  EXPECT_FALSE(settled.more);
  EXPECT_THAT(settled.running, ElementsAre(b));
  EXPECT_FALSE(test_.Job(jobs[4]).wanted);
  EXPECT_THAT(*UnfinishedSweeps(test_.db()), IsEmpty());
  EXPECT_THAT(test_.Violations(), IsEmpty());
}

TEST_F(SweepsTest, JobsThatAreSaidToFollowAndDoNotAreFound) {
  const std::vector<int64_t> jobs = test_.AddSweep("one", MakePack(3));
  ASSERT_OK(test_.Write([&](sql::Transaction& tx) -> absl::Status {
    RETURN_IF_ERROR(SetSweepState(tx, 1, SweepState::kPaused));
    return SetUnsettled(tx, 1, 2);
  }));
  EXPECT_THAT(test_.Violations(), ElementsAre(HasSubstr("has wanted = 1"), HasSubstr("has wanted = 1"))) << "the third is not said to";
}

TEST_F(SweepsTest, ASweepHasInputsWhenAMemberNeedsAnotherOrAJobOutside) {
  std::vector<NewJob> jobs = MakePack(2);
  test_.AddSweep("none", jobs);
  EXPECT_FALSE(*SweepHasInputs(test_.db(), 1));
  std::vector<NewJob> chained = MakePack(4);
  chained.erase(chained.begin(), chained.begin() + 2);
  chained[1].inputs = {{.name = "weights", .source = chained[0].id, .artifact = "weights", .metric = ""}};
  test_.AddSweep("chained", chained);
  EXPECT_TRUE(*SweepHasInputs(test_.db(), 2));
  EXPECT_FALSE(*SweepHasInputs(test_.db(), 1));
}

}  // namespace
}  // namespace longreach::store
