// What becomes of a worker's leases when its call breaks off: another may have them soon, itself if it comes back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/scheduler/service/engine_fixture.h"

namespace longreach::service {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

class EngineBrokenCallsTest : public EngineFixture {
 protected:
  TestWorker Worker(const std::string& id) {
    current_ = engine_.get();
    TestWorker worker(&current_, id);
    worker.next().set_may_wait(true);
    return worker;
  }
  // Takes the one pack of the sweep `s`, and has a call held open.
  v1::Lease TakeAndWait(TestWorker& worker) {
    const v1::Lease lease = worker.Take();
    worker.next().set_free_slots(0);
    EXPECT_FALSE(worker.Call().has_value());
    return lease;
  }
  void BreakOff(const TestWorker& worker) { engine_->Forget(worker.id(), worker.incarnation(), worker.sequence()); }
  Engine* current_ = nullptr;
};

TEST_F(EngineBrokenCallsTest, AnIdleWorkerGetsTheWorkAfterASecond) {
  Submit(Sweep("s", 1));
  TestWorker killed = Worker("killed");
  const v1::Lease lost = TakeAndWait(killed);
  TestWorker idle = Worker("idle");
  EXPECT_FALSE(idle.Call().has_value());

  BreakOff(killed);
  Advance(milliseconds(999));
  EXPECT_FALSE(idle.late().has_value());
  Advance(milliseconds(1));

  ASSERT_TRUE(idle.late().has_value() && idle.late()->ok());
  ASSERT_EQ((*idle.late())->leases_size(), 1);
  EXPECT_NE((*idle.late())->leases(0).attempt(), lost.attempt());
  EXPECT_EQ(Attempt(lost.attempt()).outcome, Outcome::kLost);
  EXPECT_THAT(Attempt(lost.attempt()).detail, HasSubstr("worker 'name-of-killed' is gone: its call broke off, and no other came within 1 s"));
  EXPECT_EQ(Job(lost.jobs(0).id()).losses, 1);
}

// It would be trained anew from its checkpoint on, once the very worker that it was taken from is back.
TEST_F(EngineBrokenCallsTest, AnIdleWorkerThatCannotDoTheWorkTakesNoneAway) {
  Submit(Sweep("s", 1));
  TestWorker broken = Worker("broken");
  const v1::Lease lease = TakeAndWait(broken);
  TestWorker other = Worker("other");
  other.next().mutable_abilities()->clear_experiments();
  other.next().mutable_abilities()->add_experiments("language");
  EXPECT_FALSE(other.Call().has_value());

  BreakOff(broken);
  Advance(seconds(5));
  EXPECT_FALSE(Attempt(lease.attempt()).outcome.has_value());
  // Nor when it asks again,
  other.Call();
  RunDeadlines();
  EXPECT_FALSE(Attempt(lease.attempt()).outcome.has_value());
  // but one that can do it gets it at once.
  TestWorker able = Worker("able");
  EXPECT_FALSE(able.Call().has_value());
  RunDeadlines();
  EXPECT_EQ(Attempt(lease.attempt()).outcome, Outcome::kLost);
  ASSERT_TRUE(able.late().has_value() && able.late()->ok());
  EXPECT_EQ((*able.late())->leases_size(), 1);
}

TEST_F(EngineBrokenCallsTest, OneThatComesBackWithinTheSecondKeepsItsLease) {
  Submit(Sweep("s", 1));
  TestWorker worker = Worker("a");
  const v1::Lease lease = TakeAndWait(worker);
  TestWorker idle = Worker("idle");
  idle.Call();

  BreakOff(worker);
  Advance(milliseconds(900));
  EXPECT_FALSE(worker.Call().has_value());  // Nothing has changed for it.
  Advance(seconds(4));

  EXPECT_FALSE(Attempt(lease.attempt()).outcome.has_value());
}

TEST_F(EngineBrokenCallsTest, WhileNobodyAsksForWorkItHasItsWholeTerm) {
  // A proxy that is started anew breaks the calls of all: none of them shall lose its work over that.
  v1::SweepSpec spec = Sweep("s", 1);
  spec.mutable_axes()->add_task("bucket_sort");
  Submit(spec);
  TestWorker first = Worker("first");
  TestWorker second = Worker("second");
  const v1::Lease of_first = TakeAndWait(first);
  const v1::Lease of_second = TakeAndWait(second);

  BreakOff(first);
  BreakOff(second);
  Advance(seconds(1));
  Advance(seconds(8));
  EXPECT_FALSE(first.Call().has_value());
  Advance(seconds(6));

  EXPECT_FALSE(Attempt(of_first.attempt()).outcome.has_value());
  EXPECT_EQ(Attempt(of_second.attempt()).outcome, Outcome::kLost);
  EXPECT_THAT(Attempt(of_second.attempt()).detail, HasSubstr("its lease ran out: worker 'name-of-second' was silent for 15 s"));
}

TEST_F(EngineBrokenCallsTest, TheFirstThatAsksLaterGetsTheWorkAtOnce) {
  Submit(Sweep("s", 1));
  TestWorker killed = Worker("killed");
  TakeAndWait(killed);
  BreakOff(killed);
  Advance(seconds(1));
  Advance(seconds(4));
  EXPECT_EQ(Counts("s").leased(), 1);

  TestWorker newcomer = Worker("newcomer");
  EXPECT_FALSE(newcomer.Call().has_value());
  RunDeadlines();

  ASSERT_TRUE(newcomer.late().has_value() && newcomer.late()->ok());
  EXPECT_EQ((*newcomer.late())->leases_size(), 1);
}

TEST_F(EngineBrokenCallsTest, WorkersThatWouldGetNoWorkDoNotAsk) {
  Submit(Sweep("s", 1));
  TestWorker worker = Worker("a");
  const v1::Lease lease = TakeAndWait(worker);
  TestWorker drained = Worker("drained");
  drained.Call();
  ASSERT_TRUE(Drain("drained", true).ok());
  drained.Call();
  TestWorker full = Worker("full");
  full.next().set_free_slots(0);
  full.Call();

  BreakOff(worker);
  Advance(seconds(1));
  Advance(seconds(2));

  EXPECT_FALSE(Attempt(lease.attempt()).outcome.has_value());
}

// A real worker has always room for no-op jobs, also while it trains.
TEST_F(EngineBrokenCallsTest, ABusyWorkerThatIsBackFirstTakesNothingFromTheOthers) {
  v1::SweepSpec spec = Sweep("s", 1);
  for (const char* task : {"bucket_sort", "parity_check"}) spec.mutable_axes()->add_task(task);
  Submit(spec);
  std::vector<TestWorker> workers;
  workers.reserve(3);
  std::vector<v1::Lease> leases;
  for (const char* id : {"a", "b", "c"}) {
    TestWorker& worker = workers.emplace_back(Worker(id));
    worker.next().mutable_abilities()->add_experiments("noop");
    worker.next().set_free_noop_slots(256);
    leases.push_back(TakeAndWait(worker));
  }

  for (const TestWorker& worker : workers) BreakOff(worker);
  Advance(seconds(2));
  EXPECT_FALSE(workers[0].Call().has_value());
  RunDeadlines();
  Advance(seconds(1));

  for (const v1::Lease& lease : leases) EXPECT_FALSE(Attempt(lease.attempt()).outcome.has_value());
}

// No-op jobs go to whoever has room for these, busy or not.
TEST_F(EngineBrokenCallsTest, NoopJobsOfABrokenWorkerGoToABusyOne) {
  v1::SweepSpec spec;
  spec.set_name("s");
  spec.set_experiment("noop");
  spec.mutable_axes()->add_task("even_pairs");
  spec.mutable_axes()->add_encoding("rope");
  spec.mutable_axes()->add_learning_rate(1e-3);
  spec.mutable_axes()->add_seed(0);
  Submit(spec);
  const auto noop_worker = [this](const std::string& id) {
    TestWorker worker = Worker(id);
    worker.next().mutable_abilities()->add_experiments("noop");
    worker.next().set_free_slots(0);
    worker.next().set_free_noop_slots(256);
    return worker;
  };
  TestWorker broken = noop_worker("broken");
  const v1::Lease lease = broken.Take();
  EXPECT_FALSE(broken.Call().has_value());
  BreakOff(broken);
  Advance(seconds(2));
  TestWorker busy = noop_worker("busy");
  EXPECT_FALSE(busy.Call().has_value());
  RunDeadlines();

  EXPECT_EQ(Attempt(lease.attempt()).outcome, Outcome::kLost);
  ASSERT_TRUE(busy.late().has_value() && busy.late()->ok());
  EXPECT_EQ((*busy.late())->leases_size(), 1);
}

TEST_F(EngineBrokenCallsTest, AnIdleWorkerTakesNoMoreThanItAsksFor) {
  v1::SweepSpec spec = Sweep("s", 1);
  for (const char* task : {"bucket_sort", "parity_check"}) spec.mutable_axes()->add_task(task);
  Submit(spec);
  std::vector<TestWorker> workers;
  workers.reserve(3);
  std::vector<v1::Lease> leases;
  for (const char* id : {"a", "b", "c"}) leases.push_back(TakeAndWait(workers.emplace_back(Worker(id))));
  TestWorker idle = Worker("idle");
  EXPECT_FALSE(idle.Call().has_value());

  for (const TestWorker& worker : workers) BreakOff(worker);
  Advance(seconds(1));

  ASSERT_TRUE(idle.late().has_value() && idle.late()->ok());
  EXPECT_EQ((*idle.late())->leases_size(), 1);
  EXPECT_EQ(std::ranges::count_if(leases, [this](const v1::Lease& lease) { return Attempt(lease.attempt()).outcome.has_value(); }), 1);
}

TEST_F(EngineBrokenCallsTest, WhatNobodyWantsNowIsTakenFromNobody) {
  Submit(Sweep("s", 1));
  TestWorker worker = Worker("a");
  const v1::Lease lease = TakeAndWait(worker);
  ASSERT_TRUE(Steer("s", v1::SteerSweepRequest::ACTION_PAUSE).ok());  // It is to stop after a checkpoint.
  EXPECT_FALSE(worker.Call().has_value());
  TestWorker idle = Worker("idle");
  EXPECT_FALSE(idle.Call().has_value());

  BreakOff(worker);
  Advance(seconds(3));

  EXPECT_FALSE(Attempt(lease.attempt()).outcome.has_value());
}

TEST_F(EngineBrokenCallsTest, TheEndOfAnOlderCallSaysNothing) {
  Submit(Sweep("s", 1));
  TestWorker worker = Worker("a");
  const v1::Lease lease = TakeAndWait(worker);
  TestWorker idle = Worker("idle");
  idle.Call();
  const uint64_t older = worker.sequence();
  worker.Call();

  engine_->Forget(worker.id(), worker.incarnation(), older);
  Advance(seconds(1));

  EXPECT_FALSE(Attempt(lease.attempt()).outcome.has_value());
}

TEST_F(EngineBrokenCallsTest, CallsThatEndWithTheSchedulerSayNothing) {
  Submit(Sweep("s", 1));
  TestWorker worker = Worker("a");
  const v1::Lease lease = TakeAndWait(worker);
  TestWorker idle = Worker("idle");
  idle.Call();

  engine_->Shutdown();
  BreakOff(worker);
  Advance(seconds(1));
  EXPECT_FALSE(Attempt(lease.attempt()).outcome.has_value());

  // And the next scheduler gives a full term.
  RestartScheduler();
  Advance(seconds(14));
  EXPECT_FALSE(Attempt(lease.attempt()).outcome.has_value());
}

TEST_F(EngineBrokenCallsTest, ALeaseThatNobodyIsThereToTakeIsFreeAsSoon) {
  // The call breaks off while the store is busy with it: what it is given goes to nobody.
  Submit(Sweep("s", 1));
  TestWorker idle = Worker("idle");
  idle.next().set_free_slots(0);
  idle.Call();
  TestWorker killed = Worker("killed");
  during_event_ = [&] { BreakOff(killed); };
  const auto answer = killed.Call();
  ASSERT_TRUE(answer.has_value() && answer->ok());
  ASSERT_EQ((*answer)->leases_size(), 1);

  idle.next().set_free_slots(1);
  idle.Call();
  Advance(seconds(1));

  ASSERT_TRUE(idle.late().has_value() && idle.late()->ok());
  EXPECT_EQ((*idle.late())->leases_size(), 1);
}

TEST_F(EngineBrokenCallsTest, ACallWhoseCallerIsGoneIsNotHeld) {
  TestWorker worker = Worker("a");
  during_event_ = [&] { BreakOff(worker); };
  EXPECT_TRUE(worker.Call().has_value());
}

// Its call was held all the time, and has lasted longer than its caller waits.
TEST_F(EngineBrokenCallsTest, ACallThatBreaksOffAfterTheSchedulerStoodStillDoesNotEndTheTermThatWasGivenThen) {
  Submit(Sweep("s", 1));
  TestWorker worker = Worker("a");
  const v1::Lease lease = TakeAndWait(worker);
  Advance(seconds(60));
  ASSERT_FALSE(Attempt(lease.attempt()).outcome.has_value());

  BreakOff(worker);
  for (int second = 0; second < 10; ++second) Advance(seconds(1));

  EXPECT_FALSE(Attempt(lease.attempt()).outcome.has_value());
  for (int second = 0; second < 10; ++second) Advance(seconds(1));
  EXPECT_EQ(Attempt(lease.attempt()).outcome, Outcome::kLost);
}

}  // namespace
}  // namespace longreach::service
