// Which calls count, which are held open, and which never reach the store.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "proto/types/wire_limits.h"
#include "scheduler/service/uploads.h"
#include "store/measurements.h"
#include "store/workers.h"
#include "tests/scheduler/service/engine_fixture.h"

namespace longreach::service {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

class EngineCallsTest : public EngineFixture {
 protected:
};

absl::Status StatusOf(const std::optional<absl::StatusOr<v1::SynchronizeResponse>>& answer) {
  if (!answer) return absl::UnknownError("held open");
  return answer->status();
}

TEST_F(EngineCallsTest, AnotherProtocolVersionIsRefusedWithBothNumbers) {
  TestWorker worker = Worker("a");
  worker.next().set_protocol(7);
  const absl::Status refused = StatusOf(worker.Call());
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("version 7"));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("version 1"));
  EXPECT_EQ(events_, 0);
}

// Every store counts its attempts from one, so another's may have the number of one that this worker has here.
TEST_F(EngineCallsTest, OfACallForAnotherStoreNothingIsLookedAt) {
  TestWorker worker = Worker("a");
  Submit(Sweep("s", 1));
  const v1::Lease lease = worker.Take();
  const std::string ours = worker.Sync().store();
  EXPECT_EQ(ours.size(), 32u);
  const int before = events_;
  worker.Succeed(lease);
  worker.next().set_store("0123456789abcdef0123456789abcdef");
  worker.next().set_may_wait(true);

  const auto answer = worker.Call();

  ASSERT_TRUE(answer.has_value() && answer->ok());
  v1::SynchronizeResponse expected;
  expected.set_store(ours);
  EXPECT_EQ((*answer)->SerializeAsString(), expected.SerializeAsString());
  EXPECT_EQ(events_, before);
  EXPECT_EQ(Counts("s").leased(), 1);
  // Nor does it hold the lease of the attempt that is here.
  Advance(options_.lease_term);
  EXPECT_EQ(Counts("s").queued(), 1);
  EXPECT_EQ(Attempt(lease.attempt()).outcome, Outcome::kLost);
}

TEST_F(EngineCallsTest, ACallForThisStoreCounts) {
  TestWorker worker = Worker("a");
  Submit(Sweep("s", 1));
  const v1::Lease lease = worker.Take();
  worker.next().set_store(worker.Sync().store());
  worker.Succeed(lease);

  worker.Sync();

  EXPECT_EQ(Counts("s").succeeded(), 1);
}

TEST_F(EngineCallsTest, AFileForAnotherStoreIsRefusedUntilThatAnswers) {
  TestWorker worker = Worker("a");
  Submit(Sweep("s", 1));
  const v1::Lease lease = worker.Take();
  v1::UploadHeader header;
  header.set_attempt(lease.attempt());
  header.set_worker("a");
  header.set_store("0123456789abcdef0123456789abcdef");
  const absl::Status refused = MembersOfUpload(store_->writer_connection(), header).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("of store 0123456789abcdef"));
  header.set_store(worker.Sync().store());
  EXPECT_TRUE(MembersOfUpload(store_->writer_connection(), header).ok());
}

TEST_F(EngineCallsTest, WhatAnOvertakenCallWasGivenIsSentWithTheNextOne) {
  TestWorker worker = Worker("a");
  worker.next().set_free_slots(0);
  worker.Sync();  // From now on such a call is answered from memory.
  Submit(Sweep("s", 1));
  worker.Sync();
  busy_ = true;
  worker.next().set_free_slots(1);
  (void)worker.Call();

  // A newer call, as those before: it is answered before the other one's event has run, and that gives a lease.
  worker.next().set_free_slots(0);
  EXPECT_EQ(worker.Sync().leases_size(), 0);
  RunWaiting();
  EXPECT_EQ(Counts("s").leased(), 1);

  EXPECT_EQ(worker.Sync().leases_size(), 1);
}

