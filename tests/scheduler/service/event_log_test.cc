#include "scheduler/service/event_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

  std::vector<std::string> lines_;
  EventLog log_{clock_, [this](const std::string& line) { lines_.push_back(line); }};
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
  log_.Close();
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

}  // namespace
}  // namespace longreach::service
