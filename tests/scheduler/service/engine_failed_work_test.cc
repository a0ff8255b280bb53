// What a worker gets after something has failed there: a machine that is broken, and jobs that fail everywhere.
#include <gmock/gmock.h>

#include <algorithm>

#include "proto/types/refusal.h"
#include "tests/scheduler/service/engine_fixture.h"
#include "tests/support/status.h"

namespace longreach::service {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class EngineFailedWorkTest : public EngineFixture {
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
  void SteerJobs(const std::string& sweep, v1::SteerSweepRequest::Action action, const std::string& only) {
    v1::SteerSweepRequest request;
    request.set_sweep(sweep);
    request.set_action(action);
    request.add_only(only);
    engine_->SteerSweep(request, [](const absl::StatusOr<v1::Sweep>& given) { EXPECT_OK(given); });
  }
  static std::string Encoding(const v1::Lease& lease) { return lease.jobs(0).spec().encoding(); }
};

TEST_F(EngineFailedWorkTest, ABrokenMachineIsSeenByThePartsOfAPack) {
  SubmitPacks("s", {"rope", "alibi", "none"}, 4);
  TestWorker worker = Worker("a");
  std::vector<std::string> tried;
  for (int i = 0; i < 7; ++i) {
    const v1::Lease lease = worker.Take();
    tried.push_back(Encoding(lease) + std::to_string(lease.jobs_size()));
    FailIt(worker, lease);
  }
  EXPECT_THAT(tried, ElementsAre("rope4", "rope2", "rope1", "rope1", "rope2", "alibi4", "none4"));
  EXPECT_THAT(worker.Sync().refused(), HasSubstr(kPutAside));
  EXPECT_EQ(Counts("s").queued(), 12) << "none has used up its tries";
}

TEST_F(EngineFailedWorkTest, ABrokenMachineUsesUpNoTriesOfAWholePack) {
  SubmitPacks("s", {"rope", "alibi"}, 9);
  TestWorker worker = Worker("a");
  int attempts = 0;
  while (worker.Sync().refused().empty() && ++attempts < 50) {
    ASSERT_EQ(worker.held().size(), 1u);
    v1::AttemptReport report;
    report.set_attempt(worker.held().front());
    report.set_outcome(v1::AttemptReport::OUTCOME_FAILED);
    report.set_detail("cuda error");
    worker.Report(report);
  }
  EXPECT_EQ(attempts, 8);  // 9, 5, 3, 2, three alone, and the other pack.
  EXPECT_EQ(Counts("s").queued(), 18);
}

TEST_F(EngineFailedWorkTest, APackWithOneBadMemberInEachStopsNobody) {
  SubmitPacks("s", {"rope", "alibi", "none", "relative"}, 8);
  TestWorker worker = Worker("a");
  int attempts = 0;
  while (Counts("s").queued() > 0 && ++attempts < 100) {
    const v1::Lease lease = worker.Take();
    const bool bad = std::ranges::any_of(lease.jobs(), [](const v1::LeasedJob& job) { return job.spec().seed() == 5; });
    bad ? FailIt(worker, lease) : DoIt(worker, lease);
  }
  EXPECT_EQ(Counts("s").succeeded(), 28);
  EXPECT_EQ(Counts("s").failed(), 4);
}

TEST_F(EngineFailedWorkTest, WhatFailedAloneIsTriedAgainAfterAllElse) {
  SubmitPacks("s", {"rope"}, 5);
  TestWorker worker = Worker("a");
  worker.next().mutable_abilities()->set_pack_limit(1);
  std::vector<uint32_t> seeds;
  for (int i = 0; i < 3; ++i) {
    const v1::Lease lease = worker.Take();
    seeds.push_back(lease.jobs(0).spec().seed());
    FailIt(worker, lease);
  }
  EXPECT_THAT(seeds, ElementsAre(0, 1, 2));
  EXPECT_THAT(worker.Sync().refused(), HasSubstr(kPutAside));
  EXPECT_EQ(Counts("s").failed(), 0);
}

TEST_F(EngineFailedWorkTest, WhatAnyWorkerWouldRefuseIsTriedOnceAndBlamesNobody) {
  SubmitPacks("s", {"rope", "alibi", "none", "relative"}, 4);
  TestWorker worker = Worker("a");
  for (int i = 0; i < 4; ++i) {
    worker.Fail(worker.Take(), std::string(kRefusedEverywhere) + "encoding: 'rope', and the model was trained without positions");
    Hand(worker);
  }
  EXPECT_EQ(Counts("s").failed(), 16) << "whole packs, as their jobs have the same settings";

  SubmitPacks("other", {"sin_cos"}, 1);
  DoIt(worker, worker.Take());
  EXPECT_EQ(Counts("other").succeeded(), 1) << "the worker goes on";
}

TEST_F(EngineFailedWorkTest, OneBadJobFailsByItself) {
  SubmitPacks("s", {"rope"}, 3);
  TestWorker worker = Worker("a");
  worker.next().mutable_abilities()->set_pack_limit(1);
  std::vector<uint32_t> seeds;
  while (Counts("s").queued() > 0 && seeds.size() < 20) {
    const v1::Lease lease = worker.Take();
    seeds.push_back(lease.jobs(0).spec().seed());
    seeds.back() == 0 ? FailIt(worker, lease) : DoIt(worker, lease);
  }
  EXPECT_THAT(seeds, ElementsAre(0, 1, 2, 0, 0));
  EXPECT_EQ(Counts("s").failed(), 1);
}

TEST_F(EngineFailedWorkTest, ASweepThatFailsEverywhereDoesNotKeepOthersWaiting) {
  SubmitPacks("large", {"rope", "alibi", "none", "relative"}, 1, 9);
  SubmitPacks("small", {"sin_cos"}, 3);
  TestWorker worker = Worker("a");
  worker.next().mutable_abilities()->set_pack_limit(1);
  std::vector<std::string> encodings;
  for (int i = 0; i < 6; ++i) {
    const v1::Lease lease = worker.Take();
    encodings.push_back(Encoding(lease));
    Encoding(lease) == "sin_cos" ? DoIt(worker, lease) : FailIt(worker, lease);
  }
  EXPECT_THAT(encodings, ElementsAre("rope", "alibi", "none", "sin_cos", "sin_cos", "sin_cos"));
  EXPECT_EQ(Counts("small").succeeded(), 3);
  EXPECT_EQ(Counts("large").queued(), 4) << "another worker may be able";
  const v1::SynchronizeResponse refused = worker.Sync();
  EXPECT_THAT(refused.refused(), HasSubstr("they are of sweep 'large', and it still gets jobs of other sweeps"));
  EXPECT_EQ(refused.leases_size(), 0);
  TestWorker other = Worker("b");
  EXPECT_EQ(Encoding(other.Take()), "rope");
}

TEST_F(EngineFailedWorkTest, FailuresOfASweepAddUpAcrossTheSuccessesOfAnother) {
  SubmitPacks("small", {"sin_cos"}, 3);
  SubmitPacks("large", {"rope", "alibi", "none", "relative"}, 1, 9);
  TestWorker worker = Worker("a");
  worker.next().mutable_abilities()->set_pack_limit(1);
  for (int i = 0; i < 2; ++i) FailIt(worker, worker.Take());
  ASSERT_OK(Steer("large", v1::SteerSweepRequest::ACTION_PAUSE));
  DoIt(worker, worker.Take());
  ASSERT_OK(Steer("large", v1::SteerSweepRequest::ACTION_RESUME));
  FailIt(worker, worker.Take());
  EXPECT_EQ(Encoding(worker.Take()), "sin_cos") << "it has seen enough of the large ones";
}

TEST_F(EngineFailedWorkTest, OfOneSweepItGetsOtherSettingsUntilThreeOfThemHaveFailed) {
  SubmitPacks("s", {"rope"}, 4, 9);
  Submit([] {
    v1::SweepSpec spec = Sweep("s2", 4);
    spec.mutable_axes()->clear_encoding();
    for (const char* encoding : {"rope", "alibi", "none", "relative"}) spec.mutable_axes()->add_encoding(encoding);
    return spec;
  }());
  TestWorker worker = Worker("a");
  worker.next().mutable_abilities()->set_pack_limit(1);
  std::vector<std::string> encodings;
  for (int i = 0; i < 5; ++i) {
    const v1::Lease lease = worker.Take();
    encodings.push_back(Encoding(lease));
    FailIt(worker, lease);
  }
  EXPECT_THAT(encodings, ElementsAre("rope", "rope", "rope", "alibi", "none"));
  EXPECT_EQ(worker.Sync().leases_size(), 0) << "three kinds of s2";
}

TEST_F(EngineFailedWorkTest, AGridWithOneSizeThatFailsIsDoneButForThat) {
  v1::SweepSpec spec = Sweep("sizes", 4);
  for (const auto& [name, layers] : {std::pair("a-large", 9), std::pair("b-small", 2)}) {
    v1::System& system = *spec.add_systems();
    system.set_name(name);
    system.mutable_with()->mutable_model()->set_layers(layers);
  }
  Submit(spec);
  TestWorker worker = Worker("a");
  worker.next().mutable_abilities()->set_pack_limit(1);
  for (int i = 0; i < 8; ++i) {
    const v1::Lease lease = worker.Take();
    lease.jobs(0).spec().model().layers() == 9 ? FailIt(worker, lease) : DoIt(worker, lease);
  }
  EXPECT_EQ(Counts("sizes").succeeded(), 4);
}

TEST_F(EngineFailedWorkTest, TheOldestFailuresAreForgottenAndWithThemThatItIsAside) {
  SubmitPacks("large", {"rope", "alibi", "none"}, 1);
  TestWorker worker = Worker("a");
  for (int i = 0; i < 3; ++i) FailIt(worker, worker.Take());
  EXPECT_THAT(worker.Sync().refused(), HasSubstr("they are of sweep 'large'"));
  // 14 sweeps with a failure each, and a success of another before each.
  for (int i = 0; i < 14; ++i) {
    v1::SweepSpec good = Sweep("good" + std::to_string(i), 1);
    good.mutable_training()->set_steps(2000 + i);
    Submit(good);
    DoIt(worker, worker.Take());
    v1::SweepSpec bad = Sweep("bad" + std::to_string(i), 1);
    bad.mutable_training()->set_steps(1000 + i);
    Submit(bad);
    FailIt(worker, worker.Take());
  }
  v1::SweepSpec last = Sweep("final", 1);
  last.mutable_training()->set_steps(3000);
  Submit(last, 9);
  EXPECT_EQ(worker.Take().jobs(0).spec().training().steps(), 3000);
}

TEST_F(EngineFailedWorkTest, PutAsideForOneSweepItIsCalledForAnother) {
  SubmitPacks("large", {"rope", "alibi", "none", "relative"}, 1);
  TestWorker worker = Worker("a");
  for (int i = 0; i < 3; ++i) FailIt(worker, worker.Take());
  EXPECT_THAT(worker.Sync().refused(), HasSubstr("they are of sweep 'large'"));
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
  EXPECT_THAT(worker.Sync().refused(), HasSubstr("they are of sweep 'large'")) << "that has not changed";
  EXPECT_EQ(Counts("small").succeeded(), 1);
  ASSERT_OK(Drain("a", false));
  EXPECT_EQ(worker.Sync().leases_size(), 1) << "when it is told to go on, with all";
}

TEST_F(EngineFailedWorkTest, OneThatFailsInAnotherSweepAsWellGetsNothing) {
  SubmitPacks("large", {"rope", "alibi", "none", "relative"}, 1);
  TestWorker worker = Worker("a");
  for (int i = 0; i < 3; ++i) FailIt(worker, worker.Take());
  SubmitPacks("small", {"sin_cos"}, 1);
  FailIt(worker, worker.Take());
  SubmitPacks("third", {"log_kerple"}, 1);
  const v1::SynchronizeResponse refused = worker.Sync();
  EXPECT_THAT(refused.refused(), HasSubstr(kPutAside));
  EXPECT_THAT(refused.refused(), Not(HasSubstr("still gets jobs"))) << "the reason is not the old one";
  EXPECT_EQ(refused.leases_size(), 0);
  EXPECT_EQ(Counts("third").queued(), 1);
}

TEST_F(EngineFailedWorkTest, MoreSeedsOfTheSameAreNoOtherWork) {
  SubmitPacks("large", {"rope", "alibi", "none"}, 1);
  TestWorker worker = Worker("a");
  for (int i = 0; i < 3; ++i) FailIt(worker, worker.Take());
  SubmitPacks("larger", {"rope"}, 2);  // One is shared, and one differs in its seed alone.
  EXPECT_EQ(worker.Sync().leases_size(), 0);
  SubmitPacks("others", {"sin_cos"}, 1);
  EXPECT_EQ(Encoding(worker.Take()), "sin_cos");
}

TEST_F(EngineFailedWorkTest, ACancelledSweepWithTheSameJobsKeepsNobodyFromThem) {
  SubmitPacks("all", {"rope", "alibi", "none", "sin_cos"}, 1);
  ASSERT_OK(Steer("all", v1::SteerSweepRequest::ACTION_CANCEL));
  SubmitPacks("large", {"rope", "alibi", "none"}, 1);
  TestWorker worker = Worker("a");
  for (int i = 0; i < 3; ++i) FailIt(worker, worker.Take());
  SubmitPacks("small", {"sin_cos"}, 1);
  EXPECT_EQ(Encoding(worker.Take()), "sin_cos");
}

TEST_F(EngineFailedWorkTest, WhatItsSweepHasGivenUpKeepsNobodyFromTheOthers) {
  SubmitPacks("large", {"rope", "alibi", "none", "relative"}, 1);
  TestWorker worker = Worker("a");
  for (int i = 0; i < 3; ++i) FailIt(worker, worker.Take());
  EXPECT_THAT(worker.Sync().refused(), HasSubstr("they are of sweep 'large'"));

  SteerJobs("large", v1::SteerSweepRequest::ACTION_CANCEL_JOBS, "encoding=rope,alibi,none");

  const v1::Lease other = worker.Take();
  EXPECT_EQ(Encoding(other), "relative") << "the machine is not to blame for them, either";
  worker.GiveBack(other);
  Hand(worker);
  SteerJobs("large", v1::SteerSweepRequest::ACTION_RETRY_JOBS, "encoding=rope,alibi,none");
  EXPECT_THAT(worker.Sync().refused(), HasSubstr("they are of sweep 'large'")) << "it wants them again";
}

TEST_F(EngineFailedWorkTest, AResultOfAJobThatASweepHasGivenUpSaysNothingOfThatSweep) {
  SubmitPacks("large", {"rope", "alibi", "none", "relative"}, 1);
  TestWorker worker = Worker("a");
  for (int i = 0; i < 3; ++i) FailIt(worker, worker.Take());
  SubmitPacks("small", {"relative"}, 1);
  EXPECT_EQ(worker.Sync().leases_size(), 0) << "it is of the large sweep, too";

  SteerJobs("large", v1::SteerSweepRequest::ACTION_CANCEL_JOBS, "encoding=relative");

  const v1::Lease other = worker.Take();
  EXPECT_EQ(Encoding(other), "relative") << "it is of the small one alone";
  DoIt(worker, other);
  EXPECT_THAT(worker.Sync().refused(), HasSubstr("they are of sweep 'large'"));
}

TEST_F(EngineFailedWorkTest, AResultOfOneThatWasPutAsideBringsItBack) {
  SubmitPacks("s", {"rope", "alibi", "none", "relative", "sin_cos"}, 1);
  TestWorker worker = Worker("a");
  const v1::Lease slow = worker.Take();
  for (int i = 0; i < 3; ++i) FailIt(worker, worker.Take());
  EXPECT_EQ(Counts("s").queued(), 4);
  worker.Succeed(slow);
  const v1::SynchronizeResponse answer = worker.Sync();
  EXPECT_EQ(answer.refused(), "");
  EXPECT_EQ(answer.leases_size(), 1);
}

}  // namespace
}  // namespace longreach::service
