// What becomes of leases: given, sent again, lost, reported late, failed, split.
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scheduler/service/engine_fixture.h"
#include "tests/support/status.h"

namespace longreach::service {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class EngineLeasesTest : public EngineFixture {
 protected:
  Engine* engine() { return engine_.get(); }
  void Restart() {
    RestartScheduler();
    current_ = engine_.get();
  }
};

TEST_F(EngineLeasesTest, AJobGoesFromSubmissionToResult) {
  const v1::SubmitSweepResponse submitted = Submit(Sweep("s", 3));
  EXPECT_TRUE(submitted.created());
  EXPECT_EQ(submitted.sweep().counts().queued(), 3);
  TestWorker worker = Worker("a");

  const v1::Lease lease = worker.Take();
  ASSERT_EQ(lease.jobs_size(), 3);
  EXPECT_EQ(lease.jobs(2).spec().seed(), 2u);
  EXPECT_EQ(lease.jobs(0).spec().training().batch_size(), 128);
  EXPECT_FALSE(lease.jobs(0).spec().model().has_norm()) << "a worker that was built before there was another would refuse the job";
  EXPECT_EQ(Counts("s").leased(), 3);
  worker.Succeed(lease);
  const v1::SynchronizeResponse answer = worker.Sync();

  EXPECT_THAT(answer.acknowledged(), ElementsAre(lease.attempt()));
  EXPECT_EQ(Counts("s").succeeded(), 3);
  EXPECT_THAT(Scores("s"), ElementsAre(0.5, 0.51, 0.52));
  EXPECT_EQ(Attempt(lease.attempt()).outcome, Outcome::kSucceeded);
  EXPECT_EQ(Attempt(lease.attempt()).engine, "test");
}

// A worker's process may have another device once it is started anew.
TEST_F(EngineLeasesTest, AnAttemptKeepsWhichDeviceItsWorkerHad) {
  Submit(Sweep("s", 2));
  TestWorker worker = Worker("a");
  worker.next().mutable_abilities()->set_device_id("GPU-1");
  worker.next().mutable_abilities()->set_pack_limit(1);
  const v1::Lease first = worker.Take();
  worker.Succeed(first);
  worker.Restart();
  worker.next().mutable_abilities()->set_device_id("GPU-2");
  const v1::Lease second = worker.Take();

  EXPECT_EQ(Attempt(first.attempt()).device_id, "GPU-1");
  EXPECT_EQ(Attempt(second.attempt()).device_id, "GPU-2");
}

TEST_F(EngineLeasesTest, ALeaseIsSentAgainUntilItIsHeld) {
  Submit(Sweep("s", 2));
  TestWorker worker = Worker("a");
  const v1::Lease first = worker.Take();

  // The answer was lost: the worker holds nothing.
  TestWorker again = Worker("a");
  again.next().set_sequence(0);
  (void)again.Call();  // Sequence 1 was seen.
  const v1::Lease second = again.Take();

  EXPECT_EQ(second.attempt(), first.attempt());
  EXPECT_EQ(second.jobs_size(), 2);
  const v1::SynchronizeResponse confirmed = again.Sync();
  EXPECT_EQ(confirmed.leases_size(), 0);
  ASSERT_EQ(confirmed.directives_size(), 1);
  EXPECT_EQ(confirmed.directives(0).action(), v1::Directive::ACTION_CONTINUE);
}

TEST_F(EngineLeasesTest, AWorkerGetsNoMoreThanItCanTake) {
  v1::SweepSpec spec = Sweep("s", 2);
  spec.mutable_axes()->add_task("bucket_sort");
  spec.mutable_axes()->add_task("parity_check");
  Submit(spec);
  TestWorker worker = Worker("a");
  worker.next().mutable_abilities()->set_pack_limit(1);
  worker.next().set_free_slots(2);

  const v1::SynchronizeResponse answer = worker.Sync();

  ASSERT_EQ(answer.leases_size(), 2);
  EXPECT_EQ(answer.leases(0).jobs_size(), 1);
  worker.next().set_free_slots(0);
  EXPECT_EQ(worker.Sync().leases_size(), 0);
}

TEST_F(EngineLeasesTest, OneThatLacksARevisionGetsNothing) {
  Submit(Sweep("s", 1));
  TestWorker worker = Worker("a");
  for (v1::Ability& ability : *worker.next().mutable_abilities()->mutable_encodings()) ability.set_revision(ability.revision() + 1);

  EXPECT_EQ(worker.Sync().leases_size(), 0);
  EXPECT_EQ(Worker("b").Sync().leases_size(), 1);
}

TEST_F(EngineLeasesTest, ASilentWorkersLeaseRunsOutAndItsLateReportIsRefused) {
  Submit(Sweep("s", 1));
  TestWorker zombie = Worker("zombie");
  const v1::Lease lost = zombie.Take();

  Advance(seconds(14));
  EXPECT_EQ(Counts("s").leased(), 1);
  Advance(seconds(1));
  EXPECT_EQ(Counts("s").queued(), 1);
  EXPECT_EQ(Job(lost.jobs(0).id()).losses, 1);
  EXPECT_EQ(Attempt(lost.attempt()).outcome, Outcome::kLost);

  TestWorker other = Worker("other");
  const v1::Lease lease = other.Take();
  EXPECT_NE(lease.attempt(), lost.attempt());

  // The zombie wakes up with a result of its own: acknowledged, so that it forgets it, and not taken.
  v1::AttemptReport wrong = SuccessOf(lost);
  wrong.mutable_results(0)->mutable_measurements(0)->set_value(0.99);
  zombie.Report(wrong);
  const v1::SynchronizeResponse answer = zombie.Sync();
  EXPECT_THAT(answer.acknowledged(), ElementsAre(lost.attempt()));
  EXPECT_EQ(Counts("s").leased(), 1);

  other.Succeed(lease);
  other.Sync();
  EXPECT_THAT(Scores("s"), ElementsAre(0.5));
}

TEST_F(EngineLeasesTest, ASchedulerThatStoodStillGivesEachLeaseAnotherTermOnce) {
  v1::SweepSpec spec = Sweep("s", 1);
  spec.mutable_axes()->add_task("bucket_sort");
  Submit(spec);
  TestWorker worker = Worker("a");
  TestWorker gone = Worker("gone");
  const v1::Lease kept = worker.Take();
  const v1::Lease lost = gone.Take();

  // Calls came in this minute, and wait to be read.
  Advance(seconds(60));
  EXPECT_EQ(Counts("s").leased(), 2);
  worker.Sync();
  Advance(seconds(14));
  worker.Sync();
  EXPECT_EQ(Counts("s").leased(), 2);
  // None came from this one: standing still again does not save it.
  Advance(seconds(10));

  EXPECT_EQ(Attempt(lost.attempt()).outcome, Outcome::kLost);
  EXPECT_FALSE(Attempt(kept.attempt()).outcome.has_value());
  Advance(seconds(5));
  EXPECT_EQ(Attempt(kept.attempt()).outcome, Outcome::kLost);
}

TEST_F(EngineLeasesTest, AnEndThatCouldNotBeWrittenInTimeIsNotTakenForASchedulerThatStoodStill) {
  Submit(Sweep("s", 1));
  TestWorker gone = Worker("gone");
  const v1::Lease lost = gone.Take();
  disk_full_ = true;  // Which says nothing of the disk here.
  Advance(options_.lease_term);
  EXPECT_EQ(Counts("s").leased(), 1);

  disk_full_ = false;
  Advance(seconds(2));

  EXPECT_EQ(Attempt(lost.attempt()).outcome, Outcome::kLost);
}

TEST_F(EngineLeasesTest, AZombieThatStillTrainsIsToldToDrop) {
  Submit(Sweep("s", 1));
  TestWorker zombie = Worker("zombie");
  const v1::Lease lost = zombie.Take();
  Advance(seconds(15));
  TestWorker other = Worker("other");
  other.Take();

  const v1::SynchronizeResponse answer = zombie.Sync();

  ASSERT_EQ(answer.directives_size(), 1);
  EXPECT_EQ(answer.directives(0).attempt(), lost.attempt());
  EXPECT_EQ(answer.directives(0).action(), v1::Directive::ACTION_DROP);
  EXPECT_EQ(answer.leases_size(), 0);
}

TEST_F(EngineLeasesTest, CallsKeepALeaseAlive) {
  Submit(Sweep("s", 1));
  TestWorker worker = Worker("a");
  worker.Take();
  for (int i = 0; i < 10; ++i) {
    Advance(seconds(10));
    worker.Sync();
  }
  EXPECT_EQ(Counts("s").leased(), 1);
}

TEST_F(EngineLeasesTest, TenLossesFailAJob) {
  Submit(Sweep("s", 1));
  TestWorker worker = Worker("a");
  std::string job;
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(Counts("s").failed(), 0);
    job = worker.Take().jobs(0).id();
    worker.Restart();
    Advance(seconds(15));
  }
  EXPECT_EQ(Counts("s").failed(), 1);
  EXPECT_THAT(Job(job).failure, HasSubstr("lost 10 times; the last: its lease ran out: worker 'name-of-a' was silent for 15 s"));
}

