// Large sweeps that are steered: their jobs follow in slices, others go in between, and what breaks off is gone on with.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/service/query_sweeps.h"
#include "tests/scheduler/service/engine_fixture.h"

namespace longreach::service {
namespace {

using Steering = v1::SteerSweepRequest;

class EngineSettlingTest : public EngineFixture {
 protected:
  EngineSettlingTest() {
    options_.jobs_settled_in_slice = 2;
    RestartScheduler();
  }
  // Before the nth event from now on is run.
  void BeforeEvent(int n, std::function<void()> happens) {
    if (n <= 1) during_event_ = std::move(happens);
    else during_event_ = [this, n, happens = std::move(happens)] { BeforeEvent(n - 1, happens); };
  }
  // After the first slice, before the second.
  void BetweenSlices(std::function<void()> happens) { BeforeEvent(2, std::move(happens)); }
  absl::Status BreakOff(const std::string& sweep, Steering::Action action) {
    BetweenSlices([this] { disk_full_ = true; });
    const absl::Status status = Steer(sweep, action).status();
    disk_full_ = false;
    return status;
  }
  int Wanted() { return *store_->writer_connection().One<int>("SELECT count(*) FROM jobs WHERE wanted = 1"); }

};

TEST_F(EngineSettlingTest, CallsGoInBetweenAndTheLedgerHoldsAfterEachSlice) {
  Submit(Sweep("s", 7));
  TestWorker worker = Worker("a");
  int wanted = -1;
  BetweenSlices([&] {
    CheckLedger();
    wanted = Wanted();
    EXPECT_EQ(worker.Sync().leases_size(), 1) << "of what does not follow yet";
  });
  const int before = events_;

  const absl::StatusOr<v1::Sweep> paused = Steer("s", Steering::ACTION_PAUSE);

  ASSERT_TRUE(paused.ok()) << paused.status();
  EXPECT_EQ(paused->state(), "paused");
  EXPECT_EQ(wanted, 5);
  EXPECT_EQ(events_ - before, 5) << "four slices and the worker's call";
  EXPECT_EQ(Wanted(), 0);
  EXPECT_EQ(worker.Sync().directives(0).action(), v1::Directive::ACTION_STOP);
  EXPECT_EQ(worker.Sync().leases_size(), 0);
}

TEST_F(EngineSettlingTest, ACancelTakesAJobFromWhoeverGotItMeanwhile) {
  Submit(Sweep("s", 5));
  TestWorker worker = Worker("a");
  v1::Lease lease;
  BetweenSlices([&] { lease = worker.Take(); });

  const absl::StatusOr<v1::Sweep> cancelled = Steer("s", Steering::ACTION_CANCEL);

  ASSERT_TRUE(cancelled.ok()) << cancelled.status();
  EXPECT_EQ(lease.jobs_size(), 3);
  EXPECT_EQ(cancelled->jobs_dropped(), 3);
  EXPECT_EQ(cancelled->counts().cancelled(), 5);
  EXPECT_EQ(worker.Sync().directives(0).action(), v1::Directive::ACTION_DROP);
}

TEST_F(EngineSettlingTest, AResultOfAJobThatDoesNotFollowACancelYetCounts) {
  Submit(Sweep("s", 7));
  TestWorker worker = Worker("a");
  const v1::Lease lease = worker.Take();
  ASSERT_EQ(lease.jobs_size(), 7);
  BetweenSlices([&] {
    worker.Succeed(lease);
    worker.Sync();
  });

  const absl::StatusOr<v1::Sweep> cancelled = Steer("s", Steering::ACTION_CANCEL);

  ASSERT_TRUE(cancelled.ok()) << cancelled.status();
  EXPECT_EQ(cancelled->counts().cancelled(), 2) << "those of the first slice, whose results came too late";
  EXPECT_EQ(cancelled->counts().succeeded(), 5);
  EXPECT_EQ(cancelled->jobs_dropped(), 2);
  EXPECT_EQ(Scores("s").size(), 5u);
}

TEST_F(EngineSettlingTest, WhatIsDroppedInAllSlicesIsCounted) {
  Submit(Sweep("s", 7));
  ASSERT_EQ(Worker("a").Take().jobs_size(), 7);

  const absl::StatusOr<v1::Sweep> paused = Steer("s", Steering::ACTION_PAUSE), cancelled = Steer("s", Steering::ACTION_CANCEL), again = Steer("s", Steering::ACTION_CANCEL);

  ASSERT_TRUE(paused.ok() && cancelled.ok() && again.ok());
  EXPECT_FALSE(paused->has_jobs_dropped());
  EXPECT_EQ(cancelled->jobs_dropped(), 7);
  EXPECT_TRUE(again->has_jobs_dropped());
  EXPECT_EQ(again->jobs_dropped(), 0);
}

TEST_F(EngineSettlingTest, WhatIsGivenBackMeanwhileIsCancelledToo) {
  Submit(Sweep("s", 7));
  TestWorker worker = Worker("a");
  const v1::Lease lease = worker.Take();
  BetweenSlices([&] {
    worker.next().set_free_slots(0);
    worker.GiveBack(lease);
    worker.Sync();
    EXPECT_EQ(Counts("s").queued(), 5);
  });

  ASSERT_TRUE(Steer("s", Steering::ACTION_CANCEL).ok());

  EXPECT_EQ(Counts("s").cancelled(), 7);
}

TEST_F(EngineSettlingTest, WhoWatchesSeesTheEndWhenAllJobsFollow) {
  Submit(Sweep("s", 7));
  const auto look = [this] {
    v1::GetSweepRequest request;
    request.set_sweep("s");
    absl::StatusOr<v1::SweepUpdate> update = GetSweepUpdate(store_->writer_connection(), request, engine_->board().Read());
    EXPECT_TRUE(update.ok()) << update.status();
    return update.value_or(v1::SweepUpdate());
  };
  v1::SweepUpdate meanwhile;
  BetweenSlices([&] { meanwhile = look(); });

  ASSERT_TRUE(Steer("s", Steering::ACTION_CANCEL).ok());

  EXPECT_EQ(meanwhile.sweep().state(), "cancelled");
  EXPECT_EQ(meanwhile.sweep().counts().cancelled(), 2);
  EXPECT_EQ(meanwhile.sweep().counts().queued(), 5);
  EXPECT_EQ(meanwhile.sweep().jobs(), 7);
  EXPECT_FALSE(meanwhile.finished());
  EXPECT_TRUE(look().finished());
}

TEST_F(EngineSettlingTest, ACancelledSweepIsOverThoughAnotherWantsItsJobs) {
  Submit(Sweep("a", 7));
  Submit(Sweep("b", 9));  // Seven of its jobs are those of "a".
  ASSERT_TRUE(Steer("a", Steering::ACTION_CANCEL).ok());
  const auto finished = [this](const char* sweep) {
    v1::GetSweepRequest request;
    request.set_sweep(sweep);
    absl::StatusOr<v1::SweepUpdate> update = GetSweepUpdate(store_->writer_connection(), request, engine_->board().Read());
    EXPECT_TRUE(update.ok()) << update.status();
    return update.ok() && update->finished();
  };
  EXPECT_EQ(Counts("a").queued(), 7);
  EXPECT_TRUE(finished("a"));
  EXPECT_FALSE(finished("b"));
}

TEST_F(EngineSettlingTest, AJobThatAnotherSweepWantsAgainIsNotLeftCancelled) {
  Submit(Sweep("a", 7));
  Submit(Sweep("b", 9));  // Seven of its jobs are those of "a".
  ASSERT_TRUE(Steer("a", Steering::ACTION_CANCEL).ok());
  ASSERT_TRUE(Steer("b", Steering::ACTION_CANCEL).ok());
  BetweenSlices([&] {
    EXPECT_TRUE(Steer("b", Steering::ACTION_SET_PRIORITY, 3).ok());
    CheckLedger();
    EXPECT_EQ(Counts("b").queued(), 7) << "all that the live sweep has, and it has not reached all";
  });

  Submit(Sweep("a", 7));

  EXPECT_EQ(Counts("a").queued(), 7);
  EXPECT_EQ(Counts("b").cancelled(), 2);
}

TEST_F(EngineSettlingTest, APauseOfASweepWhoseJobsComeBreaksOffWithItAndBothAreGoneOnWith) {
  options_.jobs_in_slice = 2;
  RestartScheduler();
  absl::Status paused;
  BeforeEvent(4, [&] {  // Six jobs are there.
    BetweenSlices([&] { disk_full_ = true; });
    paused = Steer("s", Steering::ACTION_PAUSE).status();
  });
  v1::SubmitSweepRequest request;
  *request.mutable_spec() = Sweep("s", 9);
  EXPECT_FALSE(engine_->SubmitSweep(request, *store_).ok());
  EXPECT_EQ(paused.code(), absl::StatusCode::kResourceExhausted);
  disk_full_ = false;
  EXPECT_EQ(Wanted(), 4);
  CheckLedger();

  RestartScheduler();
  RunDeadlines();

  EXPECT_EQ(Counts("s").queued(), 9);
  EXPECT_EQ(Wanted(), 0);
  EXPECT_EQ(engine_->NextDeadline(), std::nullopt);
}

TEST_F(EngineSettlingTest, ASliceThatFailsByItselfTakesNoLeaseFromTheMemory) {
  Submit(Sweep("s", 6));
  std::vector<TestWorker> workers;
  std::vector<v1::Lease> leases;
  for (const char* id : {"a", "b", "c", "d"}) {
    workers.push_back(Worker(id));
    workers.back().next().mutable_abilities()->set_pack_limit(1);
    leases.push_back(workers.back().Take());
  }
  EXPECT_FALSE(BreakOff("s", Steering::ACTION_CANCEL).ok());
  // The third attempt can end, the fourth cannot: their slice is taken back.
  ASSERT_TRUE(store_->writer_connection()
                  .Execute(fmt::format("CREATE TRIGGER no_end BEFORE UPDATE OF outcome ON attempts WHEN NEW.id = {} AND NEW.outcome = 'dropped' "
                                       "BEGIN SELECT RAISE(ABORT, 'no room'); END",
                                       leases[3].attempt()))
                  .ok());
  RunDeadlines();
  EXPECT_EQ(Counts("s").leased(), 2);

  Advance(options_.lease_term);

  EXPECT_EQ(Attempt(leases[2].attempt()).outcome, Outcome::kLost);
  EXPECT_EQ(Attempt(leases[3].attempt()).outcome, Outcome::kLost);
  EXPECT_EQ(Counts("s").cancelled(), 6);
}

TEST_F(EngineSettlingTest, SubmittingAgainAfterAKillOvertakesACancelThatBrokeOff) {
  Submit(Sweep("s", 7));
  EXPECT_FALSE(BreakOff("s", Steering::ACTION_CANCEL).ok());
  RestartScheduler();

  EXPECT_EQ(Submit(Sweep("s", 7)).sweep().counts().queued(), 7);
  RunDeadlines();

  EXPECT_EQ(Counts("s").queued(), 7);
  EXPECT_EQ(Wanted(), 7);
}

TEST_F(EngineSettlingTest, WhatBrokeOffIsGoneOnWithAfterAStart) {
  Submit(Sweep("s", 7));
  const absl::Status broken_off = BreakOff("s", Steering::ACTION_CANCEL);
  EXPECT_EQ(broken_off.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(broken_off.message()), ::testing::StartsWith("the sweep 's' is as asked for, but for some of its jobs, and the scheduler goes on by itself"));
  EXPECT_EQ(Counts("s").cancelled(), 2);

  RestartScheduler();
  CheckLedger();
  RunDeadlines();

  EXPECT_EQ(Counts("s").cancelled(), 7);
  EXPECT_EQ(engine_->NextDeadline(), std::nullopt);
}

TEST_F(EngineSettlingTest, WhatBrokeOffIsGoneOnWithAsSoonAsThereIsRoom) {
  Submit(Sweep("s", 7));
  EXPECT_FALSE(BreakOff("s", Steering::ACTION_PAUSE).ok());
  disk_full_ = true;
  RunDeadlines();
  EXPECT_EQ(Wanted(), 5);
  disk_full_ = false;

  Advance(std::chrono::seconds(1));

  EXPECT_EQ(Wanted(), 0);
}

TEST_F(EngineSettlingTest, TheEndOfTheSchedulerWaitsForOneSliceAndTheNextStartGoesOn) {
  Submit(Sweep("s", 9));
  BetweenSlices([this] { engine_->Shutdown(); });

  const absl::Status ended = Steer("s", Steering::ACTION_CANCEL).status();

  EXPECT_EQ(ended.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(std::string(ended.message()), "the scheduler is shutting down; it goes on with the sweep at its next start");
  EXPECT_EQ(Counts("s").cancelled(), 4) << "the first slice, and the one that was under way";
  RestartScheduler();
  RunDeadlines();
  EXPECT_EQ(Counts("s").cancelled(), 9);
}

TEST_F(EngineSettlingTest, ARetryThatTheEndOfTheSchedulerBreaksOffIsToBeAskedForAgain) {
  Submit(Sweep("s", 9));
  ASSERT_TRUE(store_->writer_connection().Execute("UPDATE jobs SET state = 'failed', failure = 'crashed', failures = 3").ok());
  BeforeEvent(3, [this] { engine_->Shutdown(); });

  const absl::Status ended = Steer("s", Steering::ACTION_RETRY).status();

  EXPECT_EQ(ended.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(ended.message()), ::testing::HasSubstr("ask it again"));
  EXPECT_EQ(Counts("s").queued(), 4);
}

TEST_F(EngineSettlingTest, TheEndOfTheSchedulerDoesNotBreakOffTheLastSlice) {
  Submit(Sweep("s", 3));
  BetweenSlices([this] { engine_->Shutdown(); });
  EXPECT_TRUE(Steer("s", Steering::ACTION_CANCEL).ok());
  EXPECT_EQ(Counts("s").cancelled(), 3);
}

TEST_F(EngineSettlingTest, AChangeThatOvertakesAnotherHolds) {
  Submit(Sweep("s", 7));
  BetweenSlices([&] { ASSERT_TRUE(Steer("s", Steering::ACTION_RESUME).ok()); });

  const absl::StatusOr<v1::Sweep> paused = Steer("s", Steering::ACTION_PAUSE);

  ASSERT_TRUE(paused.ok()) << paused.status();
  EXPECT_EQ(paused->state(), "live") << "as it is now";
  EXPECT_EQ(Wanted(), 7);
}

TEST_F(EngineSettlingTest, SubmittingACancelledSweepAgainRevivesAllOfItsJobs) {
  Submit(Sweep("s", 7));
  ASSERT_TRUE(Steer("s", Steering::ACTION_CANCEL).ok());
  BetweenSlices([&] { EXPECT_EQ(Counts("s").queued(), 2); });

  EXPECT_EQ(Submit(Sweep("s", 7)).sweep().counts().queued(), 7);

  EXPECT_EQ(Wanted(), 7);
}

TEST_F(EngineSettlingTest, SubmittingAgainGoesOnWhereARevivalBrokeOff) {
  Submit(Sweep("s", 7));
  ASSERT_TRUE(Steer("s", Steering::ACTION_CANCEL).ok());
  BetweenSlices([this] { disk_full_ = true; });
  v1::SubmitSweepRequest request;
  *request.mutable_spec() = Sweep("s", 7);
  EXPECT_EQ(engine_->SubmitSweep(request, *store_).status().code(), absl::StatusCode::kResourceExhausted);
  disk_full_ = false;

  EXPECT_EQ(Submit(Sweep("s", 7)).sweep().counts().queued(), 7);
}

TEST_F(EngineSettlingTest, APauseWhileCancelledJobsAreRevivedHoldsThemAll) {
  Submit(Sweep("s", 7));
  ASSERT_TRUE(Steer("s", Steering::ACTION_CANCEL).ok());
  BetweenSlices([&] { ASSERT_TRUE(Steer("s", Steering::ACTION_PAUSE).ok()); });

  Submit(Sweep("s", 7));

  EXPECT_EQ(Counts("s").queued(), 7);
  EXPECT_EQ(Wanted(), 0);
}

TEST_F(EngineSettlingTest, APriorityReachesAllJobs) {
  Submit(Sweep("s", 7));
  ASSERT_TRUE(Steer("s", Steering::ACTION_SET_PRIORITY, 4).ok());
  EXPECT_EQ(*store_->writer_connection().One<int>("SELECT count(*) FROM jobs WHERE priority = 4"), 7);
}

TEST_F(EngineSettlingTest, ARetryReachesAllFailedJobsInSlices) {
  Submit(Sweep("s", 5));
  ASSERT_TRUE(store_->writer_connection().Execute("UPDATE jobs SET state = 'failed', failure = 'crashed', failures = 3").ok());
  const int before = events_;

  const absl::StatusOr<v1::Sweep> retried = Steer("s", Steering::ACTION_RETRY);

  ASSERT_TRUE(retried.ok()) << retried.status();
  EXPECT_EQ(retried->counts().queued(), 5);
  EXPECT_EQ(events_ - before, 4) << "the question, and three slices";
}

TEST_F(EngineSettlingTest, ARetryThatBreaksOffIsToldAndAskedForAgain) {
  Submit(Sweep("s", 5));
  ASSERT_TRUE(store_->writer_connection().Execute("UPDATE jobs SET state = 'failed', failure = 'crashed', failures = 3").ok());
  BeforeEvent(3, [this] { disk_full_ = true; });
  EXPECT_EQ(Steer("s", Steering::ACTION_RETRY).status().code(), absl::StatusCode::kResourceExhausted);
  disk_full_ = false;
  EXPECT_EQ(Counts("s").queued(), 2);
  RunDeadlines();
  EXPECT_EQ(Counts("s").failed(), 3);

  ASSERT_TRUE(Steer("s", Steering::ACTION_RETRY).ok());

  EXPECT_EQ(Counts("s").queued(), 5);
}

TEST_F(EngineSettlingTest, ACancelEndsARetry) {
  Submit(Sweep("s", 5));
  ASSERT_TRUE(store_->writer_connection().Execute("UPDATE jobs SET state = 'failed', failure = 'crashed', failures = 3").ok());
  BeforeEvent(3, [&] { ASSERT_TRUE(Steer("s", Steering::ACTION_CANCEL).ok()); });

  EXPECT_EQ(Steer("s", Steering::ACTION_RETRY).status().code(), absl::StatusCode::kFailedPrecondition);

  EXPECT_EQ(Counts("s").cancelled(), 2) << "those that were retried";
  EXPECT_EQ(Counts("s").failed(), 3);
}

TEST_F(EngineSettlingTest, FewJobsWithManyPrerequisitesChangeAtOnce) {
  v1::SweepSpec spec = Sweep("s", 2);
  spec.mutable_training()->set_steps(0);
  v1::Input maker;
  maker.set_name("weights");
  maker.set_artifact("weights");
  maker.mutable_from()->mutable_training()->set_steps(60);
  v1::Input* input = spec.add_inputs();
  *input = maker;
  input->mutable_from()->mutable_training()->set_steps(50);
  *input->mutable_from()->add_inputs() = maker;
  EXPECT_EQ(Submit(spec).plan().prerequisites(), 4);

  ASSERT_TRUE(Steer("s", Steering::ACTION_CANCEL).ok());

  EXPECT_EQ(Wanted(), 0);
  EXPECT_EQ(*store_->writer_connection().One<int>("SELECT count(*) FROM jobs WHERE state = 'cancelled'"), 6);
}

TEST_F(EngineSettlingTest, ASweepWithInputsChangesAtOnce) {
  v1::SweepSpec spec = Sweep("s", 5);
  spec.mutable_training()->set_steps(0);
  v1::Input* input = spec.add_inputs();
  input->set_name("weights");
  input->set_artifact("weights");
  input->mutable_from()->mutable_training()->set_steps(50);
  Submit(spec);
  const int before = events_;

  ASSERT_TRUE(Steer("s", Steering::ACTION_CANCEL).ok());

  EXPECT_EQ(events_ - before, 1);
  EXPECT_EQ(Counts("s").cancelled(), 5);
  EXPECT_EQ(Wanted(), 0) << "nor is any maker";
}

}  // namespace
}  // namespace longreach::service
