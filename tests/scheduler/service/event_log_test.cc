#include "scheduler/service/event_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/scheduler/service/engine_fixture.h"

namespace longreach::service {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;
using Steering = v1::SteerSweepRequest;

class EventLogTest : public EngineFixture {
 protected:
  EventLogTest() {
    options_.news = [this](const News& news) { log_.Add(news); };
    RestartScheduler();
    Look();
  }
  // As the server does, after a group of events.
  void Look() { log_.Look(store_->writer_connection(), clock_.Steady()); }
  void Happens(int times) {
    for (int i = 0; i < times; ++i) log_.Add({.kind = News::Kind::kWorkerGone, .line = "the worker 'a' is gone"});
  }

  // "EVENT NAME", with the number of those that it stands for.
  std::vector<std::string> Notices() {
    std::vector<std::string> notices;
    for (const News& one : notified_) {
      notices.push_back(std::string(one.notice->event) + " " + one.notice->name + (one.notice->more > 0 ? std::to_string(one.notice->more) : ""));
    }
    return notices;
  }
  // As the writer does, which is woken at NextLook().
  void LookEachMinuteFor(std::chrono::minutes time) {
    for (int i = 0; i < time.count(); ++i) {
      clock_.Advance(std::chrono::minutes(1));
      Look();
    }
  }
  int64_t FirstFailuresOf(const std::string& sweep) {
    const std::vector<std::string> notices = Notices();
    return std::ranges::count(notices, "first_failure " + sweep);
  }
  // Of a job alone; then the worker's machine is in order again.
  static void FailNext(TestWorker& worker) {
    worker.next().mutable_abilities()->set_pack_limit(1);
    worker.next().set_free_slots(1);
    worker.Fail(worker.Take(), "out of memory");
    worker.next().set_free_slots(0);
    worker.Sync();
    worker.Restart();
  }

