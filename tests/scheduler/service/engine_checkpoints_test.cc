// What becomes of the files of attempts: checkpoints that others go on from, and uploads that are refused.
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/service/query_jobs.h"
#include "tests/scheduler/service/engine_fixture.h"
#include "tests/support/status.h"

namespace longreach::service {
namespace {

using std::chrono::seconds;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class EngineCheckpointsTest : public EngineFixture {
 protected:
  // Jobs that are only tested, with the weights of as many that are trained.
  static v1::SweepSpec TestsAlone(int jobs) {
    v1::SweepSpec spec = Sweep("s", jobs);
    spec.mutable_training()->set_steps(0);
    v1::Input& input = *spec.add_inputs();
    input.set_name("weights");
    input.set_artifact("weights");
    input.mutable_from()->mutable_training()->set_steps(50);
    return spec;
  }
  // Packs of three jobs at most, each of which comes to a checkpoint at step 10.
  v1::SynchronizeResponse BeginTwoPacks(TestWorker& worker) {
    worker.next().mutable_abilities()->set_pack_limit(3);
    worker.next().set_free_slots(2);
    const v1::SynchronizeResponse began = worker.Sync();
    worker.Sync();
    for (const v1::Lease& lease : began.leases()) {
      for (const v1::LeasedJob& job : lease.jobs()) EXPECT_TRUE(Upload(job, static_cast<int64_t>(lease.attempt()), worker.id(), "checkpoint", 10).ok());
    }
    return began;
  }
  // Whose checkpoint of its first job the attempt of a lease went on from, as the store has it.
  std::optional<uint64_t> OriginOf(const v1::Lease& lease) {
    const absl::StatusOr<std::vector<store::AttemptMember>> members = store::MembersOf(store_->writer_connection(), static_cast<int64_t>(lease.attempt()));
    EXPECT_TRUE(members.ok()) << members.status();
    if (!members.ok() || members->empty() || !members->front().from_attempt) return std::nullopt;
    return static_cast<uint64_t>(*members->front().from_attempt);
  }
};

TEST_F(EngineCheckpointsTest, AnotherWorkerGoesOnFromTheCheckpoint) {
  Submit(Sweep("s", 1));
  TestWorker worker = Worker("a");
  const v1::Lease lease = worker.Take();
  worker.Sync();
  ASSERT_TRUE(Upload(lease.jobs(0), static_cast<int64_t>(lease.attempt()), "a", "checkpoint", 10).ok());
  ASSERT_TRUE(Upload(lease.jobs(0), static_cast<int64_t>(lease.attempt()), "a", "checkpoint", 20).ok());
  Advance(seconds(15));

  const v1::Lease next = Worker("b").Take();

  EXPECT_EQ(next.jobs(0).checkpoint().step(), 20);
  EXPECT_EQ(next.jobs(0).checkpoint_before().step(), 10);
  EXPECT_EQ(Attempt(next.attempt()).start_step, 20);
  EXPECT_EQ(OriginOf(next), lease.attempt());
  EXPECT_EQ(OriginOf(lease), std::nullopt);
  // The first worker's next checkpoint comes too late.
  const absl::Status late = Upload(lease.jobs(0), static_cast<int64_t>(lease.attempt()), "a", "checkpoint", 30);
  EXPECT_EQ(late.code(), absl::StatusCode::kAborted);
  EXPECT_EQ(Job(lease.jobs(0).id()).checkpoint_step, 20);
}

// Which builds and devices a result is of is told by where its attempts began.
TEST_F(EngineCheckpointsTest, AnAttemptWhoseNewestCheckpointIsOfNoUseBeganWhereItsWorkerSays) {
  Submit(Sweep("s", 1));
  TestWorker worker = Worker("a");
  const v1::Lease lease = worker.Take();
  worker.Sync();
  for (const int step : {10, 20}) ASSERT_OK(Upload(lease.jobs(0), static_cast<int64_t>(lease.attempt()), "a", "checkpoint", step));
  worker.GiveBack(lease);
  const v1::Lease next = worker.Take();
  worker.next().set_may_wait(true);
  worker.Tell(next.attempt()).set_phase("starting");
  worker.Call();
  EXPECT_EQ(Attempt(next.attempt()).start_step, 20);
  EXPECT_EQ(OriginOf(next), lease.attempt());

  // A call that could be held open, of a worker that has nothing else to say.
  worker.Tell(next.attempt()).set_phase("training");
  worker.Tell(next.attempt()).set_step(10);
  worker.Call();
  EXPECT_EQ(Attempt(next.attempt()).start_step, 10);
  EXPECT_EQ(Attempt(next.attempt()).step, 10);
  EXPECT_EQ(OriginOf(next), lease.attempt()) << "by its checkpoint of step 10";
  EXPECT_EQ(engine_->board().Read().attempts.at(static_cast<int64_t>(next.attempt())).step, 10);

  worker.Tell(next.attempt()).set_step(15);
  worker.Call();
  Advance(seconds(3));
  EXPECT_EQ(Attempt(next.attempt()).start_step, 10);
  EXPECT_EQ(Attempt(next.attempt()).step, 15);
  RestartScheduler();
  EXPECT_EQ(engine_->board().Read().attempts.at(static_cast<int64_t>(next.attempt())).step, 15);
}

TEST_F(EngineCheckpointsTest, WhereAnAttemptBeganIsOnDiskBeforeItsWorkerHasAnAnswer) {
  Submit(Sweep("s", 1));
  TestWorker worker = Worker("a");
  const v1::Lease lease = worker.Take();
  worker.Sync();
  ASSERT_OK(Upload(lease.jobs(0), static_cast<int64_t>(lease.attempt()), "a", "checkpoint", 20));
  worker.GiveBack(lease);
  const v1::Lease next = worker.Take();
  worker.Tell(next.attempt()).set_phase("starting");
  worker.Sync();
  worker.Tell(next.attempt()).set_phase("training");
  disk_full_ = true;

  const std::optional<absl::StatusOr<v1::SynchronizeResponse>> answer = worker.Call();

  ASSERT_TRUE(answer.has_value());
  EXPECT_FALSE(answer->ok());
  EXPECT_EQ(Attempt(next.attempt()).start_step, 20);
  EXPECT_EQ(OriginOf(next), lease.attempt());
  disk_full_ = false;
  worker.Sync();
  EXPECT_EQ(Attempt(next.attempt()).start_step, 0);
  EXPECT_EQ(OriginOf(next), std::nullopt) << "it began anew";
}

// As one that was killed does with the checkpoint that it finds at its next start.
TEST_F(EngineCheckpointsTest, AWorkerThatStartedAnewHandsInACheckpointAndThenLosesItsAttempt) {
  Submit(Sweep("s", 1));
  TestWorker worker = Worker("a");
  const v1::Lease lease = worker.Take();
  worker.Sync();
  worker.Restart({lease.attempt()});
  worker.Sync();
  ASSERT_TRUE(Upload(lease.jobs(0), static_cast<int64_t>(lease.attempt()), "a", "checkpoint", 30).ok());
  worker.LetGo(lease.attempt());

  const v1::Lease next = worker.Take();

  EXPECT_EQ(next.jobs(0).checkpoint().step(), 30);
  EXPECT_EQ(Attempt(lease.attempt()).outcome, Outcome::kLost);
  EXPECT_EQ(Job(lease.jobs(0).id()).losses, 1);
}

// Of a job that is only tested every checkpoint is at step 0.
TEST_F(EngineCheckpointsTest, TestsThatAreDoneAreGoneOnFromToo) {
  Submit(TestsAlone(1));
  TestWorker worker = Worker("a");
  const v1::Lease maker = worker.Take();
  ASSERT_TRUE(Upload(maker.jobs(0), static_cast<int64_t>(maker.attempt()), "a", "weights", 50).ok());
  worker.Succeed(maker);
  const v1::Lease lease = worker.Take();
  EXPECT_FALSE(lease.jobs(0).has_checkpoint());
  worker.Sync();
  ASSERT_TRUE(Upload(lease.jobs(0), static_cast<int64_t>(lease.attempt()), "a", "checkpoint", 0).ok());
  Advance(seconds(15));

  const v1::Lease next = Worker("b").Take();

  ASSERT_TRUE(next.jobs(0).has_checkpoint());
  EXPECT_EQ(next.jobs(0).checkpoint().step(), 0);
}

TEST_F(EngineCheckpointsTest, JobsWithCheckpointsOfDifferentStepsAreNotPackedTogether) {
  Submit(Sweep("s", 2));
  TestWorker worker = Worker("a");
  const v1::Lease lease = worker.Take();
  worker.Sync();
  ASSERT_TRUE(Upload(lease.jobs(1), static_cast<int64_t>(lease.attempt()), "a", "checkpoint", 10).ok());
  worker.GiveBack(lease);
  worker.next().set_free_slots(2);

  const v1::SynchronizeResponse answer = worker.Sync();

  ASSERT_EQ(answer.leases_size(), 2);
  EXPECT_EQ(answer.leases(0).jobs_size(), 1);
  EXPECT_EQ(answer.leases(1).jobs(0).checkpoint().step(), 10);
  EXPECT_EQ(Job(lease.jobs(0).id()).failures + Job(lease.jobs(0).id()).losses, 0);
}

// On a GPU a job's bits depend on its pack.
TEST_F(EngineCheckpointsTest, APackThatIsInterruptedGoesOnAsItWas) {
  Submit(Sweep("s", 6));
  TestWorker worker = Worker("a");
  const v1::SynchronizeResponse began = BeginTwoPacks(worker);
  ASSERT_EQ(began.leases_size(), 2);
  const auto ids = [](const v1::Lease& lease) {
    std::set<std::string> found;
    for (const v1::LeasedJob& job : lease.jobs()) found.insert(job.id());
    return found;
  };

  // One is given back, the other lost; another worker would have room for both in one pack.
  worker.GiveBack(began.leases(0));
  worker.LetGo(began.leases(1).attempt());
  worker.Restart();
  worker.next().mutable_abilities()->set_pack_limit(16);
  worker.next().set_free_slots(2);
  const v1::SynchronizeResponse then = worker.Sync();

  ASSERT_EQ(then.leases_size(), 2);
  const std::set<std::set<std::string>> packs = {ids(began.leases(0)), ids(began.leases(1))};
  EXPECT_EQ((std::set{ids(then.leases(0)), ids(then.leases(1))}), packs);
  v1::GetJobRequest asked;
  asked.set_job(*packs.begin()->begin());
  const absl::StatusOr<v1::ExplainJobResponse> explained = ExplainJob(store_->writer_connection(), asked, engine_->board().Read());
  ASSERT_TRUE(explained.ok()) << explained.status();
  EXPECT_THAT(explained->reasons(), Not(Contains(HasSubstr("A pack with it failed"))));
}

TEST_F(EngineCheckpointsTest, APackThatIsOnlyTestedGoesOnAsItWasToo) {
  Submit(TestsAlone(4));
  TestWorker worker = Worker("a");
  worker.next().mutable_abilities()->set_pack_limit(4);
  const v1::Lease makers = worker.Take();
  ASSERT_EQ(makers.jobs_size(), 4);
  for (const v1::LeasedJob& job : makers.jobs()) ASSERT_OK(Upload(job, static_cast<int64_t>(makers.attempt()), "a", "weights", 50));
  worker.Succeed(makers);
  worker.next().mutable_abilities()->set_pack_limit(2);
  worker.next().set_free_slots(2);
  const v1::SynchronizeResponse began = worker.Sync();
  ASSERT_EQ(began.leases_size(), 2);
  worker.next().set_free_slots(0);
  worker.Sync();
  for (const v1::Lease& lease : began.leases()) {
    for (const v1::LeasedJob& job : lease.jobs()) ASSERT_OK(Upload(job, static_cast<int64_t>(lease.attempt()), "a", "checkpoint", 0));
    worker.GiveBack(lease);
  }

  worker.next().mutable_abilities()->set_pack_limit(4);
  worker.next().set_free_slots(2);
  const v1::SynchronizeResponse then = worker.Sync();

  ASSERT_EQ(then.leases_size(), 2);
  for (const v1::Lease& lease : then.leases()) EXPECT_EQ(lease.jobs_size(), 2);
}

TEST_F(EngineCheckpointsTest, APackOfWhichPartsWereLeasedForNothingGoesOnAsAWhole) {
  Submit(Sweep("s", 6));
  TestWorker worker = Worker("a");
  worker.next().mutable_abilities()->set_pack_limit(6);
  const v1::Lease began = worker.Take();
  worker.Sync();
  for (const v1::LeasedJob& job : began.jobs()) ASSERT_TRUE(Upload(job, static_cast<int64_t>(began.attempt()), "a", "checkpoint", 10).ok());
  worker.GiveBack(began);
  worker.next().mutable_abilities()->set_pack_limit(4);
  worker.next().set_free_slots(2);
  const v1::SynchronizeResponse parts = worker.Sync();
  ASSERT_EQ(parts.leases_size(), 2);
  EXPECT_EQ(parts.leases(0).jobs_size(), 4);

  // Neither has come to a checkpoint of its own.
  for (const v1::Lease& lease : parts.leases()) worker.GiveBack(lease);
  worker.next().mutable_abilities()->set_pack_limit(6);
  const v1::SynchronizeResponse then = worker.Sync();

  ASSERT_EQ(then.leases_size(), 1);
  EXPECT_EQ(then.leases(0).jobs_size(), 6);
}

// What they have computed until then is of two packs.
TEST_F(EngineCheckpointsTest, PartsOfAHalfThatHaveComeToTheSameStepStayApart) {
  Submit(Sweep("s", 4));
  TestWorker worker = Worker("a");
  worker.next().mutable_abilities()->set_pack_limit(4);
  worker.Fail(worker.Take(), "crashed");
  worker.next().mutable_abilities()->set_pack_limit(1);
  worker.next().set_free_slots(4);
  const v1::SynchronizeResponse parts = worker.Sync();
  ASSERT_EQ(parts.leases_size(), 4) << "two of each half";
  worker.next().set_free_slots(0);
  worker.Sync();
  for (const v1::Lease& lease : parts.leases()) {
    ASSERT_OK(Upload(lease.jobs(0), static_cast<int64_t>(lease.attempt()), "a", "checkpoint", 10));
    worker.GiveBack(lease);
  }

  worker.next().mutable_abilities()->set_pack_limit(4);
  worker.next().set_free_slots(4);
  const v1::SynchronizeResponse then = worker.Sync();

  ASSERT_EQ(then.leases_size(), 4);
  for (const v1::Lease& lease : then.leases()) EXPECT_EQ(lease.jobs_size(), 1);
  EXPECT_GT(Job(then.leases(0).jobs(0).id()).split_group, 0) << "a pack with it has failed";
}

TEST_F(EngineCheckpointsTest, JobsThatFailedAloneAtTheSameStepStayApart) {
  Submit(Sweep("s", 2));
  TestWorker worker = Worker("a");
  worker.next().mutable_abilities()->set_pack_limit(1);
  worker.next().set_free_slots(2);
  const v1::SynchronizeResponse began = worker.Sync();
  ASSERT_EQ(began.leases_size(), 2);
  worker.next().set_free_slots(0);
  worker.Sync();
  for (const v1::Lease& lease : began.leases()) {
    ASSERT_OK(Upload(lease.jobs(0), static_cast<int64_t>(lease.attempt()), "a", "checkpoint", 10));
    worker.Fail(lease, "crashed");
  }

  worker.next().mutable_abilities()->set_pack_limit(2);
  worker.next().set_free_slots(2);
  const v1::SynchronizeResponse then = worker.Sync();

  ASSERT_EQ(then.leases_size(), 2);
  EXPECT_EQ(then.leases(0).jobs(0).checkpoint().step(), 10);
}

TEST_F(EngineCheckpointsTest, JobsOfTwoPacksWhoseResultsWereRefusedStayApart) {
  Submit(Sweep("s", 6));
  TestWorker worker = Worker("a");
  const v1::SynchronizeResponse began = BeginTwoPacks(worker);
  ASSERT_EQ(began.leases_size(), 2);
  for (const v1::Lease& lease : began.leases()) {
    v1::AttemptReport report = SuccessOf(lease);
    report.mutable_results()->DeleteSubrange(1, 2);  // The first of each succeeds.
    worker.Report(report);
  }

  worker.next().mutable_abilities()->set_pack_limit(6);
  const v1::SynchronizeResponse then = worker.Sync();

  EXPECT_EQ(Counts("s").succeeded(), 2);
  ASSERT_EQ(then.leases_size(), 2);
  EXPECT_EQ(then.leases(0).jobs_size(), 2);
  EXPECT_EQ(then.leases(1).jobs_size(), 2);
}

TEST_F(EngineCheckpointsTest, WhatBeginsAnewAfterACancelIsNoPackOfBefore) {
  const std::string sweep = Submit(Sweep("s", 6)).sweep().id();
  TestWorker worker = Worker("a");
  const v1::SynchronizeResponse began = BeginTwoPacks(worker);
  ASSERT_EQ(began.leases_size(), 2);
  for (const v1::Lease& lease : began.leases()) worker.GiveBack(lease);
  worker.next().set_free_slots(0);
  worker.Sync();

  ASSERT_TRUE(Steer(sweep, v1::SteerSweepRequest::ACTION_CANCEL).ok());
  Submit(Sweep("s", 6));
  worker.next().mutable_abilities()->set_pack_limit(16);
  worker.next().set_free_slots(2);
  const v1::SynchronizeResponse then = worker.Sync();

  ASSERT_EQ(then.leases_size(), 1);
  EXPECT_EQ(then.leases(0).jobs_size(), 6);
  EXPECT_FALSE(then.leases(0).jobs(0).has_checkpoint());
}

TEST_F(EngineCheckpointsTest, AnUploadMustBeOfAMemberOfTheAttempt) {
  Submit(Sweep("s", 1));
  TestWorker worker = Worker("a");
  const v1::Lease lease = worker.Take();
  const int64_t attempt = static_cast<int64_t>(lease.attempt());
  v1::LeasedJob stranger;
  stranger.set_id(std::string(64, 'a'));
  EXPECT_EQ(Upload(stranger, attempt, "a", "log", 0).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Upload(lease.jobs(0), attempt, "b", "log", 0).code(), absl::StatusCode::kAborted);
  EXPECT_EQ(Upload(lease.jobs(0), 999, "a", "log", 0).code(), absl::StatusCode::kAborted);
}

// It would pass for the newest for ever.
TEST_F(EngineCheckpointsTest, ACheckpointBeyondTheJobsStepsIsRefused) {
  Submit(Sweep("s", 1));
  TestWorker worker = Worker("a");
  const v1::Lease lease = worker.Take();

  const absl::Status beyond = Upload(lease.jobs(0), static_cast<int64_t>(lease.attempt()), "a", "checkpoint", 101);

  EXPECT_EQ(beyond.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(beyond.message()), HasSubstr("step 101 of job " + lease.jobs(0).id() + ", which has 100"));
  EXPECT_EQ(Job(lease.jobs(0).id()).checkpoint_step, 0);
  EXPECT_TRUE(Upload(lease.jobs(0), static_cast<int64_t>(lease.attempt()), "a", "checkpoint", 100).ok());
}

TEST_F(EngineCheckpointsTest, AnUploadThatIsRefusedLeavesNoFile) {
  Submit(Sweep("s", 2));
  TestWorker worker = Worker("a");
  const v1::Lease lease = worker.Take();
  const auto attempt = static_cast<int64_t>(lease.attempt());
  ASSERT_OK(Upload(lease.jobs(0), attempt, "a", "log", 1));
  store::ArtifactFiles& files = store_->artifacts();
  EXPECT_THAT(files.Unsettled(), IsEmpty());

  EXPECT_EQ(Upload(lease.jobs(0), attempt, "b", "log", 1).code(), absl::StatusCode::kAborted) << "bytes that have a row";
  EXPECT_EQ(Upload(lease.jobs(0), attempt, "b", "log", 2).code(), absl::StatusCode::kAborted);
  EXPECT_THAT(files.Unsettled(), IsEmpty());
  EXPECT_EQ(*store::RemoveUnusedFiles(store_->writer_connection(), files, 10), 1);

  EXPECT_THAT(files.List(), ElementsAre(Sha256Of("log1")));
}

TEST_F(EngineCheckpointsTest, AFileOfMembersThatWereAllDroppedLeavesNothing) {
  Submit(Sweep("s", 1));
  TestWorker worker = Worker("a");
  const v1::Lease lease = worker.Take();
  ASSERT_OK(store_->writer_connection().Run("UPDATE attempt_jobs SET dropped = 1").status());

  ASSERT_OK(Upload(lease.jobs(0), static_cast<int64_t>(lease.attempt()), "a", "log", 1));

  EXPECT_EQ(*store::RemoveUnusedFiles(store_->writer_connection(), store_->artifacts(), 10), 1);
  EXPECT_THAT(store_->artifacts().List(), IsEmpty());
  ASSERT_OK(store_->writer_connection().Run("UPDATE attempt_jobs SET dropped = 0").status());
}

}  // namespace
}  // namespace longreach::service
