#include "store/given_up.h"

#include "store/reading.h"
#include "tests/store/fixture.h"

namespace longreach::store {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class GivenUpTest : public ::testing::Test {
 protected:
  Settled Settle(int64_t sweep) {
    Settled settled;
    EXPECT_OK(test_.Write([&](sql::Transaction& tx) -> absl::Status {
      ASSIGN_OR_RETURN(const SweepRow row, GetSweep(tx, sweep));
      ASSIGN_OR_RETURN(settled, SettlePart(tx, row, {}));
      for (const DroppedJob& job : settled.dropped) RETURN_IF_ERROR(DropMember(tx, job.attempt, job.job));
      return absl::OkStatus();
    }));
    return settled;
  }
  int GiveUp(int64_t sweep, const std::vector<int64_t>& jobs) {
    int given_up = 0;
    EXPECT_OK(test_.Write([&](sql::Transaction& tx) -> absl::Status {
      ASSIGN_OR_RETURN(given_up, GiveUpJobs(tx, sweep, jobs));
      return absl::OkStatus();
    }));
    return given_up;
  }
  // The first job makes what the second needs.
  static std::vector<NewJob> Chain() {
    std::vector<NewJob> jobs = MakePack(3);
    jobs[1].inputs = {{.name = "weights", .source = jobs[0].id, .artifact = "weights", .metric = ""}};
    return jobs;
  }