  std::vector<std::string> lines_;
  std::vector<News> notified_;
  EventLog log_{clock_, [this](const std::string& line) { lines_.push_back(line); }, [this](const News& news) { notified_.push_back(news); }};
};

TEST_F(EventLogTest, HoweverManyWorkersGoAtOnceTheLogStaysSmall) {
  Happens(1000);
  EXPECT_THAT(lines_, SizeIs(EventLog::kLines));
  EXPECT_EQ(log_.NextLook(), clock_.Steady() + EventLog::kPeriod);
  // What else happens is told.
  log_.Add({.kind = News::Kind::kSweepAsked, .line = "the sweep 's' is paused"});
  EXPECT_EQ(lines_.back(), "the sweep 's' is paused");

  clock_.Advance(EventLog::kPeriod);
  Look();
  EXPECT_EQ(lines_.back(), "workers that are gone: 990 more in 10 s");
  EXPECT_EQ(log_.NextLook(), std::nullopt);
  Happens(1);
  EXPECT_EQ(lines_.back(), "the worker 'a' is gone");
}

TEST(NewsTest, OfOneThereIsNoPlural) {
  store::WorkerRow worker{.id = "11111111", .name = "a", .build = "1.0", .device = "cpu", .threads = 1};
  EXPECT_THAT(WorkerIsNew(worker).line, EndsWith(": cpu, 1 thread, build 1.0"));
  worker.threads = 2;
  EXPECT_THAT(WorkerIsNew(worker).line, EndsWith(": cpu, 2 threads, build 1.0"));
  EXPECT_THAT(StoreMerged("b.db", {.jobs_added = 1, .results_added = 1, .differences = {"one"}}, "").line,
              EndsWith(": 1 job and 1 result were added, 1 result differs"));
  EXPECT_THAT(StoreMerged("b.db", {.jobs_added = 2, .results_added = 0}, "").line, EndsWith(": 2 jobs and 0 results were added, 0 results differ"));
}

TEST_F(EventLogTest, WhatWasCountedIsToldAtTheEnd) {
  Happens(EventLog::kLines + 1);
  log_.Close(store_->writer_connection());
  EXPECT_EQ(lines_.back(), "workers that are gone: 1 more in 10 s");
}

TEST_F(EventLogTest, ASweepIsToldFromItsSubmissionToItsEnd) {
  Submit(Sweep("s", 2));
  ASSERT_TRUE(Steer("s", Steering::ACTION_PAUSE).ok());
  ASSERT_TRUE(Steer("s", Steering::ACTION_RESUME).ok());
  ASSERT_TRUE(Steer("s", Steering::ACTION_SET_PRIORITY, 7).ok());
  ASSERT_EQ(lines_.size(), 4u);
  EXPECT_THAT(lines_, Each(StartsWith("the sweep 's' (")));
  EXPECT_THAT(lines_[0], EndsWith(") of 2 jobs was submitted"));
  EXPECT_THAT(lines_[1], EndsWith(") is paused"));
  EXPECT_THAT(lines_[2], EndsWith(") is resumed"));
  EXPECT_THAT(lines_[3], EndsWith(") gets the priority 7 in place of 0"));

  lines_.clear();
  TestWorker worker = Worker("a");
  const v1::Lease lease = worker.Take();
  clock_.Advance(std::chrono::seconds(1));
  Look();
  EXPECT_THAT(lines_, SizeIs(1)) << "the worker's, but no job's";
  worker.Succeed(lease);
  worker.Sync();
  log_.AttemptsHaveEnded();
  clock_.Advance(std::chrono::seconds(1));
  Look();
  ASSERT_EQ(lines_.size(), 2u);
  EXPECT_THAT(lines_[1], AllOf(StartsWith("the sweep 's' ("), EndsWith(") is done: 2 jobs succeeded")));
}

TEST_F(EventLogTest, ACancelledSweepIsNotDone) {
  Submit(Sweep("s", 2));
  ASSERT_TRUE(Steer("s", Steering::ACTION_CANCEL).ok());
  clock_.Advance(std::chrono::seconds(1));
  Look();
  ASSERT_EQ(lines_.size(), 2u);
  EXPECT_THAT(lines_[1], EndsWith(") is cancelled"));
}

TEST_F(EventLogTest, WhoAskedIsTold) {
  Submit(Sweep("s", 2));
  v1::SteerSweepRequest request;
  request.set_sweep("s");
  request.set_action(Steering::ACTION_RETRY);
  engine_->SteerSweep(request, [](const absl::StatusOr<v1::Sweep>& answer) { EXPECT_TRUE(answer.ok()) << answer.status(); }, "token ann");
  EXPECT_THAT(lines_.back(), EndsWith(" is retried, with 0 jobs that failed, by token ann"));
}

TEST_F(EventLogTest, WhatCouldNotBeWrittenIsNotTold) {
  Submit(Sweep("s", 2));
  lines_.clear();
  disk_full_ = true;
  EXPECT_FALSE(Steer("s", Steering::ACTION_PAUSE).ok());
  disk_full_ = false;
  EXPECT_THAT(lines_, IsEmpty());
}

TEST_F(EventLogTest, AWorkerIsToldWhenItComesIsLostGoesAndComesBack) {
  Submit(Sweep("s", 2));
  lines_.clear();
  TestWorker worker = Worker("a");
  worker.Take();
  worker.Sync();
  ASSERT_EQ(lines_.size(), 1u) << "calls are not told";
  EXPECT_THAT(lines_[0], AllOf(StartsWith("the worker '"), HasSubstr(" is here for the first time: ")));

  lines_.clear();
  Advance(options_.lease_term);
  ASSERT_EQ(lines_.size(), 2u);
  EXPECT_THAT(lines_[0], EndsWith(" is lost: silent for 15 s; 2 jobs of it are free for others"));
  EXPECT_THAT(lines_[1], EndsWith(" is gone: silent for 15 s"));

  lines_.clear();
  worker.Sync();
  ASSERT_EQ(lines_.size(), 1u);
  EXPECT_THAT(lines_[0], EndsWith(" is back"));
  worker.Restart();
  worker.Sync();
  ASSERT_EQ(lines_.size(), 2u);
  EXPECT_THAT(lines_[1], EndsWith(" was started anew"));
}

TEST_F(EventLogTest, AWorkerThatLeavesIsNotLostAndOneThatIsDrainedIsTold) {
  TestWorker worker = Worker("a");
  worker.Sync();
  lines_.clear();
  ASSERT_TRUE(Drain("a", true).ok());
  ASSERT_TRUE(Drain("a", false).ok());
  worker.next().set_leaving(true);
  worker.Sync();
  Advance(2 * options_.lease_term);
  ASSERT_EQ(lines_.size(), 3u);
  EXPECT_THAT(lines_[0], EndsWith(" is drained"));
  EXPECT_THAT(lines_[1], EndsWith(" is given work again"));
  EXPECT_THAT(lines_[2], EndsWith(" has left"));
}

TEST_F(EventLogTest, WorkersOfASchedulerBeforeAreBack) {
  TestWorker worker = Worker("a");
  worker.Sync();
  lines_.clear();
  RestartScheduler();
  TestWorker same = Worker("a");
  same.Sync();
  ASSERT_EQ(lines_.size(), 1u);
  EXPECT_THAT(lines_[0], EndsWith(" is back"));
}

TEST_F(EventLogTest, ANameEndsNoLineAndIsObeyedByNoTerminal) {
  TestWorker worker = Worker("a");
  worker.next().mutable_abilities()->set_name("x\n2026-01-01 00:00:00 the store cannot be written\x1b[2J");
  worker.Sync();
  ASSERT_EQ(lines_.size(), 1u);
  EXPECT_THAT(lines_[0], AllOf(HasSubstr("'x\\x0a2026"), HasSubstr("\\x1b[2J'"), Not(Contains('\n'))));
}

// What a program is told of (notifier.h).

TEST_F(EventLogTest, OfManyWorkersThatGoAProgramHearsASmallNumberAndHowManyMore) {
  for (int i = 0; i < 100; ++i) log_.Add(WorkerIsGone("1", "a", std::chrono::seconds(15)));
  for (int i = 0; i < 100; ++i) log_.Add(WorkerLeft("2", "b"));
  EXPECT_THAT(notified_, SizeIs(EventLog::kLines));

  clock_.Advance(EventLog::kPeriod);
  Look();
  ASSERT_THAT(notified_, SizeIs(EventLog::kLines + 1));
  EXPECT_EQ(Notices().back(), "worker_gone 90") << "of those that left nobody is told";
  EXPECT_EQ(notified_.back().line, "workers that are gone: 90 more in 10 s");
}

TEST_F(EventLogTest, OfEachSweepThatIsDoneAProgramHears) {
  store::SweepRow sweep{.num = 1, .id = std::string(64, 'a'), .name = "s"};
  for (int i = 0; i < 100; ++i) log_.Add(SweepIsDone(sweep));
  EXPECT_THAT(lines_, SizeIs(EventLog::kLines));
  EXPECT_THAT(notified_, SizeIs(100));
}

TEST_F(EventLogTest, AProgramHearsOfASweepThatIsDoneWithItsCounts) {
  Submit(Sweep("s", 2));
  TestWorker worker = Worker("a");
  worker.Succeed(worker.Take());
  worker.Sync();
  EXPECT_THAT(Notices(), IsEmpty());
  log_.AttemptsHaveEnded();
  clock_.Advance(std::chrono::seconds(1));
  Look();
  ASSERT_THAT(Notices(), ElementsAre("sweep_done s"));
  EXPECT_EQ(notified_[0].notice->counts->succeeded, 2);
  EXPECT_EQ(notified_[0].notice->counts->jobs(), 2);
  EXPECT_EQ(notified_[0].notice->sweep.size(), 64u);
}

TEST_F(EventLogTest, OneThatIsDoneJustBeforeTheEndIsTold) {
  Submit(Sweep("s", 1));
  TestWorker worker = Worker("a");
  worker.Succeed(worker.Take());
  worker.Sync();
  log_.Close(store_->writer_connection());
  EXPECT_THAT(Notices(), ElementsAre("sweep_done s"));
}

TEST_F(EventLogTest, ASweepThatHasNothingToDoDoesNotComeToItsEndOnceMore) {
  Submit(Sweep("s", 1));
  TestWorker worker = Worker("a");
  worker.Succeed(worker.Take());
  worker.Sync();
  clock_.Advance(std::chrono::seconds(1));
  Look();
  ASSERT_THAT(Notices(), ElementsAre("sweep_done s"));

  ASSERT_TRUE(Steer("s", Steering::ACTION_SET_PRIORITY, 7).ok());
  ASSERT_TRUE(Steer("s", Steering::ACTION_PAUSE).ok());
  clock_.Advance(std::chrono::seconds(1));
  Look();
  EXPECT_THAT(notified_, SizeIs(1));
}

TEST_F(EventLogTest, TheFirstFailedJobOfASweepIsToldOnceAndNoAttemptThatIsTriedAgain) {
  Submit(Sweep("s", 2));
  TestWorker worker = Worker("a");
  FailNext(worker);
  FailNext(worker);
  EXPECT_EQ(FirstFailuresOf("s"), 0);
  lines_.clear();
  for (int i = 0; i < 10 && Counts("s").queued() > 0; ++i) FailNext(worker);
  ASSERT_EQ(Counts("s").failed(), 2);
  EXPECT_EQ(FirstFailuresOf("s"), 1);
  EXPECT_THAT(lines_, Contains(AllOf(StartsWith("the sweep 's' ("), HasSubstr(") has its first failed job, "), EndsWith(": out of memory"))));

  // It is news again when all was put right, but for something.
  ASSERT_TRUE(Steer("s", Steering::ACTION_RETRY).ok());
  for (int i = 0; i < 10 && Counts("s").queued() > 0; ++i) FailNext(worker);
  ASSERT_EQ(Counts("s").failed(), 2);
  EXPECT_EQ(FirstFailuresOf("s"), 2);
}

TEST_F(EventLogTest, AFailedJobIsNewsOfEachSweepThatHasItAndIsNotCancelled) {
  Submit(Sweep("s", 1));
  Submit(Sweep("t", 2));
  Submit(Sweep("u", 3));
  ASSERT_TRUE(Steer("u", Steering::ACTION_CANCEL).ok());
  TestWorker worker = Worker("a");
  for (int i = 0; i < 3; ++i) FailNext(worker);
  ASSERT_EQ(Counts("s").failed(), 1);
  ASSERT_EQ(Counts("u").failed(), 1);
  EXPECT_EQ(FirstFailuresOf("s"), 1);
  EXPECT_EQ(FirstFailuresOf("t"), 1);
  EXPECT_EQ(FirstFailuresOf("u"), 0);
}

TEST_F(EventLogTest, ThatJobsWaitAndNobodyWorksIsToldOnceAfterTenMinutes) {
  Submit(Sweep("s", 2));
  Submit(Sweep("t", 3), 5);
  LookEachMinuteFor(std::chrono::minutes(10));
  EXPECT_THAT(Notices(), IsEmpty());
  LookEachMinuteFor(std::chrono::minutes(1));
  ASSERT_THAT(Notices(), ElementsAre("nobody_works t"));
  EXPECT_THAT(lines_.back(), AllOf(StartsWith("3 jobs of the sweep 't' ("), EndsWith(") wait, as do those of 1 other sweep, and for 10 minutes no worker has had any")));
  LookEachMinuteFor(std::chrono::minutes(60));
  EXPECT_THAT(notified_, SizeIs(1));

  // Somebody works, and leaves again.
  TestWorker worker = Worker("a");
  const v1::Lease lease = worker.Take();
  LookEachMinuteFor(std::chrono::minutes(30));
  EXPECT_THAT(notified_, SizeIs(1));
  worker.next().set_free_slots(0);
  worker.GiveBack(lease);
  worker.Sync();
  log_.AttemptsHaveEnded();
  LookEachMinuteFor(std::chrono::minutes(10));
  EXPECT_THAT(notified_, SizeIs(1));
  LookEachMinuteFor(std::chrono::minutes(2));
  EXPECT_THAT(Notices(), ElementsAre("nobody_works t", "nobody_works t"));
}

TEST_F(EventLogTest, WhereAttemptsComeAndGoBetweenLooksSomebodyWorks) {
  Submit(Sweep("s", 2));
  for (int i = 0; i < 30; ++i) {
    log_.AttemptsHaveEnded();
    LookEachMinuteFor(std::chrono::minutes(1));
  }
  EXPECT_THAT(Notices(), IsEmpty());
}

TEST_F(EventLogTest, WhatIsPausedOrDoneWaitsForNobody) {
  Submit(Sweep("s", 2));
  ASSERT_TRUE(Steer("s", Steering::ACTION_PAUSE).ok());
  LookEachMinuteFor(std::chrono::minutes(60));
  EXPECT_THAT(Notices(), IsEmpty());
  ASSERT_TRUE(Steer("s", Steering::ACTION_CANCEL).ok());
  clock_.Advance(std::chrono::minutes(1));
  Look();
  EXPECT_EQ(log_.NextLook(), std::nullopt) << "an idle scheduler sleeps";
}

TEST_F(EventLogTest, WhatCouldNotBeWrittenIsNotNotified) {
  Submit(Sweep("s", 1));
  TestWorker worker = Worker("a");
  FailNext(worker);
  FailNext(worker);
  worker.next().set_free_slots(1);
  worker.Fail(worker.Take(), "out of memory");
  disk_full_ = true;
  const auto refused = worker.Call();
  ASSERT_TRUE(refused && !refused->ok());
  EXPECT_EQ(FirstFailuresOf("s"), 0);

  disk_full_ = false;
  worker.Sync();
  EXPECT_EQ(FirstFailuresOf("s"), 1);
}

}  // namespace
}  // namespace longreach::service
