// Some jobs of a sweep that are cancelled or retried alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/service/query_jobs.h"
#include "scheduler/service/query_sweeps.h"
#include "scheduler/service/some_jobs.h"
#include "tests/scheduler/service/engine_fixture.h"

namespace longreach::service {
namespace {

using ::testing::HasSubstr;
using Steering = v1::SteerSweepRequest;

class EngineSomeJobsTest : public EngineFixture {
 protected:
  static Steering Named(const std::string& sweep, Steering::Action action, const std::vector<std::string>& only) {
    Steering request;
    request.set_sweep(sweep);
    request.set_action(action);
    for (const std::string& one : only) request.add_only(one);
    return request;
  }
  absl::StatusOr<v1::Sweep> SteerJobs(const std::string& sweep, Steering::Action action, const std::vector<std::string>& only) {
    absl::StatusOr<v1::Sweep> answer = absl::InternalError("no answer");
    engine_->SteerSweep(Named(sweep, action, only), [&](absl::StatusOr<v1::Sweep> given) { answer = std::move(given); });
    return answer;
  }
  absl::StatusOr<v1::Sweep> Cancel(const std::string& sweep, const std::vector<std::string>& only) { return SteerJobs(sweep, Steering::ACTION_CANCEL_JOBS, only); }
  absl::StatusOr<v1::Sweep> Retry(const std::string& sweep, const std::vector<std::string>& only) { return SteerJobs(sweep, Steering::ACTION_RETRY_JOBS, only); }
  std::string FirstReason(const std::string& job) {
    v1::GetJobRequest request;
    request.set_job(job);
    const absl::StatusOr<v1::ExplainJobResponse> explained = ExplainJob(store_->writer_connection(), request, engine_->board().Read());
    EXPECT_TRUE(explained.ok()) << explained.status();
    return explained.ok() ? explained->reasons(0) : "";
  }
  std::string IdOf(const std::string& where) { return *store_->writer_connection().One<std::string>("SELECT id FROM jobs WHERE " + where + " ORDER BY num LIMIT 1"); }
  int Wanted() { return *store_->writer_connection().One<int>("SELECT count(*) FROM jobs WHERE wanted = 1"); }
  // Each of two jobs needs one that needs another.
  static v1::SweepSpec Chains() {
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
    return spec;
  }
};

TEST_F(EngineSomeJobsTest, AJobInThePlaceOfTheSweepIsRefusedWithItsSweep) {
  Submit(Chains());
  const auto id = [this](const std::string& which) {
    return *store_->writer_connection().One<std::string>("SELECT id FROM jobs WHERE num " + which + " (SELECT job FROM sweep_jobs WHERE role = 'member') ORDER BY num LIMIT 1");
  };

  const absl::Status member = Cancel(id("IN"), {"seed=1"}).status();
  const absl::Status maker = Cancel(id("NOT IN").substr(0, 8), {"seed=1"}).status();

  EXPECT_EQ(member.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(member.message()), HasSubstr("is a job's id, and no sweep's: it is of the sweep 's' ("));
  EXPECT_EQ(maker.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(maker.message()), HasSubstr("is a job's id, and no sweep's: it makes what jobs of the sweep 's' ("));
  EXPECT_THAT(std::string(maker.message()), ::testing::Not(HasSubstr("--only"))) << "which names a sweep's own jobs";
}

TEST_F(EngineSomeJobsTest, TheSweepGoesOnWithoutThemAndEndsWithItsOthers) {
  Submit(Sweep("s", 3));
  TestWorker worker = Worker("a");
  const v1::Lease lease = worker.Take();
  ASSERT_EQ(lease.jobs_size(), 3);

  const absl::StatusOr<v1::Sweep> after = Cancel("s", {"seed=1"});

  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_EQ(after->state(), "live");
  EXPECT_EQ(after->jobs_steered(), 1);
  EXPECT_EQ(after->jobs_dropped(), 1);
  EXPECT_EQ(after->counts().cancelled(), 1);
  EXPECT_EQ(after->counts().leased(), 2);
  worker.Succeed(lease);
  worker.Sync();
  EXPECT_EQ(Counts("s").succeeded(), 2);
  EXPECT_EQ(Counts("s").cancelled(), 1) << "its result came too late";
  EXPECT_TRUE(store::NewestSweep(store_->writer_connection(), "s")->is_over());
}

TEST_F(EngineSomeJobsTest, NothingButARetryOrASubmissionBringsThemBack) {
  Submit(Sweep("s", 3));
  ASSERT_TRUE(Cancel("s", {"seed=0,2"}).ok());
  for (const Steering::Action action : {Steering::ACTION_PAUSE, Steering::ACTION_RESUME, Steering::ACTION_SET_PRIORITY, Steering::ACTION_RETRY}) {
    ASSERT_TRUE(Steer("s", action, 2).ok());
    EXPECT_EQ(Counts("s").cancelled(), 2) << action;
  }

  const absl::StatusOr<v1::Sweep> retried = Retry("s", {"seed=2"});

  ASSERT_TRUE(retried.ok()) << retried.status();
  EXPECT_EQ(retried->jobs_steered(), 1);
  EXPECT_EQ(retried->counts().queued(), 2);
  EXPECT_EQ(Wanted(), 2);
  EXPECT_EQ(Submit(Sweep("s", 3)).sweep().counts().queued(), 3);
  EXPECT_EQ(Wanted(), 3);
}

TEST_F(EngineSomeJobsTest, AJobThatWasCancelledAloneIsToldTheRetryThatRevivesIt) {
  const std::string sweep = Submit(Sweep("s", 3)).sweep().id().substr(0, 8);
  ASSERT_TRUE(Cancel("s", {"seed=1,2"}).ok());
  const std::string job = IdOf("seed = 2");

  const std::string reason = FirstReason(job);

  const std::vector<std::string> only = {"task=even_pairs", "encoding=rope", "learning_rate=0.001", "seed=2"};
  std::string command = "'longreach retry " + sweep;
  for (const std::string& one : only) command += " --only " + one;
  EXPECT_THAT(reason, HasSubstr("cancelled alone; " + command + "' revives it"));
  EXPECT_EQ(Retry(sweep, only)->jobs_steered(), 1);
  EXPECT_EQ(Job(job).state, store::State::kQueued);
  EXPECT_THAT(FirstReason(IdOf("seed = 1")), HasSubstr(" --only seed=1' revives it")) << "which is still cancelled";
}

TEST_F(EngineSomeJobsTest, AJobThatWentWithOthersOrWithItsSweepIsToldSo) {
  const std::string sweep = Submit(Chains()).sweep().id().substr(0, 8);
  ASSERT_TRUE(Cancel("s", {"seed=0,1"}).ok());
  const std::string maker = IdOf("num NOT IN (SELECT job FROM sweep_jobs WHERE role = 'member')");

  EXPECT_THAT(FirstReason(maker), HasSubstr("cancelled with the jobs of sweep " + sweep + " that need it"));

  ASSERT_TRUE(Steer("s", Steering::ACTION_CANCEL).ok());
  for (const std::string& job : {maker, IdOf("num IN (SELECT job FROM sweep_jobs WHERE role = 'member')")}) {
    EXPECT_THAT(FirstReason(job), HasSubstr("cancelled with its sweep, " + sweep)) << "no retry is admitted now";
  }
}

TEST_F(EngineSomeJobsTest, OnlyThoseThatFailedAndAreNamedAreRetried) {
  Submit(Sweep("s", 3));
  ASSERT_TRUE(store_->writer_connection().Execute("UPDATE jobs SET state = 'failed', failure = 'crashed', failures = 3 WHERE seed < 2").ok());

  const absl::StatusOr<v1::Sweep> retried = Retry("s", {"seed=1,2"});

  ASSERT_TRUE(retried.ok()) << retried.status();
  EXPECT_EQ(retried->jobs_steered(), 1);
  EXPECT_EQ(retried->counts().failed(), 1);
  EXPECT_EQ(retried->counts().queued(), 2);
  EXPECT_EQ(Retry("s", {"seed=1"})->jobs_steered(), 0) << "asked again after a lost answer";
  EXPECT_EQ(Steer("s", Steering::ACTION_RETRY)->jobs_steered(), 1);
}

TEST_F(EngineSomeJobsTest, AJobThatAnotherSweepWantsGoesOnForThatOneAlone) {
  Submit(Sweep("a", 3));
  Submit(Sweep("b", 4));  // Three of its jobs are those of "a".

  const absl::StatusOr<v1::Sweep> after = Cancel("a", {"seed=0"});

  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_EQ(after->jobs_steered(), 1);
  EXPECT_EQ(after->counts().queued(), 2);
  EXPECT_EQ(after->counts().cancelled(), 1);
  EXPECT_EQ(Counts("b").queued(), 4);
  ASSERT_TRUE(Steer("b", Steering::ACTION_CANCEL).ok());
  EXPECT_EQ(Counts("a").cancelled(), 1);
  EXPECT_EQ(Counts("a").queued(), 2);
  EXPECT_EQ(Counts("b").cancelled(), 2);
}

TEST_F(EngineSomeJobsTest, WhatRunsOnForAnotherSweepIsNotDropped) {
  Submit(Sweep("a", 3));
  Submit(Sweep("b", 1));  // The first of them.
  ASSERT_EQ(Worker("w").Take().jobs_size(), 3);

  const absl::StatusOr<v1::Sweep> some = Cancel("a", {"seed=0,1"}), all = Steer("a", Steering::ACTION_CANCEL);

  ASSERT_TRUE(some.ok() && all.ok());
  EXPECT_EQ(some->jobs_steered(), 2);
  EXPECT_EQ(some->jobs_dropped(), 1);
  EXPECT_EQ(all->jobs_dropped(), 1);
  EXPECT_FALSE(Retry("b", {"seed=0"})->has_jobs_dropped());
}

TEST_F(EngineSomeJobsTest, NobodyWaitsForAJobThatItsSweepHasGivenUpAndAnotherGoesOnWith) {
  Submit(Sweep("a", 3));
  Submit(Sweep("b", 2));
  TestWorker worker = Worker("w");
  worker.next().mutable_abilities()->set_pack_limit(2);
  const v1::Lease of_both = worker.Take();
  ASSERT_EQ(of_both.jobs_size(), 2);
  ASSERT_TRUE(Cancel("a", {"seed=0,1"}).ok());
  const v1::Lease of_a = worker.Take();

  worker.Succeed(of_a);
  worker.Sync();

  const auto look = [this](const char* sweep) {
    v1::GetSweepRequest request;
    request.set_sweep(sweep);
    const absl::StatusOr<v1::SweepUpdate> update = GetSweepUpdate(store_->writer_connection(), request, engine_->board().Read());
    EXPECT_TRUE(update.ok()) << update.status();
    return update.value_or(v1::SweepUpdate());
  };
  EXPECT_TRUE(look("a").finished());
  EXPECT_EQ(look("a").running_size(), 0);
  EXPECT_EQ(look("a").sweep().counts().cancelled(), 2);
  EXPECT_FALSE(look("b").finished());
  EXPECT_EQ(look("b").running_size(), 1);
  worker.Succeed(of_both);
  worker.Sync();
  EXPECT_EQ(Counts("a").succeeded(), 3) << "what another sweep has got is a result for this one as well";
}

TEST_F(EngineSomeJobsTest, WhatNeedsThemAndWhatOnlyTheyNeedIsCancelledWithThem) {
  EXPECT_EQ(Submit(Chains()).plan().prerequisites(), 4);

  const absl::StatusOr<v1::Sweep> after = Cancel("s", {"seed=0"});

  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_EQ(after->jobs_steered(), 3);
  EXPECT_EQ(Wanted(), 3);
  CheckLedger();
  EXPECT_EQ(Retry("s", {"seed=0"})->jobs_steered(), 3);
  EXPECT_EQ(Wanted(), 6);
}

TEST_F(EngineSomeJobsTest, OfALargeSweepTheyFollowInSlices) {
  options_.jobs_settled_in_slice = 2;
  RestartScheduler();
  Submit(Sweep("s", 7));
  const int before = events_;

  const absl::StatusOr<v1::Sweep> after = Cancel("s", {"seed=1..5"});

  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_EQ(events_ - before, 5) << "the question, and four slices";
  EXPECT_EQ(after->jobs_steered(), 5);
  EXPECT_EQ(after->counts().cancelled(), 5);
  EXPECT_EQ(Retry("s", {"seed=3..6"})->jobs_steered(), 3);
  EXPECT_EQ(Counts("s").queued(), 5);
}

TEST_F(EngineSomeJobsTest, OfJobsThatAreToComeBothSayToAskAgain) {
  options_.jobs_in_slice = 2;
  RestartScheduler();
  std::vector<absl::Status> refused;
  during_event_ = [&] {
    during_event_ = [&] {  // Seeds 0 and 1 are there.
      EXPECT_EQ(Retry("s", {"seed=1"})->jobs_steered(), 0);
      for (const std::string only : {"seed=1", "seed=4"}) refused.push_back(Cancel("s", {only}).status());
      refused.push_back(Retry("s", {"seed=4"}).status());
    };
  };

  Submit(Sweep("s", 5));

  ASSERT_EQ(refused.size(), 3U);
  for (const absl::Status& status : refused) {
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(status.message()), HasSubstr("3 of its jobs are to come yet, some of which may be meant; ask again once all are there"));
  }
  EXPECT_EQ(Retry("s", {"seed=4"})->jobs_steered(), 0);
  EXPECT_EQ(Cancel("s", {"seed=4"})->jobs_steered(), 1);
}

TEST_F(EngineSomeJobsTest, WhatCannotBeDoneIsRefused) {
  Submit(Sweep("s", 2));
  const auto code = [](const absl::StatusOr<v1::Sweep>& answer) { return answer.status().code(); };
  EXPECT_EQ(code(SteerJobs("s", Steering::ACTION_PAUSE, {"seed=1"})), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code(Cancel("s", {})), absl::StatusCode::kInvalidArgument) << "that would be all of them";
  EXPECT_EQ(code(Cancel("s", {"length=41"})), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code(Cancel("s", {"seed=0", "encoding=alibi"})), absl::StatusCode::kInvalidArgument) << "no job is both";
  EXPECT_THAT(std::string(CheckSomeJobs(store_->writer_connection(), Named("s", Steering::ACTION_CANCEL_JOBS, {"seed=9"})).message()), HasSubstr("unknown seed '9'"));
  TestWorker worker = Worker("a");
  worker.Succeed(worker.Take());
  worker.Sync();

  const absl::Status done = Cancel("s", {"seed=0,1"}).status();

  EXPECT_EQ(done.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(done.message()), HasSubstr("nothing to cancel among these jobs, all of which have come to their end: 2 succeeded"));
  EXPECT_EQ(code(Retry("s", {"seed=0"})), absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(Steer("s", Steering::ACTION_CANCEL).ok());
  EXPECT_THAT(std::string(Cancel("s", {"seed=0"}).status().message()), HasSubstr("the sweep is cancelled"));
}

}  // namespace
}  // namespace longreach::service