TEST_F(EngineLeasesTest, ThreeFailuresAloneFailAJobAndRetryGivesItAnotherChance) {
  Submit(Sweep("s", 1));
  TestWorker worker = Worker("a");
  std::string job;
  for (int i = 0; i < 3; ++i) {
    const v1::Lease lease = worker.Take();
    job = lease.jobs(0).id();
    worker.Fail(lease, "out of\nmemory");
    worker.next().set_free_slots(0);
    worker.Sync();
    worker.next().set_free_slots(1);
    EXPECT_EQ(Job(job).failures, i + 1);
  }
  EXPECT_EQ(Job(job).failure, "out of memory");
  EXPECT_EQ(Counts("s").failed(), 1);
  EXPECT_EQ(worker.Sync().leases_size(), 0);

  ASSERT_TRUE(Steer("s", v1::SteerSweepRequest::ACTION_RETRY).ok());
  const v1::Lease lease = worker.Take();
  EXPECT_EQ(Job(job).failures, 0);
  worker.Succeed(lease);
  worker.Sync();
  EXPECT_EQ(Counts("s").succeeded(), 1);
}

TEST_F(EngineLeasesTest, AFailedPackIsSplitUntilOnlyTheCulpritFails) {
  Submit(Sweep("s", 9));
  TestWorker worker = Worker("a");
  std::string culprit;
  int attempts = 0;
  while (Counts("s").queued() > 0 && ++attempts < 50) {
    const v1::Lease lease = worker.Take();
    bool fails = false;
    for (const v1::LeasedJob& job : lease.jobs()) {
      if (job.spec().seed() == 5) culprit = job.id();
      fails |= job.spec().seed() == 5;
    }
    if (fails) worker.Fail(lease, "segmentation fault");
    else worker.Succeed(lease);
    worker.next().set_free_slots(0);
    worker.Sync();
    worker.next().set_free_slots(1);
  }
  EXPECT_EQ(Counts("s").succeeded(), 8);
  EXPECT_EQ(Counts("s").failed(), 1);
  EXPECT_EQ(Job(culprit).failures, 3);
  EXPECT_EQ(Job(culprit).failure, "segmentation fault");
  EXPECT_LE(attempts, 11);  // 9 -> 5+4 -> 3+2 -> 2+1 -> 1+1, and the culprit three times.
  EXPECT_EQ(engine()->board().Read().attempts.size(), 0u);
}

