#include "store/attempts.h"

#include "tests/store/fixture.h"

namespace longreach::store {
namespace {

using ::testing::IsEmpty;

class AttemptsTest : public ::testing::Test {
 protected:
  AttemptsTest() {
    test_.AddWorker("w1");
    test_.AddWorker("w2");
  }
  TestStore test_;
};

TEST_F(AttemptsTest, AnAttemptHasItsMembersInOrderAndWhatMadeIt) {
  const std::vector<int64_t> jobs = test_.AddSweep("one", MakePack(3));
  const int64_t id = test_.Start("w1", {jobs[2], jobs[0]});

  ASSERT_OK_AND_ASSIGN(std::optional<AttemptRow> attempt, FindAttempt(test_.db(), id));
  ASSERT_TRUE(attempt.has_value());
  EXPECT_EQ(attempt->worker, "w1");
  EXPECT_EQ(attempt->worker_name, "name of w1");
  EXPECT_EQ(attempt->incarnation, 7u);
  EXPECT_EQ(attempt->build, "build 1");
  EXPECT_EQ(attempt->device_id, "device of w1");
  EXPECT_EQ(attempt->members, 2);
  EXPECT_EQ(attempt->outcome, std::nullopt);
  EXPECT_EQ(attempt->ended_at, std::nullopt);
  ASSERT_OK_AND_ASSIGN(std::vector<JobRow> members, JobsOfAttempt(test_.db(), id));
  ASSERT_EQ(members.size(), 2u);
  EXPECT_EQ(members[0].num, jobs[2]);
  EXPECT_EQ(members[1].num, jobs[0]);
  EXPECT_EQ(FindAttempt(test_.db(), id + 1)->has_value(), false);
}

TEST_F(AttemptsTest, ANumberIsNeverUsedAgainEvenWhenItsRowIsGone) {
  const std::vector<int64_t> jobs = test_.AddSweep("one", MakePack(2));
  const int64_t first = test_.Start("w1", {jobs[0]});
  ASSERT_OK(test_.db().Run("UPDATE jobs SET state = 'queued', attempt = NULL"));
  ASSERT_OK(test_.db().Run("DELETE FROM attempt_jobs"));
  ASSERT_OK(test_.db().Run("DELETE FROM attempts"));

  EXPECT_GT(test_.Start("w1", {jobs[0]}), first);
}

TEST_F(AttemptsTest, AnAttemptEndsOnceAndNotWithALeasedJob) {
  const std::vector<int64_t> jobs = test_.AddSweep("one", MakePack(1));
  const int64_t id = test_.Start("w1", jobs);
  const auto end = [&] {
    return test_.Write([&](sql::Transaction& tx) { return EndAttempt(tx, id, Outcome::kFailed, "crashed", "libtorch", At(30)); });
  };
  EXPECT_EQ(end().code(), absl::StatusCode::kInternal) << "its job is still leased";
  ASSERT_OK(test_.Write([&](sql::Transaction& tx) { return RequeueJob(tx, jobs[0], id, {}); }));

  ASSERT_OK(end());

  EXPECT_EQ(end().code(), absl::StatusCode::kInternal) << "it has ended";
  EXPECT_EQ((*FindAttempt(test_.db(), id))->outcome, Outcome::kFailed);
  EXPECT_EQ((*FindAttempt(test_.db(), id))->detail, "crashed");
}

TEST_F(AttemptsTest, UnfinishedAttemptsAreThoseOfAWorkerOrAll) {
  const std::vector<int64_t> jobs = test_.AddSweep("one", MakePack(3));
  const int64_t a = test_.Start("w1", {jobs[0]});
  const int64_t b = test_.Start("w2", {jobs[1]});
  const int64_t c = test_.Start("w1", {jobs[2]});
  test_.Succeed(a, 0.5);

  ASSERT_OK_AND_ASSIGN(std::vector<AttemptRow> of_w1, UnfinishedAttempts(test_.db(), "w1"));
  ASSERT_OK_AND_ASSIGN(std::vector<AttemptRow> all, UnfinishedAttempts(test_.db()));

  ASSERT_EQ(of_w1.size(), 1u);
  EXPECT_EQ(of_w1[0].id, c);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].id, b);
}

TEST_F(AttemptsTest, ADroppedMemberIsNoLongerPartOfThePack) {
  const std::vector<int64_t> jobs = test_.AddSweep("one", MakePack(2));
  const int64_t id = test_.Start("w1", jobs);

  ASSERT_OK(test_.Write([&](sql::Transaction& tx) -> absl::Status {
    RETURN_IF_ERROR(DropMember(tx, id, jobs[0]));
    return RequeueJob(tx, jobs[0], id, {});
  }));

  ASSERT_OK_AND_ASSIGN(std::vector<JobRow> left, JobsOfAttempt(test_.db(), id));
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].num, jobs[1]);
  ASSERT_OK_AND_ASSIGN(std::vector<AttemptMember> members, MembersOf(test_.db(), id));
  ASSERT_EQ(members.size(), 2u);
  EXPECT_TRUE(members[0].dropped);
  EXPECT_EQ(members[1].member, 1) << "positions along the pack axis stay";
  EXPECT_THAT(test_.Violations(), IsEmpty());
}

