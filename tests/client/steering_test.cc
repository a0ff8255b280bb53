// Commands that change what becomes of sweeps and workers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <map>
#include <string>

#include "client/commands/command.h"
#include "tests/client/support.h"

namespace longreach::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

using SteeringTest = WithFakeScheduler;

TEST_F(SteeringTest, SteeringSaysWhatToWhom) {
  const std::map<std::string, v1::SteerSweepRequest::Action> actions = {
      {"pause", v1::SteerSweepRequest::ACTION_PAUSE},
      {"resume", v1::SteerSweepRequest::ACTION_RESUME},
      {"cancel", v1::SteerSweepRequest::ACTION_CANCEL},
      {"retry", v1::SteerSweepRequest::ACTION_RETRY}};
  for (const auto& [name, action] : actions) {
    Run({name, "mine"});
    EXPECT_EQ(scheduler_.steered.action(), action);
    EXPECT_EQ(scheduler_.steered.sweep(), "mine");
  }
  Run({"priority", "mine", "-5"});
  EXPECT_EQ(scheduler_.steered.action(), v1::SteerSweepRequest::ACTION_SET_PRIORITY);
  EXPECT_EQ(scheduler_.steered.priority(), -5);
  const Outcome drained = Run({"drain", "gpu-1"});
  EXPECT_THAT(drained.out, HasSubstr("gpu-1 is draining"));
  EXPECT_THAT(drained.err, HasSubstr("it gets no work, also when it comes back, until 'longreach drain --undo gpu-1 --scheduler "));
  const Outcome undone = Run({"drain", "gpu-1", "--undo"});
  EXPECT_THAT(undone.out, HasSubstr("gpu-1 is active"));
  EXPECT_EQ(undone.err, "");
  EXPECT_EQ(scheduler_.steered_worker.worker(), "gpu-1");
  scheduler_.workers.mutable_workers(0)->set_state("gone");
  const Outcome of_one_gone = Run({"drain", "gpu-1", "--undo"});
  EXPECT_THAT(of_one_gone.out, HasSubstr("gpu-1 is gone"));
  EXPECT_EQ(of_one_gone.err, "it gets work again when it comes back\n");
}

TEST_F(SteeringTest, RetrySaysWhatItDoesNotTryAgain) {
  scheduler_.sweep.mutable_counts()->set_failed(0);
  scheduler_.sweep.mutable_counts()->set_diverged(2);

  const Outcome outcome = Run({"retry", "mine"});

  EXPECT_EQ(outcome.code, kDone);
  EXPECT_THAT(outcome.err, HasSubstr("none of its jobs has failed\n2 jobs diverged, which is a result"));
  scheduler_.sweep.mutable_counts()->set_failed(1);
  scheduler_.sweep.mutable_counts()->set_diverged(0);
  EXPECT_EQ(Run({"retry", "mine"}).err, "");
  scheduler_.jobs.mutable_jobs(0)->set_failure("input failed: weights (job 01234567 diverged)");
  EXPECT_EQ(Run({"retry", "mine"}).err, "what it begins with diverged, which is a result that no retry changes: it takes another learning rate or seed\n");
  scheduler_.sweep.mutable_counts()->set_failed(1500);
  EXPECT_THAT(Run({"retry", "mine"}).err, HasSubstr("what 1 of them begins with diverged")) << "of others nothing is known";
  scheduler_.sweep.mutable_counts()->set_failed(0);
  scheduler_.refusals["SteerSweep"] = grpc::Status(grpc::StatusCode::FAILED_PRECONDITION, "sweep mine is cancelled");
  EXPECT_EQ(Run({"retry", "mine"}).err, "error: sweep mine is cancelled\n");
}

TEST_F(SteeringTest, CancelSaysWhatItHasDropped) {
  // Of those that ran, others go on for another sweep.
  scheduler_.sweep.set_jobs(7);
  scheduler_.sweep.mutable_counts()->set_leased(5);
  scheduler_.when_steered = [this] { scheduler_.sweep.mutable_counts()->set_leased(0); };
  scheduler_.sweep.set_jobs_dropped(3);
  EXPECT_EQ(Run({"cancel", "mine"}).err,
            "3 jobs were being trained: what they had done is dropped, with their checkpoints. 'longreach pause' would have kept it; submitting the sweep again begins them anew\n");
  EXPECT_EQ(nlohmann::json::parse(Run({"cancel", "mine", "-o", "json"}).out)["jobs_dropped"], 3);
  scheduler_.sweep.set_jobs_dropped(0);
  EXPECT_EQ(Run({"cancel", "mine"}).err, "");
}

TEST_F(SteeringTest, CancelSaysOfOneJobThatItWasOne) {
  scheduler_.sweep.set_jobs(3);
  scheduler_.sweep.set_jobs_dropped(1);
  EXPECT_EQ(Run({"cancel", "mine"}).err,
            "1 job was being trained: what it had done is dropped, with its checkpoints. 'longreach pause' would have kept it; submitting the sweep again begins it anew\n");
}