TEST_F(EngineLeasesTest, ThreeFailuresOfDifferentJobsPutAWorkerAside) {
  v1::SweepSpec spec = Sweep("s", 4);
  Submit(spec);
  TestWorker worker = Worker("a");
  worker.next().mutable_abilities()->set_pack_limit(1);
  for (int i = 0; i < 3; ++i) {
    // Another worker takes the jobs that failed, so that this one gets new ones.
    const v1::Lease lease = worker.Take();
    worker.Fail(lease, "cuda error");
    worker.next().set_free_slots(0);
    worker.Sync();
    worker.next().set_free_slots(1);
    TestWorker other = Worker("other" + std::to_string(i));
    other.next().mutable_abilities()->set_pack_limit(1);
    other.Take();
  }

  const v1::SynchronizeResponse refused = worker.Sync();
  EXPECT_EQ(refused.leases_size(), 0);
  EXPECT_THAT(refused.refused(), HasSubstr("its last 3 attempts, of different jobs, failed; the last: cuda error"));
  EXPECT_EQ(Counts("s").queued(), 1);

  worker.Restart();
  EXPECT_EQ(worker.Sync().refused(), "");
  EXPECT_EQ(worker.held().size(), 1u);
}

TEST_F(EngineLeasesTest, ThreeAttemptsWhoseResultsAreRefusedPutAWorkerAside) {
  Submit(Sweep("s", 4));
  TestWorker worker = Worker("a");
  worker.next().mutable_abilities()->set_pack_limit(1);
  for (int i = 0; i < 3; ++i) {
    const v1::Lease lease = worker.Take();
    v1::AttemptReport nonsense = SuccessOf(lease);
    nonsense.mutable_results(0)->mutable_measurements(0)->set_value(std::numeric_limits<double>::quiet_NaN());
    worker.Report(nonsense);
    worker.next().set_free_slots(i < 2 ? 0 : 1);  // With the last one it asks for more.
    const v1::SynchronizeResponse answer = worker.Sync();
    worker.next().set_free_slots(1);
    EXPECT_EQ(Attempt(lease.attempt()).outcome, Outcome::kFailed);
    if (i == 2) {
      EXPECT_EQ(answer.leases_size(), 0);
      EXPECT_THAT(answer.refused(), HasSubstr("the last: its result was refused"));
    }
    TestWorker other = Worker("other" + std::to_string(i));
    other.next().mutable_abilities()->set_pack_limit(1);
    other.Take();
  }
  EXPECT_EQ(Counts("s").queued(), 1);
}