  TestStore test_;
};

TEST_F(GivenUpTest, ARunningJobIsDroppedAndAnotherSweepKeepsWhatItWants) {
  test_.AddWorker("w1");
  const std::vector<int64_t> jobs = test_.AddSweep("one", MakePack(3));
  test_.AddSweep("two", MakePack(1), 4);
  test_.Start("w1", {jobs[1], jobs[2]});

  EXPECT_EQ(GiveUp(1, {jobs[0], jobs[1]}), 2);
  EXPECT_EQ(GiveUp(1, {jobs[0], jobs[1]}), 0) << "asked again";
  const Settled settled = Settle(1);

  ASSERT_EQ(settled.dropped.size(), 1U);
  EXPECT_EQ(settled.dropped[0].job, jobs[1]);
  EXPECT_EQ(GetJob(test_.db(), jobs[0])->state, State::kQueued);
  EXPECT_EQ(GetJob(test_.db(), jobs[0])->priority, 4);
  EXPECT_EQ(GetJob(test_.db(), jobs[1])->state, State::kCancelled);
  EXPECT_EQ(GetJob(test_.db(), jobs[2])->state, State::kLeased);
  EXPECT_THAT(test_.Violations(), IsEmpty());
}

TEST_F(GivenUpTest, WhatNeedsAJobIsGivenUpWithItAndComesBackWithWhatItNeeds) {
  const std::vector<int64_t> jobs = test_.AddSweep("one", Chain());
  EXPECT_EQ(GiveUp(1, {jobs[0]}), 2);
  Settle(1);
  EXPECT_EQ(test_.SweepCounts(1).cancelled, 2);
  EXPECT_THAT(test_.Violations(), IsEmpty());

  ASSERT_OK(test_.Write([&](sql::Transaction& tx) -> absl::Status {
    const std::vector<int64_t> named = {jobs[1]};
    ASSIGN_OR_RETURN(const int again, TryJobsAgain(tx, 1, named));
    EXPECT_EQ(again, 2);
    return absl::OkStatus();
  }));
  Settle(1);

  EXPECT_EQ(test_.SweepCounts(1).waiting, 1);
  EXPECT_EQ(test_.SweepCounts(1).queued, 2);
  EXPECT_FALSE(*AnyGivenUp(test_.db(), 1));
  EXPECT_THAT(test_.Violations(), IsEmpty());
}

TEST_F(GivenUpTest, WhatASweepGaveUpAndFailedForAnotherIsNotRetriedWithTheWholeSweep) {
  const std::vector<int64_t> jobs = test_.AddSweep("one", MakePack(2));
  test_.AddSweep("two", MakePack(1));
  EXPECT_EQ(GiveUp(1, {jobs[0]}), 1);
  ASSERT_OK(test_.db().Run("UPDATE jobs SET state = 'failed', failure = 'it broke'"));
  const auto retry = [&](int64_t sweep) {
    int retried = 0;
    EXPECT_OK(test_.Write([&](sql::Transaction& tx) -> absl::Status {
      ASSIGN_OR_RETURN(retried, RetryFailedJobs(tx, sweep));
      return absl::OkStatus();
    }));
    return retried;
  };

  EXPECT_EQ(retry(1), 1);
  EXPECT_EQ(GetJob(test_.db(), jobs[0])->state, State::kFailed);
  EXPECT_EQ(retry(2), 1);
  EXPECT_EQ(GetJob(test_.db(), jobs[0])->state, State::kQueued);
  EXPECT_TRUE(*HasGivenUp(test_.db(), 1, jobs[0]));
}

TEST_F(GivenUpTest, AJobIsCancelledForItsSweepWhateverBecomesOfItForAnotherUntilItHasAResult) {
  test_.AddWorker("w1");
  const std::vector<int64_t> jobs = test_.AddSweep("one", MakePack(3));
  test_.AddSweep("two", MakePack(2));
  EXPECT_EQ(GiveUp(1, {jobs[0], jobs[1]}), 2);
  Settle(1);
  const auto counts = [this](int64_t sweep) {
    const Counts of = test_.SweepCounts(sweep);
    return std::vector<int>{of.queued, of.leased, of.succeeded, of.failed, of.cancelled};
  };
  EXPECT_THAT(counts(1), ElementsAre(1, 0, 0, 0, 2));
  EXPECT_THAT(counts(2), ElementsAre(2, 0, 0, 0, 0));

  const int64_t attempt = test_.Start("w1", {jobs[0]});
  test_.Succeed(test_.Start("w1", {jobs[2]}), 0.5);

  EXPECT_THAT(counts(1), ElementsAre(0, 0, 1, 0, 2));
  EXPECT_TRUE(GetSweep(test_.db(), 1)->is_over()) << "it does not wait for another sweep's jobs";
  EXPECT_THAT(*RunningInSweep(test_.db(), 1), IsEmpty());
  EXPECT_EQ(RunningInSweep(test_.db(), 2)->size(), 1U);
  EXPECT_EQ(StepsOfAllJobs(test_.db(), 1)->open, 0);
  EXPECT_EQ(ListSweepJobs(test_.db(), 1, -1, {.states = {State::kCancelled}}, "accuracy", 9)->size(), 2U);
  EXPECT_EQ(ListSweepJobs(test_.db(), 2, -1, {}, "accuracy", 9)->at(0).state, State::kLeased);
  EXPECT_THAT(test_.Violations(), IsEmpty());

  ASSERT_OK(test_.db().Run("UPDATE jobs SET state = 'failed', failure = 'it broke' WHERE num = ?", jobs[1]));
  EXPECT_THAT(counts(1), ElementsAre(0, 0, 1, 0, 2));
  test_.Succeed(attempt, 0.5);
  EXPECT_THAT(counts(1), ElementsAre(0, 0, 2, 0, 1));
  EXPECT_THAT(counts(2), ElementsAre(0, 0, 1, 1, 0));
  ASSERT_OK(test_.Write([](sql::Transaction& tx) { return ForgetGivenUp(tx, 1).status(); }));
  EXPECT_THAT(counts(1), ElementsAre(0, 0, 2, 1, 0));
  EXPECT_THAT(test_.Violations(), IsEmpty());
}

TEST_F(GivenUpTest, AJobThatWaitsForOneThatItsSweepGaveUpIsFound) {
  const std::vector<int64_t> jobs = test_.AddSweep("one", Chain());
  ASSERT_OK(test_.db().Run("INSERT INTO given_up(sweep, job) VALUES (1, ?)", jobs[0]));
  EXPECT_THAT(test_.Violations(), ElementsAre(HasSubstr("has wanted = 1"), HasSubstr("which needs it")));
}

TEST_F(GivenUpTest, AFirstFailureIsOfSweepsThatHaveNotGivenItUpAndAreNotCancelled) {
  const std::vector<int64_t> jobs = test_.AddSweep("one", MakePack(3));
  test_.AddSweep("two", MakePack(1));
  test_.AddSweep("gives it up", MakePack(2));
  test_.AddSweep("cancelled", MakePack(4));
  EXPECT_EQ(GiveUp(3, {jobs[0]}), 1);
  Settle(3);
  EXPECT_OK(test_.Write([](sql::Transaction& tx) { return SetSweepState(tx, 4, SweepState::kCancelled); }));
  const auto fail = [&](int64_t job) {
    EXPECT_OK(test_.Write([&](sql::Transaction& tx) { return FailUnstartedJob(tx, job, "input failed: weights"); }));
  };
  EXPECT_THAT(*SweepsWithFirstFailure(test_.db(), jobs[0]), IsEmpty()) << "none has failed";
  fail(jobs[0]);
  EXPECT_THAT(*SweepsWithFirstFailure(test_.db(), jobs[0]), ElementsAre(1, 2));
  fail(jobs[1]);
  EXPECT_THAT(*SweepsWithFirstFailure(test_.db(), jobs[1]), ElementsAre(3)) << "the first one's second";
}

TEST_F(GivenUpTest, APrerequisitesFailureIsNoneOfTheSweepsOwn) {
  std::vector<int64_t> jobs;
  EXPECT_OK(test_.Write([&](sql::Transaction& tx) -> absl::Status {
    ASSIGN_OR_RETURN(const InsertedJobs inserted, InsertJobs(tx, Chain()));
    jobs = inserted.nums;
    ASSIGN_OR_RETURN(const int64_t sweep, InsertSweep(tx, {.id = Sha256Of("s"), .name = "s", .spec = "s", .jobs = 2}));
    RETURN_IF_ERROR(AddSweepJobs(tx, sweep, std::vector<int64_t>{jobs[1], jobs[2]}, std::vector<int64_t>{jobs[0]}));
    RETURN_IF_ERROR(RefreshWanted(tx, sweep));
    RETURN_IF_ERROR(FailUnstartedJob(tx, jobs[2], "x"));
    return FailUnstartedJob(tx, jobs[0], "x");
  }));
  EXPECT_THAT(*SweepsWithFirstFailure(test_.db(), jobs[2]), ElementsAre(1));
  EXPECT_THAT(*SweepsWithFirstFailure(test_.db(), jobs[0]), IsEmpty());
}

}  // namespace
}  // namespace longreach::store
