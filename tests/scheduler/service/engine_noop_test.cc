// Jobs that compute nothing: leased one by one, as many as the worker has room for, beside what its trainer takes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/measurements.h"
#include "tests/scheduler/service/engine_fixture.h"

namespace longreach::service {
namespace {

v1::SweepSpec NoopSweep(const std::string& name, const std::string& task, int seeds) {
  v1::SweepSpec spec;
  spec.set_name(name);
  spec.set_experiment("noop");
  spec.mutable_axes()->add_task(task);
  spec.mutable_axes()->add_encoding("rope");
  spec.mutable_axes()->add_learning_rate(1e-3);
  for (int seed = 0; seed < seeds; ++seed) spec.mutable_axes()->add_seed(static_cast<uint32_t>(seed));
  return spec;
}

class EngineNoopTest : public EngineFixture {
 protected:
  TestWorker Worker(int noop_slots) {
    TestWorker worker(&raw_, "a");
    raw_ = engine_.get();
    worker.next().mutable_abilities()->add_experiments("noop");
    worker.next().set_free_noop_slots(noop_slots);
    return worker;
  }
  Engine* raw_ = nullptr;
};

v1::AttemptReport EchoOf(const v1::Lease& lease) {
  v1::AttemptReport report;
  report.set_attempt(lease.attempt());
  report.set_outcome(v1::AttemptReport::OUTCOME_SUCCEEDED);
  v1::MemberResult& result = *report.add_results();
  result.set_job(lease.jobs(0).id());
  v1::Measurement& echo = *result.add_measurements();
  echo.set_metric("echo");
  echo.set_value(0.25);
  return report;
}

TEST_F(EngineNoopTest, EachIsAnAttemptOfItsOwnAndStandsBesideThePackThatTrains) {
  Submit(NoopSweep("nothing", "even_pairs", 5));
  Submit(Sweep("work", 2));
  TestWorker worker = Worker(3);

  const v1::SynchronizeResponse answer = worker.Sync();

  ASSERT_EQ(answer.leases_size(), 4);
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(answer.leases(i).jobs_size(), 1);
    EXPECT_EQ(answer.leases(i).jobs(0).spec().experiment(), "noop");
    EXPECT_EQ(answer.leases(i).jobs(0).spec().seed(), static_cast<uint32_t>(i));
    EXPECT_EQ(answer.leases(i).jobs(0).spec().learning_rate(), 1e-3);
    EXPECT_EQ(Attempt(answer.leases(i).attempt()).members, 1);
  }
  EXPECT_EQ(answer.leases(3).jobs_size(), 2);
  EXPECT_EQ(answer.leases(3).jobs(0).spec().experiment(), "algorithmic");
}

TEST_F(EngineNoopTest, ReportsOfManyAndTheNextOnesGoWithOneCall) {
  Submit(NoopSweep("nothing", "even_pairs", 5));
  TestWorker worker = Worker(3);
  const v1::SynchronizeResponse first = worker.Sync();
  ASSERT_EQ(first.leases_size(), 3);
  for (const v1::Lease& lease : first.leases()) worker.Report(EchoOf(lease));

  const v1::SynchronizeResponse second = worker.Sync();

  EXPECT_EQ(second.acknowledged_size(), 3);
  EXPECT_EQ(second.leases_size(), 2);
  EXPECT_EQ(Counts("nothing").succeeded(), 3);
  EXPECT_EQ(Counts("nothing").leased(), 2);
}

TEST_F(EngineNoopTest, AnAnswerThatWasLostIsGivenAgainAndCountsAgainstTheRoom) {
  Submit(NoopSweep("nothing", "even_pairs", 5));
  TestWorker worker = Worker(3);
  const v1::SynchronizeResponse lost = worker.Sync();
  TestWorker same = Worker(3);
  same.next().set_free_noop_slots(4);
  for (uint64_t i = 0; i < worker.sequence(); ++i) same.Call();

  const v1::SynchronizeResponse again = same.Sync();

  ASSERT_EQ(again.leases_size(), 4);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(again.leases(i).attempt(), lost.leases(i).attempt());
}

TEST_F(EngineNoopTest, TheirTurnIsByPriorityAndSubmissionAcrossKindsOfWork) {
  Submit(NoopSweep("first", "even_pairs", 2));
  Submit(NoopSweep("second", "parity_check", 2));
  Submit(NoopSweep("third", "even_pairs", 3));  // Its third job comes after those of the second sweep.
  Submit(NoopSweep("urgent", "bucket_sort", 1), 7);
  TestWorker worker = Worker(256);

  const v1::SynchronizeResponse answer = worker.Sync();

  std::vector<std::string> tasks;
  for (const v1::Lease& lease : answer.leases()) tasks.push_back(lease.jobs(0).spec().task());
  EXPECT_THAT(tasks, ::testing::ElementsAre("bucket_sort", "even_pairs", "even_pairs", "parity_check", "parity_check", "even_pairs"));
}

TEST_F(EngineNoopTest, AResultWithoutItsEchoIsRefused) {
  Submit(NoopSweep("nothing", "even_pairs", 1));
  TestWorker worker = Worker(1);
  const v1::SynchronizeResponse answer = worker.Sync();
  ASSERT_EQ(answer.leases_size(), 1);
  v1::AttemptReport report = EchoOf(answer.leases(0));
  report.mutable_results(0)->mutable_measurements(0)->set_metric("accuracy");
  worker.Report(report);

  worker.Sync();

  EXPECT_EQ(Counts("nothing").succeeded(), 0);
  EXPECT_EQ(Job(answer.leases(0).jobs(0).id()).failures, 1);
}

TEST_F(EngineNoopTest, SubmittingASweepAgainPlansWhatIsOpenAndAddsNothing) {
  const v1::SubmitSweepResponse first = Submit(NoopSweep("nothing", "even_pairs", 5));
  EXPECT_EQ(first.plan().packs(), 5);
  TestWorker worker = Worker(2);
  const v1::SynchronizeResponse given = worker.Sync();
  for (const v1::Lease& lease : given.leases()) worker.Report(EchoOf(lease));
  worker.next().set_free_noop_slots(0);
  worker.Sync();

  const v1::SubmitSweepResponse again = Submit(NoopSweep("nothing", "even_pairs", 5));

  EXPECT_FALSE(again.created());
  EXPECT_EQ(again.plan().jobs(), 5);
  EXPECT_EQ(again.plan().done(), 2);
  EXPECT_EQ(again.plan().packs(), 3);
  EXPECT_EQ(again.sweep().counts().succeeded(), 2);
}

}  // namespace
}  // namespace longreach::service