TEST_F(EngineLeasesTest, ARestartedWorkersUnacknowledgedReportCounts) {
  Submit(Sweep("s", 2));
  TestWorker worker = Worker("a");
  const v1::Lease lease = worker.Take();
  worker.Succeed(lease);
  worker.Restart();  // Before it was told; the report lies on its disk.

  const v1::SynchronizeResponse answer = worker.Sync();

  EXPECT_THAT(answer.acknowledged(), ElementsAre(lease.attempt()));
  EXPECT_EQ(Counts("s").succeeded(), 2);
}

TEST_F(EngineLeasesTest, ARestartedWorkerLosesWhatItDoesNotKnowAtOnce) {
  Submit(Sweep("s", 1));
  TestWorker worker = Worker("a");
  const v1::Lease before = worker.Take();
  worker.Restart();

  const v1::Lease after = worker.Take();

  EXPECT_NE(after.attempt(), before.attempt());
  EXPECT_EQ(Attempt(before.attempt()).outcome, Outcome::kLost);
  EXPECT_EQ(Job(after.jobs(0).id()).losses, 1);
}

TEST_F(EngineLeasesTest, TheSameReportTwiceCountsOnce) {
  Submit(Sweep("s", 1));
  TestWorker worker = Worker("a");
  const v1::Lease lease = worker.Take();
  worker.Succeed(lease);
  worker.Sync();
  worker.Report(SuccessOf(lease));  // The answer was lost.

  EXPECT_THAT(worker.Sync().acknowledged(), ElementsAre(lease.attempt()));
  EXPECT_EQ(Counts("s").succeeded(), 1);
}

TEST_F(EngineLeasesTest, AnothersReportIsNotTaken) {
  Submit(Sweep("s", 1));
  TestWorker worker = Worker("a");
  const v1::Lease lease = worker.Take();
  TestWorker liar = Worker("b");
  liar.Report(SuccessOf(lease));

  liar.Sync();

  EXPECT_EQ(Counts("s").leased(), 1);
}

TEST_F(EngineLeasesTest, AResultThatCannotBeIsThatJobsFailureAlone) {
  Submit(Sweep("s", 6));
  TestWorker worker = Worker("a");
  const v1::Lease lease = worker.Take();
  v1::AttemptReport report = SuccessOf(lease);
  report.mutable_results(0)->mutable_measurements(0)->set_value(std::numeric_limits<double>::quiet_NaN());
  report.mutable_results(1)->mutable_measurements(0)->set_metric("acuracy");
  *report.mutable_results(2)->add_measurements() = report.results(2).measurements(1);
  v1::Measurement& loss = *report.mutable_results(4)->add_measurements();
  loss.set_metric("training_loss");
  loss.set_slice("step=1");
  report.mutable_results()->DeleteSubrange(3, 1);
  worker.next().set_free_slots(0);
  worker.Report(report);

  worker.Sync();

  EXPECT_EQ(Counts("s").succeeded(), 1);
  EXPECT_EQ(Counts("s").queued(), 5);
  EXPECT_THAT(Job(lease.jobs(0).id()).failure, HasSubstr("not a finite number"));
  EXPECT_THAT(Job(lease.jobs(1).id()).failure, HasSubstr("unknown metric 'acuracy'"));
  EXPECT_THAT(Job(lease.jobs(2).id()).failure, HasSubstr("twice"));
  EXPECT_THAT(Job(lease.jobs(3).id()).failure, HasSubstr("has none"));
  EXPECT_THAT(Job(lease.jobs(4).id()).failure, HasSubstr("training_loss as a measurement")) << "its curve would say another thing";
  EXPECT_EQ(Job(lease.jobs(0).id()).failures, 1);
}