TEST_F(AttemptsTest, TheStepOnlyGrows) {
  const int64_t id = test_.Start("w1", test_.AddSweep("one", MakePack(1)));
  for (const int step : {10, 30, 20}) {
    ASSERT_OK(test_.Write([&](sql::Transaction& tx) { return SetAttemptStep(tx, id, step); }));
  }
  EXPECT_EQ((*FindAttempt(test_.db(), id))->step, 30);
}

TEST_F(AttemptsTest, AMemberSaysWhoseCheckpointItWentOnFrom) {
  const std::vector<int64_t> jobs = test_.AddSweep("one", MakePack(2));
  const int64_t first = test_.Start("w1", {jobs[0], jobs[1]});
  for (const int step : {10, 20}) test_.AddFile(jobs[0], "checkpoint", step, first, "of step " + std::to_string(step));
  const auto give_back = [&](int64_t attempt, const std::vector<int64_t>& of) {
    ASSERT_OK(test_.Write([&](sql::Transaction& tx) -> absl::Status {
      for (const int64_t job : of) RETURN_IF_ERROR(RequeueJob(tx, job, attempt, {}));
      return EndAttempt(tx, attempt, Outcome::kGivenBack, "", "", At(20));
    }));
  };
  give_back(first, jobs);

  const int64_t second = test_.Start("w2", {jobs[0], jobs[1]});

  const auto origin = [&](int64_t job) { return AttemptsOfJob(test_.db(), job)->front().from_attempt; };
  EXPECT_EQ(origin(jobs[0]), first);
  EXPECT_EQ(origin(jobs[1]), std::nullopt) << "it had no checkpoint";
  EXPECT_EQ(AttemptsOfJob(test_.db(), jobs[0])->back().from_attempt, std::nullopt) << "the first began anew";
  EXPECT_EQ((*MembersOf(test_.db(), second))[0].from_attempt, first);
  EXPECT_EQ(*test_.db().First<std::string>("SELECT went_on_from FROM attempts_view WHERE attempt = ?", second), std::to_string(first));

  // Of what it has written itself the next goes on, whatever others have left.
  test_.AddFile(jobs[0], "checkpoint", 30, second, "of step 30");
  give_back(second, jobs);
  test_.Start("w1", {jobs[0]});
  EXPECT_EQ(origin(jobs[0]), second);
  EXPECT_THAT(test_.Violations(), IsEmpty());
}

// One of step 0 holds nothing that it could go on from, but where the tests are all that there is to do.
TEST_F(AttemptsTest, ACheckpointBeforeTheFirstUpdateIsGoneOnFromByWhatIsOnlyTested) {
  for (const int steps : {100, 0}) {
    std::vector<NewJob> pack = MakePack(1, steps == 0 ? "parity_check" : "even_pairs");
    pack[0].steps = steps;
    const int64_t job = test_.AddSweep("of " + std::to_string(steps), pack)[0];
    const int64_t first = test_.Start("w1", {job});
    test_.AddFile(job, "checkpoint", 0, first, "before " + std::to_string(steps));
    ASSERT_OK(test_.Write([&](sql::Transaction& tx) -> absl::Status {
      RETURN_IF_ERROR(RequeueJob(tx, job, first, {}));
      return EndAttempt(tx, first, Outcome::kGivenBack, "", "", At(20));
    }));

    test_.Start("w1", {job});

    EXPECT_EQ(AttemptsOfJob(test_.db(), job)->front().from_attempt, steps == 0 ? std::optional(first) : std::nullopt);
  }
}

// The checkpoint that it was leased with was of no use.
TEST_F(AttemptsTest, OneThatBeganEarlierHasThatStepUntilItTellsOfALaterOne) {
  const int64_t id = test_.Start("w1", test_.AddSweep("one", MakePack(1)));
  ASSERT_OK(test_.db().Run("UPDATE attempts SET start_step = 20, step = 20 WHERE id = ?", id).status());

  for (const int step : {10, 15}) {
    ASSERT_OK(test_.Write([&](sql::Transaction& tx) { return SetAttemptStart(tx, id, step); }));
  }

  EXPECT_EQ((*FindAttempt(test_.db(), id))->start_step, 10);
  EXPECT_EQ((*FindAttempt(test_.db(), id))->step, 10);
  ASSERT_OK(test_.Write([&](sql::Transaction& tx) { return SetAttemptStep(tx, id, 12); }));
  EXPECT_EQ((*FindAttempt(test_.db(), id))->step, 12);
}

}  // namespace
}  // namespace longreach::store
