// What a worker gets after it has failed: a machine that is broken, and jobs that fail everywhere.
#include <gmock/gmock.h>

#include "tests/scheduler/service/engine_fixture.h"
#include "tests/support/status.h"

namespace longreach::service {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class EngineOtherWorkTest : public EngineFixture {
 protected:
  static constexpr const char* kPutAside = "its last 3 attempts, of different jobs, failed; the last: cuda error";

  // A pack of `seeds` jobs for each of these encodings.
  v1::SubmitSweepResponse SubmitPacks(const std::string& name, std::vector<std::string> encodings, int seeds, std::optional<int> priority = {}) {
    v1::SweepSpec spec = Sweep(name, seeds);
    spec.mutable_axes()->clear_encoding();
    for (const std::string& encoding : encodings) spec.mutable_axes()->add_encoding(encoding);
    return Submit(spec, priority);
  }
  // Reports and asks for nothing.
  static void Hand(TestWorker& worker) {
    worker.next().set_free_slots(0);
    worker.Sync();
    worker.next().set_free_slots(1);
  }
  static void FailIt(TestWorker& worker, const v1::Lease& lease) {
    worker.Fail(lease, "cuda error");
    Hand(worker);
  }
  static void DoIt(TestWorker& worker, const v1::Lease& lease) {
    worker.Succeed(lease);
    Hand(worker);
  }
  static std::string Encoding(const v1::Lease& lease) { return lease.jobs(0).spec().encoding(); }
};

TEST_F(EngineOtherWorkTest, ABrokenMachineIsSeenAfterThreeAttemptsAndFailsNoJob) {
  SubmitPacks("s", {"rope", "alibi", "none", "relative"}, 4);
  TestWorker worker = Worker("a");
  std::vector<std::string> encodings;
  for (int i = 0; i < 3; ++i) {
    const v1::Lease lease = worker.Take();
    EXPECT_EQ(lease.jobs_size(), 4);
    encodings.push_back(Encoding(lease));
    FailIt(worker, lease);
  }
  EXPECT_THAT(encodings, ElementsAre("rope", "alibi", "none"));
  EXPECT_THAT(worker.Sync().refused(), HasSubstr(kPutAside));
  EXPECT_EQ(Counts("s").queued(), 16);
}

TEST_F(EngineOtherWorkTest, OnePackAfterAnotherOfTheSameKindIsNotThatWhichFailed) {
  Submit(Sweep("s", 7));
  TestWorker worker = Worker("a");
  worker.next().mutable_abilities()->set_pack_limit(2);
  std::vector<uint32_t> first_seeds;
  for (int i = 0; i < 3; ++i) {
    const v1::Lease lease = worker.Take();
    first_seeds.push_back(lease.jobs(0).spec().seed());
    FailIt(worker, lease);
  }
  EXPECT_THAT(first_seeds, ElementsAre(0, 2, 4));
  EXPECT_THAT(worker.Sync().refused(), HasSubstr(kPutAside));
}

TEST_F(EngineOtherWorkTest, ASweepThatFailsEverywhereDoesNotKeepOthersWaiting) {
  SubmitPacks("large", {"rope", "alibi", "none", "relative"}, 1, 9);
  SubmitPacks("small", {"sin_cos"}, 3);
  TestWorker worker = Worker("a");
  worker.next().mutable_abilities()->set_pack_limit(1);
  std::vector<std::string> encodings;
  for (int i = 0; i < 6; ++i) {
    const v1::Lease lease = worker.Take();
    encodings.push_back(Encoding(lease));
    if (Encoding(lease) == "sin_cos") DoIt(worker, lease);
    else FailIt(worker, lease);
  }
  // In turn: a success says that the machine is in order.
  EXPECT_THAT(encodings, ElementsAre("rope", "sin_cos", "rope", "sin_cos", "rope", "sin_cos"));
  EXPECT_EQ(Counts("small").succeeded(), 3);
  EXPECT_EQ(Counts("large").failed(), 1) << "three times alone";
}

TEST_F(EngineOtherWorkTest, PutAsideForOneSweepItComesBackForAnother) {
  SubmitPacks("large", {"rope", "alibi", "none", "relative"}, 1);
  TestWorker worker = Worker("a");
  for (int i = 0; i < 3; ++i) FailIt(worker, worker.Take());
  EXPECT_THAT(worker.Sync().refused(), HasSubstr("it goes on when there is work of another sweep"));
  worker.next().set_may_wait(true);
  EXPECT_FALSE(worker.Call().has_value()) << "held open, as there is nothing for it";

  SubmitPacks("small", {"sin_cos"}, 1);

  ASSERT_TRUE(worker.late().has_value());
  ASSERT_OK(*worker.late());
  const v1::SynchronizeResponse answer = **worker.late();
  EXPECT_EQ(answer.refused(), "");
  ASSERT_EQ(answer.leases_size(), 1);
  EXPECT_EQ(Encoding(answer.leases(0)), "sin_cos");
  worker.next().set_may_wait(false);
  worker.Succeed(answer.leases(0));
  EXPECT_EQ(worker.Sync().refused(), "");
  EXPECT_EQ(Counts("small").succeeded(), 1);
  EXPECT_EQ(Counts("large").leased(), 1) << "its record is empty again";
}

TEST_F(EngineOtherWorkTest, OneThatFailsInAnotherSweepAsWellIsPutAsideForGood) {
  SubmitPacks("large", {"rope", "alibi", "none", "relative"}, 1);
  TestWorker worker = Worker("a");
  for (int i = 0; i < 3; ++i) FailIt(worker, worker.Take());
  SubmitPacks("small", {"sin_cos"}, 1);
  FailIt(worker, worker.Take());
  SubmitPacks("third", {"log_kerple"}, 1);
  const v1::SynchronizeResponse refused = worker.Sync();
  EXPECT_THAT(refused.refused(), HasSubstr(kPutAside));
  EXPECT_THAT(refused.refused(), Not(HasSubstr("another sweep")));
  EXPECT_EQ(refused.leases_size(), 0);
  EXPECT_EQ(Counts("third").queued(), 1);
}

TEST_F(EngineOtherWorkTest, JobsOfAnotherSweepThatFitTheFailedPacksAreNoOtherWork) {
  SubmitPacks("large", {"rope", "alibi", "none"}, 1);
  TestWorker worker = Worker("a");
  for (int i = 0; i < 3; ++i) FailIt(worker, worker.Take());
  SubmitPacks("larger", {"rope"}, 2);  // One is shared, and one differs in its seed alone.
  const v1::SynchronizeResponse refused = worker.Sync();
  EXPECT_THAT(refused.refused(), HasSubstr(kPutAside));
  EXPECT_EQ(refused.leases_size(), 0);
}

TEST_F(EngineOtherWorkTest, AResultOfOneThatWasPutAsideBringsItBack) {
  SubmitPacks("s", {"rope", "alibi", "none", "relative", "sin_cos"}, 1);
  TestWorker worker = Worker("a");
  const v1::Lease slow = worker.Take();
  for (int i = 0; i < 3; ++i) FailIt(worker, worker.Take());
  EXPECT_THAT(worker.Sync().refused(), HasSubstr(kPutAside));
  worker.Succeed(slow);
  const v1::SynchronizeResponse answer = worker.Sync();
  EXPECT_EQ(answer.refused(), "");
  EXPECT_EQ(answer.leases_size(), 1);
}

}  // namespace
}  // namespace longreach::service
