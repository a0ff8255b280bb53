// What a plan says of jobs that have failed: it is what the submission then leaves of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "tests/scheduler/service/engine_fixture.h"

namespace longreach::service {
namespace {

using Steering = v1::SteerSweepRequest;

class EnginePlanFailedTest : public EngineFixture {
 protected:
  v1::Plan Planned(const v1::SweepSpec& spec) {
    v1::SubmitSweepRequest request;
    *request.mutable_spec() = spec;
    request.set_dry_run(true);
    const absl::StatusOr<v1::SubmitSweepResponse> response = engine_->SubmitSweep(request, *store_);
    EXPECT_TRUE(response.ok()) << response.status();
    return response.ok() ? response->plan() : v1::Plan();
  }
  // Plans the sweep, submits it, and holds what the store has then against both plans. Of so few jobs those of a kind are one pack.
  v1::Plan PlannedAndSubmitted(const v1::SweepSpec& spec) {
    const v1::Plan planned = Planned(spec), submitted = Submit(spec).plan();
    EXPECT_EQ(planned.ShortDebugString(), submitted.ShortDebugString());
    const v1::JobCounts counts = Counts(spec.name());
    EXPECT_EQ(planned.failed(), counts.failed());
    EXPECT_EQ(planned.done(), counts.succeeded());
    EXPECT_EQ(planned.jobs() - planned.done() - planned.failed(), counts.waiting() + counts.queued() + counts.leased());
    EXPECT_EQ(counts.cancelled(), 0);
    EXPECT_EQ(planned.packs(), *store_->writer_connection().One<int>("SELECT count(DISTINCT j.pack_key) FROM sweep_jobs AS sj JOIN jobs AS j ON j.num = sj.job JOIN sweeps AS s "
                                                                      "ON s.num = sj.sweep WHERE s.name = ? AND j.state IN ('waiting', 'queued', 'leased') AND j.wanted = 1",
                                                                      spec.name()));
    CheckLedger();
    return planned;
  }
  // As a job of the sweep, or what such jobs need, ends that has crashed three times. What needs it is left as it is.
  void Fail(const std::string& which) {
    ASSERT_TRUE(store_->writer_connection().Execute("UPDATE jobs SET state = 'failed', attempt = NULL, failure = 'crashed', failures = 3 WHERE " + which).ok());
  }
  absl::StatusOr<v1::Sweep> Cancel(const std::string& sweep, const std::string& only) {
    Steering request;
    request.set_sweep(sweep);
    request.set_action(Steering::ACTION_CANCEL_JOBS);
    request.add_only(only);
    absl::StatusOr<v1::Sweep> answer = absl::InternalError("no answer");
    engine_->SteerSweep(request, [&](absl::StatusOr<v1::Sweep> given) { answer = std::move(given); });
    return answer;
  }
  // Each job is a test of weights that another trains, which is the same whatever the number of examples of the test.
  static v1::SweepSpec Tests(const std::string& name, int seeds, int examples) {
    v1::SweepSpec spec = Sweep(name, seeds);
    spec.mutable_training()->set_steps(0);
    v1::Input* input = spec.add_inputs();
    input->set_name("weights");
    input->set_artifact("weights");
    input->mutable_from()->mutable_training()->set_steps(50);
    *input->mutable_from()->mutable_evaluation() = spec.evaluation();
    input->mutable_from()->mutable_evaluation()->set_examples(7);
    spec.mutable_evaluation()->set_examples(examples);
    return spec;
  }
  // The first job in line is trained once, by a worker that leaves then.
  void Try(const std::string& name, const std::function<void(TestWorker& worker, const v1::Lease& lease)>& report) {
    TestWorker worker = Worker(name);
    worker.next().mutable_abilities()->set_pack_limit(1);
    report(worker, worker.Take());
    worker.next().set_leaving(true);
    worker.Sync();
  }
  // A worker would rather have another job than one that has failed there.
  void FailTheFirst() {
    for (const char* name : {"one", "two", "three"}) Try(name, [](TestWorker& worker, const v1::Lease& lease) { worker.Fail(lease, "crashed"); });
  }
};

TEST_F(EnginePlanFailedTest, WhatHasFailedIsNotToRunAndCostsNothing) {
  const v1::Plan before = PlannedAndSubmitted(Sweep("s", 4));
  Fail("seed = 1");

  const v1::Plan plan = PlannedAndSubmitted(Sweep("s", 4));

  EXPECT_EQ(before.failed(), 0);
  EXPECT_EQ(plan.failed(), 1);
  EXPECT_EQ(plan.jobs(), 4);
  EXPECT_DOUBLE_EQ(plan.flops(), before.flops() * 3 / 4);
  EXPECT_DOUBLE_EQ(plan.checkpoint_bytes(), before.checkpoint_bytes() * 3 / 4);
  EXPECT_DOUBLE_EQ(plan.pack_memory_bytes(), before.pack_memory_bytes() * 3 / 4);
  ASSERT_TRUE(Steer("s", Steering::ACTION_RETRY).ok());
  const v1::Plan again = PlannedAndSubmitted(Sweep("s", 4));
  EXPECT_EQ(again.failed(), 0);
  EXPECT_DOUBLE_EQ(again.flops(), before.flops());
}

TEST_F(EnginePlanFailedTest, ItHasFailedForEverySweep) {
  Submit(Sweep("s", 4));
  Fail("seed < 2");

  const v1::Plan plan = PlannedAndSubmitted(Sweep("more", 6)), again = PlannedAndSubmitted(Sweep("more", 6));

  EXPECT_EQ(plan.failed(), 2);
  EXPECT_EQ(again.failed(), 2);
  EXPECT_DOUBLE_EQ(again.flops(), plan.flops());
}

TEST_F(EnginePlanFailedTest, WhereAllHaveFailedNothingIsLeftAndNoDataSetIsRead) {
  v1::SweepSpec spec = Sweep("s", 2);
  spec.set_experiment("language");
  spec.set_data("novels");
  spec.mutable_axes()->set_task(0, "enwik8");
  spec.clear_training();
  EXPECT_THAT(Planned(spec).data_sets(), ::testing::ElementsAre("novels"));
  Submit(spec);
  Fail("1");

  const v1::Plan plan = PlannedAndSubmitted(spec);

  EXPECT_EQ(plan.failed(), 2);
  EXPECT_EQ(plan.packs(), 0);
  EXPECT_EQ(plan.flops(), 0);
  EXPECT_EQ(plan.pack_memory_bytes(), 0);
  EXPECT_THAT(plan.data_sets(), ::testing::IsEmpty());
}

TEST_F(EnginePlanFailedTest, ACancelledSweepIsPlannedAsItsSubmissionRevivesIt) {
  Submit(Sweep("s", 4));
  Fail("seed = 0");
  ASSERT_TRUE(Steer("s", Steering::ACTION_CANCEL).ok());
  EXPECT_EQ(Counts("s").cancelled(), 3);

  EXPECT_EQ(PlannedAndSubmitted(Sweep("s", 4)).failed(), 1);
}

TEST_F(EnginePlanFailedTest, AJobThatWasCancelledAloneAndFailedForAnotherSweepHasFailed) {
  Submit(Sweep("a", 3));
  Submit(Sweep("b", 2));
  ASSERT_TRUE(Cancel("a", "seed=0,1").ok());
  Fail("seed = 0");
  EXPECT_EQ(Counts("a").failed(), 0) << "there it is cancelled";

  EXPECT_EQ(PlannedAndSubmitted(Sweep("a", 3)).failed(), 1);
  EXPECT_EQ(PlannedAndSubmitted(Sweep("b", 2)).failed(), 1);
}

TEST_F(EnginePlanFailedTest, WhatBeginsWithAJobThatHasFailedFailsAtOnce) {
  Submit(Tests("first", 2, 3));
  FailTheFirst();
  EXPECT_EQ(Counts("first").failed(), 1);

  const v1::Plan other = PlannedAndSubmitted(Tests("other", 2, 4));

  EXPECT_EQ(other.failed(), 1);
  EXPECT_EQ(other.prerequisites(), 2);
  EXPECT_EQ(PlannedAndSubmitted(Tests("first", 2, 3)).failed(), 1);
}

TEST_F(EnginePlanFailedTest, WhatWasCancelledBeforeItsInputFailedFailsWhenItIsRevived) {
  Submit(Tests("s", 2, 3));
  Submit(Tests("other", 1, 4));
  ASSERT_TRUE(Steer("s", Steering::ACTION_CANCEL).ok());
  FailTheFirst();
  EXPECT_EQ(Counts("other").failed(), 1);
  EXPECT_EQ(Counts("s").cancelled(), 2);

  const v1::Plan plan = PlannedAndSubmitted(Tests("s", 2, 3));

  EXPECT_EQ(plan.failed(), 1);
  EXPECT_EQ(plan.packs(), 2) << "what makes the other's weights, and that";
}

TEST_F(EnginePlanFailedTest, WhatBeginsWithAJobThatDivergedFailsAtOnce) {
  Submit(Tests("first", 1, 3));
  Try("w", [](TestWorker& worker, const v1::Lease& lease) {
    v1::AttemptReport report = SuccessOf(lease);
    report.mutable_results(0)->clear_measurements();
    report.mutable_results(0)->set_diverged(true);
    report.mutable_results(0)->set_diverged_at(17);
    worker.Report(report);
  });

  const v1::Plan plan = PlannedAndSubmitted(Tests("other", 1, 4));

  EXPECT_EQ(plan.failed(), 1);
  EXPECT_EQ(plan.prerequisites_done(), 1);
  EXPECT_EQ(plan.packs(), 0);
}

TEST_F(EnginePlanFailedTest, WhatFailedJobsNeedIsTrainedAllTheSameAndCounts) {
  Submit(Tests("s", 1, 3));
  Fail("num IN (SELECT job FROM sweep_jobs WHERE role = 'member')");

  const v1::Plan plan = PlannedAndSubmitted(Tests("s", 1, 3));

  EXPECT_EQ(plan.failed(), 1);
  EXPECT_EQ(plan.packs(), 1);
  EXPECT_EQ(Worker("w").Take().jobs(0).spec().training().steps(), 50);
}

}  // namespace
}  // namespace longreach::service
