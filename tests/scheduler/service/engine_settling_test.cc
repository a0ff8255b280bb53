// Large sweeps that are steered: their jobs follow in slices, others go in between, and what breaks off is gone on with.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
  TestWorker Worker(const std::string& id) {
    current_ = engine_.get();
    return TestWorker(&current_, id);
  }
  // After the first slice, before the second.
  void BetweenSlices(std::function<void()> happens) {
    during_event_ = [this, happens = std::move(happens)] { during_event_ = happens; };
  }
  absl::Status BreakOff(const std::string& sweep, Steering::Action action) {
    BetweenSlices([this] { disk_full_ = true; });
    const absl::Status status = Steer(sweep, action).status();
    disk_full_ = false;
    return status;
  }
  int Wanted() { return *store_->writer_connection().One<int>("SELECT count(*) FROM jobs WHERE wanted = 1"); }

  Engine* current_ = nullptr;
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
  EXPECT_EQ(cancelled->counts().cancelled(), 5);
  EXPECT_EQ(worker.Sync().directives(0).action(), v1::Directive::ACTION_DROP);
}

TEST_F(EngineSettlingTest, WhatBrokeOffIsGoneOnWithAfterAStart) {
  Submit(Sweep("s", 7));
  EXPECT_EQ(BreakOff("s", Steering::ACTION_CANCEL).code(), absl::StatusCode::kResourceExhausted);
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
