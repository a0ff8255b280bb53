// `longreach run` and `submit` of a sweep with jobs that have failed, which a submission leaves so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/commands/command.h"
#include "tests/client/embedded_fixture.h"

namespace longreach::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

using RetryFailedTest = EmbeddedTest;

TEST_F(RetryFailedTest, RunOfASweepWhoseOtherJobsHaveFailedStartsAWorkerToRetryThemAlone) {
  MakeStore();
  SetScheduler(Listens());
  SetReadyWorker("cat >/dev/null\n");
  fake_.plan.set_jobs(3);
  fake_.plan.set_done(2);
  fake_.plan.set_failed(1);
  fake_.plan.set_packs(0);
  fake_.sweep.set_jobs(3);
  fake_.sweep.mutable_counts()->set_failed(1);

  const Outcome left = Run({"run", "table-b1", "--store", store()});

  EXPECT_EQ(left.code, kFailed) << left.err;
  EXPECT_THAT(left.err, HasSubstr(": 3 jobs, 2 done, 1 failed; store "));
  EXPECT_EQ(Contents("worker.calls"), "");
  EXPECT_NE(fake_.steered.action(), v1::SteerSweepRequest::ACTION_RETRY);

  EXPECT_EQ(Run({"run", "table-b1", "--store", store(), "--retry-failed"}).code, kFailed);

  EXPECT_EQ(fake_.steered.action(), v1::SteerSweepRequest::ACTION_RETRY);
  EXPECT_THAT(Contents("worker.calls"), HasSubstr("run "));
}

TEST_F(RetryFailedTest, SubmitNamesARunWhereSomethingIsOpenAlone) {
  MakeStore();
  SetScheduler(Listens());
  fake_.plan.set_failed(1);
  fake_.sweep.mutable_counts()->set_succeeded(1);
  fake_.sweep.mutable_counts()->set_failed(1);

  const Outcome failed = Run({"submit", "table-b1", "--store", store()});

  EXPECT_THAT(failed.err, HasSubstr("1 job has failed, and stays so; 'longreach retry aaaaaaaa --store " + store() + "' queues it again\n"));
  EXPECT_THAT(failed.err, Not(HasSubstr("nothing runs yet")));
  fake_.sweep.mutable_counts()->set_queued(1);
  EXPECT_THAT(Run({"submit", "table-b1", "--store", store()}).err, HasSubstr("nothing runs yet; 'longreach run table-b1 --store " + store() + "' does\n"));
}

// The plan of before they are queued again is not of them.
TEST_F(RetryFailedTest, RunSeesToTheDataOfWhatItRetriesToo) {
  MakeStore();
  SetScheduler(Listens());
  SetWorker("if [ \"$2 $3\" = \"ensure missing\" ]; then exit 4; fi\nif [ \"$1\" = data ]; then exit 0; fi\necho ready\ncat >/dev/null\n");
  fake_.sweep.mutable_counts()->set_succeeded(1);
  fake_.sweep.mutable_counts()->set_failed(1);
  fake_.plan.set_failed(1);
  fake_.plan.add_data_sets("there");
  fake_.when_steered = [this] { fake_.plan.add_data_sets("missing"); };

  const Outcome outcome = Run({"run", "table-1", "--retry-failed", "--store", store()});

  EXPECT_EQ(outcome.code, kNotFound) << outcome.err;
  EXPECT_EQ(fake_.steered.action(), v1::SteerSweepRequest::ACTION_RETRY);
  EXPECT_THAT(Contents("worker.calls"), StartsWith("data ensure there\n"));
  EXPECT_EQ(LastLine("worker.calls"), "data ensure missing\n");
}

}  // namespace
}  // namespace longreach::client