TEST_F(SteeringTest, CancelSaysNothingOfWhatAnOlderSchedulerDoesNotTell) {
  scheduler_.sweep.mutable_counts()->set_leased(2);
  scheduler_.when_steered = [this] {
    scheduler_.sweep.mutable_counts()->set_leased(0);
    scheduler_.sweep.mutable_counts()->set_cancelled(2);
  };
  EXPECT_EQ(Run({"cancel", "mine"}).err, "");
}

TEST_F(SteeringTest, CancelSaysWhoHasTheJobsThatStayOpen) {
  scheduler_.sweep.set_jobs(2000);
  scheduler_.sweep.mutable_counts()->set_queued(2000);
  scheduler_.sweep.mutable_counts()->set_leased(0);
  scheduler_.when_steered = [this] { scheduler_.sweep.mutable_counts()->set_queued(1200); };
  EXPECT_EQ(Run({"cancel", "mine"}).err,
            "1,200 jobs of it stay open, as other sweeps have them too; 'longreach sweeps --scheduler " + scheduler_.address() + "' shows those\n");
  scheduler_.when_steered = [this] { scheduler_.sweep.mutable_counts()->set_queued(1); };
  EXPECT_THAT(Run({"cancel", "mine"}).err, StartsWith("1 job of it stays open, as other sweeps have it too; "));
  EXPECT_THAT(Run({"cancel", "mine", "--only", "seed=1"}).err, ::testing::Not(HasSubstr("open"))) << "the sweep goes on";
}

TEST_F(SteeringTest, CancelOfSomeJobsSaysWhatBringsThoseBackThatItHasDropped) {
  scheduler_.sweep.set_jobs_steered(4);
  scheduler_.sweep.set_jobs_dropped(2);
  EXPECT_THAT(Run({"cancel", "mine", "--only", "seed=1"}).err,
              HasSubstr("queues them again\n2 jobs were being trained: what they had done is dropped, with their checkpoints. 'longreach pause' would have kept it; a retry begins them anew\n"));
}

TEST_F(SteeringTest, CancelOfASweepThatHasEndedSaysSo) {
  v1::JobCounts& counts = *scheduler_.sweep.mutable_counts();
  counts.Clear();
  counts.set_succeeded(2);
  counts.set_failed(1);
  scheduler_.sweep.set_jobs(3);
  EXPECT_EQ(Run({"cancel", "mine"}).err, "none of its jobs was left to cancel; results that are there stay\n");
}

TEST_F(SteeringTest, SomeJobsAreCancelledAndRetriedByActionsOfTheirOwn) {
  scheduler_.sweep.mutable_counts()->set_leased(0);
  scheduler_.sweep.mutable_counts()->set_failed(0);
  scheduler_.sweep.mutable_counts()->set_diverged(0);
  scheduler_.sweep.set_jobs_steered(3);

  const Outcome cancelled = Run({"cancel", "mine", "--only", "seed=1..3", "--only", "encoding=rope"});

  EXPECT_EQ(scheduler_.steered.action(), v1::SteerSweepRequest::ACTION_CANCEL_JOBS);
  EXPECT_THAT(scheduler_.steered.only(), ElementsAre("seed=1..3", "encoding=rope"));
  EXPECT_THAT(cancelled.err, StartsWith("3 jobs are cancelled, and the sweep goes on without them; 'longreach retry "));
  EXPECT_EQ(Run({"retry", "mine", "--only", "seed=1"}).err, "3 jobs are queued again\n");
  EXPECT_EQ(scheduler_.steered.action(), v1::SteerSweepRequest::ACTION_RETRY_JOBS);
  EXPECT_EQ(Run({"retry", "mine"}).err, "3 jobs are queued again\n");
  EXPECT_EQ(scheduler_.steered.action(), v1::SteerSweepRequest::ACTION_RETRY);
  scheduler_.sweep.set_jobs_steered(0);
  EXPECT_EQ(Run({"retry", "mine", "--only", "seed=1"}).err, "none of these jobs has failed or was cancelled\n");
  EXPECT_EQ(Run({"cancel", "mine", "--only", "seed=1"}).err, "none of these jobs was left to cancel\n");
}

TEST_F(SteeringTest, SubmittingAgainSaysWhatBecomesOfTheSweep) {
  scheduler_.state_before = "live";
  EXPECT_THAT(Run({"submit", "table-b1"}).out, HasSubstr("done; it was there already\n"));
  scheduler_.state_before = "paused";
  EXPECT_THAT(Run({"submit", "table-b1"}).out, HasSubstr("done; it was paused, and goes on\n"));
  scheduler_.state_before = "cancelled";
  EXPECT_THAT(Run({"submit", "table-b1"}).out, HasSubstr("done; it was cancelled, and is not any more\n")) << "no job of it is open";
  scheduler_.sweep.mutable_counts()->set_queued(1);
  EXPECT_THAT(Run({"submit", "table-b1"}).out, HasSubstr("done; it was cancelled, and goes on: those of its jobs that were dropped begin anew ("));
}

}  // namespace
}  // namespace longreach::client