TEST_F(EngineCallsTest, ACallThatIsHeldOpenHearsOfWhatAnOvertakenOneWasGiven) {
  TestWorker worker = Worker("a");
  worker.next().set_free_slots(0);
  Submit(Sweep("s", 1));
  worker.Sync();
  busy_ = true;
  worker.next().set_free_slots(1);
  (void)worker.Call();
  worker.next().set_free_slots(0);
  worker.next().set_may_wait(true);
  EXPECT_FALSE(worker.Call().has_value());

  RunWaiting();

  ASSERT_TRUE(worker.late() && worker.late()->ok());
  EXPECT_EQ((**worker.late()).leases_size(), 1);
}

TEST_F(EngineCallsTest, WorkersThatAreGoneMakeRoomForOthers) {
  options_.max_workers = 2;
  RestartScheduler();
  Submit(Sweep("s", 1));
  TestWorker lost = Worker("lost");
  busy_ = true;
  (void)lost.Call();
  clock_.Advance(seconds(2));
  RunWaiting();  // Its silence began with the call, its lease with the answer: that ends later.
  EXPECT_EQ(Counts("s").leased(), 1);
  TestWorker leaving = Worker("leaving");
  leaving.next().set_leaving(true);
  leaving.Sync();
  EXPECT_EQ(StatusOf(Worker("third").Call()).code(), absl::StatusCode::kResourceExhausted);

  for (int second = 0; second < 20; ++second) Advance(seconds(1));  // At once would look like a scheduler that stood still.

  Worker("third").Sync();
  Worker("fourth").Sync();
}

TEST_F(EngineCallsTest, ACallThatWaitedForASlowDiskPastItsWorkersSilenceIsNotOvertaken) {
  TestWorker worker = Worker("a");
  worker.next().set_may_wait(true);
  busy_ = true;
  EXPECT_FALSE(worker.Call().has_value());
  Advance(seconds(16));  // The worker counts as gone, and is forgotten.
  EXPECT_TRUE(engine_->board().Read().workers.empty());

  RunWaiting();

  EXPECT_FALSE(worker.late().has_value());
  EXPECT_TRUE(engine_->board().Read().workers.contains("a"));
  Submit(Sweep("s", 1));
  ASSERT_TRUE(worker.late() && worker.late()->ok());
  EXPECT_EQ((**worker.late()).leases_size(), 1);
}

TEST_F(EngineCallsTest, ACallThatIsDecidedAnewAfterItsWorkerWasForgottenIsNotOvertaken) {
  TestWorker worker = Worker("a");
  worker.next().set_may_wait(true);
  busy_ = true;
  EXPECT_FALSE(worker.Call().has_value());
  clock_.Advance(seconds(16));
  // Within the group of that call there is news for all, so that it is decided anew, and its worker's silence is over.
  Effects news;
  news.work = true;
  waiting_.insert(waiting_.begin(), {.apply = [](sql::Transaction&) { return absl::OkStatus(); },
                                     .done = [this, news](const absl::Status&) { engine_->Carry(news); }});
  waiting_.push_back(engine_->AtDeadline(clock_.Steady()));
  std::vector<store::Event> group = std::exchange(waiting_, {});
  (void)store::RunGroup(store_->writer_connection(), group);
  EXPECT_TRUE(engine_->board().Read().workers.empty());

  RunWaiting();

  EXPECT_FALSE(worker.late().has_value());
  EXPECT_TRUE(engine_->board().Read().workers.contains("a"));
}

TEST_F(EngineCallsTest, AnOlderCallOrIncarnationIsAborted) {
  TestWorker worker = Worker("a");
  worker.Sync();
  TestWorker late = Worker("a");  // Sequence 1 again.
  EXPECT_EQ(StatusOf(late.Call()).code(), absl::StatusCode::kAborted);

  TestWorker old = Worker("b");
  TestWorker young = Worker("b");
  old.Sync();
  young.Restart();
  young.Sync();
  const absl::Status overtaken = StatusOf(old.Call());
  EXPECT_EQ(overtaken.code(), absl::StatusCode::kAborted);
  EXPECT_THAT(std::string(overtaken.message()), HasSubstr("must stop"));

  // Also when the scheduler has forgotten everything but the store.
  RestartScheduler();
  current_ = engine_.get();
  EXPECT_EQ(StatusOf(old.Call()).code(), absl::StatusCode::kAborted);
}