TEST_F(EngineLeasesTest, AResultThatContradictsItselfIsRefused) {
  Submit(Sweep("s", 4));
  TestWorker worker = Worker("a");
  const v1::Lease lease = worker.Take();
  v1::AttemptReport report = SuccessOf(lease);
  report.mutable_results(0)->mutable_measurements(0)->set_value(57.3);
  *report.add_results() = report.results(1);
  report.mutable_results(4)->mutable_measurements(0)->set_value(0.9);
  report.mutable_results(3)->clear_measurements();
  report.mutable_results(3)->set_diverged(true);
  report.mutable_results(3)->set_diverged_at(101);
  worker.next().set_free_slots(0);
  worker.Report(report);

  worker.Sync();

  EXPECT_EQ(Counts("s").succeeded(), 1);
  EXPECT_THAT(Job(lease.jobs(0).id()).failure, HasSubstr("is 57.3, and a share is between 0 and 1"));
  EXPECT_THAT(Job(lease.jobs(1).id()).failure, HasSubstr("the report of its attempt has two"));
  EXPECT_THAT(Job(lease.jobs(3).id()).failure, HasSubstr("diverged_at is 101, and the job has 100 steps"));
}

TEST_F(EngineLeasesTest, ADivergedMemberIsAResult) {
  Submit(Sweep("s", 2));
  TestWorker worker = Worker("a");
  const v1::Lease lease = worker.Take();
  v1::AttemptReport report = SuccessOf(lease);
  report.mutable_results(0)->clear_measurements();
  report.mutable_results(0)->set_diverged(true);
  report.mutable_results(0)->set_diverged_at(17);
  worker.Report(report);

  worker.Sync();

  EXPECT_EQ(Counts("s").succeeded(), 2);
  EXPECT_EQ(Counts("s").diverged(), 1);
  EXPECT_EQ(Job(lease.jobs(0).id()).diverged_at, 17);
}

TEST_F(EngineLeasesTest, ARestartedSchedulerGivesEveryLeaseAFullTerm) {
  Submit(Sweep("s", 1));
  TestWorker worker = Worker("a");
  const v1::Lease lease = worker.Take();
  clock_.Advance(seconds(14));
  Restart();

  Advance(seconds(14));
  EXPECT_EQ(Counts("s").leased(), 1);
  // The worker did not notice anything: it holds on.
  EXPECT_EQ(worker.Sync().directives(0).action(), v1::Directive::ACTION_CONTINUE);
  Advance(seconds(15));
  EXPECT_EQ(Counts("s").queued(), 1);
  EXPECT_EQ(Job(lease.jobs(0).id()).losses, 1);
}

TEST_F(EngineLeasesTest, ALeavingWorkerGivesBackWhatItHasNotBegun) {
  Submit(Sweep("s", 1));
  TestWorker worker = Worker("a");
  const v1::Lease lease = worker.Take();
  TestWorker leaving = Worker("a");  // It never saw the lease.
  (void)leaving.Call();
  leaving.next().set_leaving(true);

  EXPECT_EQ(leaving.Sync().leases_size(), 0);

  EXPECT_EQ(Attempt(lease.attempt()).outcome, Outcome::kGivenBack);
  EXPECT_EQ(Counts("s").queued(), 1);
  EXPECT_EQ(Job(lease.jobs(0).id()).losses, 0);
  EXPECT_TRUE(engine()->board().Read().workers.empty());
}

}  // namespace
}  // namespace longreach::service