TEST_F(EngineCallsTest, ACallThatContradictsItselfIsInvalid) {
  TestWorker worker = Worker("../a b");
  EXPECT_EQ(StatusOf(worker.Call()).code(), absl::StatusCode::kInvalidArgument);

  TestWorker twice = Worker("a");
  v1::AttemptReport report;
  report.set_attempt(3);
  report.set_outcome(v1::AttemptReport::OUTCOME_FAILED);
  twice.Report(report);
  twice.Report(report);
  EXPECT_EQ(StatusOf(twice.Call()).code(), absl::StatusCode::kInvalidArgument);

  TestWorker strange = Worker("b");
  report.set_outcome(static_cast<v1::AttemptReport::Outcome>(9));
  strange.Report(report);
  EXPECT_EQ(StatusOf(strange.Call()).code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(EngineCallsTest, UnknownAttemptsAreDroppedAndAcknowledged) {
  TestWorker worker = Worker("a");
  worker.next().add_held()->set_attempt(std::numeric_limits<uint64_t>::max());
  v1::AttemptReport report;
  report.set_attempt(77);
  report.set_outcome(v1::AttemptReport::OUTCOME_SUCCEEDED);
  worker.Report(report);

  const v1::SynchronizeResponse answer = worker.Sync();

  ASSERT_EQ(answer.directives_size(), 1);
  EXPECT_EQ(answer.directives(0).action(), v1::Directive::ACTION_DROP);
  EXPECT_THAT(answer.acknowledged(), ::testing::ElementsAre(77u));
}

TEST_F(EngineCallsTest, ACallWithoutNewsDoesNotEnterTheStore) {
  TestWorker worker = Worker("a");
  worker.Sync();
  const int before = events_;
  for (int i = 0; i < 20; ++i) worker.Sync();
  EXPECT_EQ(events_, before);

  // Something that differs does.
  worker.next().mutable_abilities()->set_pack_limit(3);
  worker.Sync();
  EXPECT_EQ(events_, before + 1);
}

TEST_F(EngineCallsTest, AHeldCallIsAnsweredTheMomentThereIsWork) {
  TestWorker worker = Worker("a");
  worker.Sync();
  worker.next().set_may_wait(true);
  EXPECT_FALSE(worker.Call().has_value());

  Submit(Sweep("s", 2));

  ASSERT_TRUE(worker.late().has_value());
  ASSERT_TRUE(worker.late()->ok());
  EXPECT_EQ((*worker.late())->leases_size(), 1);
}

TEST_F(EngineCallsTest, AHeldCallIsAnsweredAfterFiveSeconds) {
  TestWorker worker = Worker("a");
  worker.next().set_may_wait(true);
  EXPECT_FALSE(worker.Call().has_value());
  Advance(seconds(4));
  EXPECT_FALSE(worker.late().has_value());
  Advance(seconds(1));
  ASSERT_TRUE(worker.late().has_value());
  EXPECT_TRUE(worker.late()->ok());
  EXPECT_EQ((*worker.late())->renew_every().seconds(), 5);
}

TEST_F(EngineCallsTest, ANewerCallTakesTheHeldOnesPlace) {
  TestWorker worker = Worker("a");
  worker.next().set_may_wait(true);
  EXPECT_FALSE(worker.Call().has_value());
  TestWorker copy = worker;  // Keeps the first call's place.
  worker.Call();
  ASSERT_TRUE(copy.late().has_value());
  EXPECT_EQ(copy.late()->status().code(), absl::StatusCode::kAborted);
  EXPECT_FALSE(worker.late().has_value());
}

TEST_F(EngineCallsTest, AHeldCallWhoseCallerIsGoneGetsNoWork) {
  TestWorker worker = Worker("a");
  worker.next().set_may_wait(true);
  worker.Call();
  engine_->Forget("a", worker.incarnation(), worker.sequence());
  ASSERT_TRUE(worker.late().has_value());
  EXPECT_EQ(worker.late()->status().code(), absl::StatusCode::kCancelled);

  Submit(Sweep("s", 1));
  EXPECT_EQ(Counts("s").queued(), 1);
}

TEST_F(EngineCallsTest, TellingToStopIsNewsOnce) {
  Submit(Sweep("s", 1));
  TestWorker worker = Worker("a");
  worker.Take();
  worker.Sync();
  ASSERT_TRUE(Steer("s", v1::SteerSweepRequest::ACTION_PAUSE).ok());
  worker.next().set_may_wait(true);
  worker.next().set_free_slots(0);

  EXPECT_EQ(worker.Sync().directives(0).action(), v1::Directive::ACTION_STOP);
  EXPECT_FALSE(worker.Call().has_value());  // It knows, and is busy with its checkpoint.
}

TEST_F(EngineCallsTest, ShutdownAnswersWhatIsHeldAndRefusesTheRest) {
  TestWorker worker = Worker("a");
  worker.next().set_may_wait(true);
  worker.Call();
  engine_->Shutdown();
  EXPECT_EQ(worker.late()->status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(StatusOf(worker.Call()).code(), absl::StatusCode::kUnavailable);
}

// What an answer acknowledges is on disk: a worker forgets the points of its loss curves then.
TEST_F(EngineCallsTest, ACallWithPointsIsAnsweredOnceTheyAreWritten) {
  Submit(Sweep("s", 2));
  TestWorker worker = Worker("a");
  const v1::Lease lease = worker.Take();
  worker.next().set_free_slots(0);
  worker.Sync();
  const int64_t job = Job(lease.jobs(1).id()).num;
  const auto points = [&] { return store::ProgressOf(store_->writer_connection(), job)->size(); };
  v1::HeldAttempt& told = worker.Tell(lease.attempt());
  told.set_step(40);
  told.set_steps_per_second(12);
  for (const int step : {20, 40}) {
    v1::ProgressPoint* point = told.add_points();
    point->set_job(lease.jobs(1).id());
    point->set_step(step);
    point->set_loss(0.5);
  }
  told.add_points()->set_job("nobody's");
  v1::ProgressPoint* beyond = told.add_points();
  beyond->set_job(lease.jobs(1).id());
  beyond->set_step(101);  // Of 100.

  // One that can wait is answered with the next write, which is that of all workers.
  const int before = events_;
  worker.next().set_may_wait(true);
  EXPECT_FALSE(worker.Call().has_value());
  EXPECT_EQ(events_, before);
  EXPECT_EQ(engine_->board().Read().attempts.at(static_cast<int64_t>(lease.attempt())).step, 40);
  EXPECT_EQ(points(), 0u);
  Advance(seconds(3));
  ASSERT_TRUE(worker.late().has_value());
  EXPECT_TRUE(worker.late()->ok());
  EXPECT_EQ(points(), 2u);
  EXPECT_EQ(Attempt(lease.attempt()).step, 40);

  // One that cannot has an event of its own.
  worker.next().set_may_wait(false);
  v1::ProgressPoint* point = told.add_points();
  point->set_job(lease.jobs(1).id());
  point->set_step(60);
  worker.Sync();
  EXPECT_EQ(points(), 3u);

  // One whose points could not be written is told so.
  worker.next().set_may_wait(true);
  point->set_step(80);
  EXPECT_FALSE(worker.Call().has_value());
  disk_full_ = true;
  Advance(seconds(3));
  EXPECT_EQ(worker.late()->status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(points(), 3u);
  disk_full_ = false;
  Advance(seconds(3));
  EXPECT_EQ(points(), 4u);
}

TEST_F(EngineCallsTest, AFullDiskAcknowledgesNothingAndLosesNothing) {
  Submit(Sweep("s", 1));
  TestWorker worker = Worker("a");
  const v1::Lease lease = worker.Take();
  worker.Succeed(lease);
  disk_full_ = true;
  EXPECT_EQ(StatusOf(worker.Call()).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Counts("s").leased(), 1);

  disk_full_ = false;
  worker.Sync();

  EXPECT_EQ(Counts("s").succeeded(), 1);
}

TEST_F(EngineCallsTest, WhatAWorkerSaysOfDamageHasLimits) {
  const auto refusal = [this](int count, const std::string& name, size_t reason_bytes) {
    TestWorker worker = Worker("a" + std::to_string(count) + name.substr(0, 1) + std::to_string(reason_bytes));
    for (int i = 0; i < count; ++i) {
      v1::DamagedDataSet& damaged = *worker.next().mutable_abilities()->add_damaged_data_sets();
      damaged.set_name(name);
      damaged.set_reason(std::string(reason_bytes, 'x'));
    }
    worker.next().set_may_wait(false);
    return StatusOf(worker.Call()).code();
  };

  EXPECT_EQ(refusal(kMaxDamagedDataSets, std::string(256, 'n'), kMaxDamageBytes), absl::StatusCode::kOk);
  EXPECT_EQ(refusal(kMaxDamagedDataSets + 1, "n", 1), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(refusal(1, std::string(257, 'n'), 1), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(refusal(1, "", 1), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(refusal(1, "n", kMaxDamageBytes + 1), absl::StatusCode::kInvalidArgument);
}

TEST_F(EngineCallsTest, WhatAWorkerCanDoHasLimits) {
  int workers = 0;
  const auto answer_to = [&](const std::function<void(v1::Abilities&)>& say) {
    TestWorker worker = Worker("a" + std::to_string(++workers));
    say(*worker.next().mutable_abilities());
    worker.next().set_may_wait(false);
    return StatusOf(worker.Call()).code();
  };
  const auto tasks_up_to = [](int count) {
    return [count](v1::Abilities& abilities) {
      while (abilities.tasks_size() < count) abilities.add_tasks()->set_name("t");
    };
  };
  const auto data_sets_up_to = [](int count) {
    return [count](v1::Abilities& abilities) {
      while (abilities.data_sets_size() < count) {
        v1::DataSet& data = *abilities.add_data_sets();
        data.set_name("d");
        data.set_sha256(std::string(64, 'a'));
      }
    };
  };

  EXPECT_EQ(answer_to(tasks_up_to(kMaxAbilitiesOfList)), absl::StatusCode::kOk);
  EXPECT_EQ(answer_to(tasks_up_to(kMaxAbilitiesOfList + 1)), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(answer_to(data_sets_up_to(kMaxDataSetsOfWorker)), absl::StatusCode::kOk);
  EXPECT_EQ(answer_to(data_sets_up_to(kMaxDataSetsOfWorker + 1)), absl::StatusCode::kInvalidArgument);
  for (const double bytes : {std::nan(""), std::numeric_limits<double>::infinity(), -1.0}) {
    const auto of_so_many = [&](v1::Abilities& abilities) {
      data_sets_up_to(1)(abilities);
      abilities.mutable_data_sets(0)->set_bytes(bytes);
    };
    EXPECT_EQ(answer_to(of_so_many), absl::StatusCode::kInvalidArgument) << bytes;
  }
  EXPECT_EQ(answer_to([](v1::Abilities& abilities) { abilities.add_experiments(std::string(257, 'e')); }), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(answer_to([](v1::Abilities& abilities) { abilities.add_encodings()->set_name(std::string(257, 'e')); }), absl::StatusCode::kInvalidArgument);
}

TEST_F(EngineCallsTest, ADataSetsNameBelongsToTheFirstBytes) {
  const auto announce = [](TestWorker& worker, char digit) {
    v1::DataSet* data = worker.next().mutable_abilities()->add_data_sets();
    data->set_name("enwik8");
    data->set_sha256(std::string(64, digit));
    data->set_bytes(100);
  };
  TestWorker first = Worker("a");
  announce(first, 'a');
  first.Sync();
  TestWorker second = Worker("b");
  announce(second, 'b');
  second.Sync();

  const auto row = store::FindDataSet(store_->writer_connection(), "enwik8");
  ASSERT_TRUE(row.ok() && row->has_value());
  EXPECT_EQ((*row)->sha256, std::string(64, 'a'));
}

}  // namespace
}  // namespace longreach::service
