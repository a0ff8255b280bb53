// Logs of running attempts: they come with workers' calls to those who follow them, and never reach the store.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

#include "store/measurements.h"
#include "tests/scheduler/service/engine_fixture.h"

namespace longreach::service {
namespace {

class EngineLogsTest : public EngineFixture {
 protected:
  // An attempt of `worker`, whose next calls are answered from memory.
  uint64_t Train(TestWorker& worker) {
    Submit(Sweep("s", 1));
    const v1::Lease lease = worker.Take();
    worker.Sync();
    worker.next().set_may_wait(true);
    return lease.attempt();
  }
  std::unique_ptr<LogBoard::Follower> Follow(uint64_t attempt) {
    absl::StatusOr<std::unique_ptr<LogBoard::Follower>> follower = engine_->logs().Follow(static_cast<int64_t>(attempt), [] {});
    EXPECT_TRUE(follower.ok()) << follower.status();
    engine_->AskForLog(static_cast<int64_t>(attempt));
    return follower.ok() ? *std::move(follower) : nullptr;
  }
  static void Say(TestWorker& worker, uint64_t attempt, uint64_t from, const std::string& text) {
    v1::AttemptLog& log = *worker.Tell(attempt).mutable_log();
    log.set_from(from);
    log.set_text(text);
  }
  // From where on the answer asks for the log; -1: it does not; -2: there is none yet.
  static int64_t Asked(const std::optional<absl::StatusOr<v1::SynchronizeResponse>>& answer) {
    if (!answer || !answer->ok() || (*answer)->directives_size() != 1) return -2;
    const v1::Directive& directive = (*answer)->directives(0);
    return directive.has_log_from() ? static_cast<int64_t>(directive.log_from()) : -1;
  }
  static std::string Next(LogBoard::Follower& follower) {
    const absl::StatusOr<std::optional<v1::LogPart>> part = follower.Next();
    if (!part.ok()) return std::string(part.status().message());
    return part->has_value() ? (*part)->text() : "nothing";
  }
};

TEST_F(EngineLogsTest, ACallThatIsHeldOpenIsAnsweredWhenAFollowerComes) {
  TestWorker worker = Worker("a");
  const uint64_t attempt = Train(worker);
  const int before = events_;
  ASSERT_FALSE(worker.Call().has_value());

  const auto follower = Follow(attempt);

  EXPECT_EQ(Asked(worker.late()), 0);
  EXPECT_EQ(events_, before);
}

TEST_F(EngineLogsTest, ACallWithALogAloneIsNoEvent) {
  TestWorker worker = Worker("a");
  const uint64_t attempt = Train(worker);
  const auto follower = Follow(attempt);
  const int before = events_;
  EXPECT_EQ(Asked(worker.Call()), 0);  // It does not know yet.

  Say(worker, attempt, 0, "one\n");
  EXPECT_EQ(Asked(worker.Call()), 4);
  EXPECT_EQ(Next(*follower), "one\n");
  Say(worker, attempt, 4, "");
  EXPECT_FALSE(worker.Call().has_value());  // There is nothing to say to it.
  Say(worker, attempt, 4, "two\n");
  EXPECT_EQ(Asked(worker.Call()), 8);

  EXPECT_EQ(Next(*follower), "two\n");
  EXPECT_EQ(events_, before);
}

TEST_F(EngineLogsTest, ACallThatIsAnsweredByAnEventBringsAndAsksToo) {
  TestWorker before = Worker("a");
  const uint64_t attempt = Train(before);
  RestartScheduler();  // Nothing is answered from memory there.
  TestWorker worker = Worker("a");
  worker.Restart({attempt});
  worker.next().set_may_wait(true);
  const auto follower = Follow(attempt);
  Say(worker, attempt, 0, "one\n");
  const int events = events_;

  EXPECT_EQ(Asked(worker.Call()), 4);

  EXPECT_EQ(events_, events + 1);
  EXPECT_EQ(Next(*follower), "one\n");
}

TEST_F(EngineLogsTest, WhatACallToldIsWrittenBeforeItIsAnsweredForALog) {
  TestWorker worker = Worker("a");
  const uint64_t attempt = Train(worker);
  const auto jobs = store::JobsOfAttempt(store_->writer_connection(), static_cast<int64_t>(attempt));
  ASSERT_TRUE(jobs.ok() && jobs->size() == 1);
  v1::ProgressPoint& point = *worker.Tell(attempt).add_points();
  point.set_job(jobs->front().id);
  point.set_step(10);
  point.set_loss(0.5);
  ASSERT_FALSE(worker.Call().has_value());
  const int before = events_;

  const auto follower = Follow(attempt);

  EXPECT_EQ(Asked(worker.late()), 0);
  EXPECT_EQ(events_, before + 1);
  const auto points = store::ProgressOf(store_->writer_connection(), jobs->front().num);
  ASSERT_TRUE(points.ok() && points->size() == 1);
  EXPECT_EQ(points->front().step, 10);
}

TEST_F(EngineLogsTest, WhoDoesNotHoldTheAttemptDeliversNothing) {
  TestWorker worker = Worker("a");
  const uint64_t attempt = Train(worker);
  const auto follower = Follow(attempt);
  TestWorker other = Worker("b");
  other.Restart({attempt});
  Say(other, attempt, 0, "a lie\n");

  const auto answer = other.Call();

  EXPECT_EQ(Next(*follower), "nothing");
  EXPECT_EQ(Asked(answer), -1);  // It is told to drop the attempt.
  Say(worker, attempt, 0, "one\n");
  EXPECT_EQ(Asked(worker.Call()), 4);
  EXPECT_EQ(Next(*follower), "one\n");
}

TEST_F(EngineLogsTest, WithTheLastFollowerTheQuestionGoes) {
  TestWorker worker = Worker("a");
  const uint64_t attempt = Train(worker);
  auto follower = Follow(attempt);
  Say(worker, attempt, 0, "one\n");
  EXPECT_EQ(Asked(worker.Call()), 4);

  follower.reset();

  Say(worker, attempt, 4, "");
  EXPECT_EQ(Asked(worker.Call()), -1);  // At once: it would go on looking.
  worker.Tell(attempt).clear_log();
  EXPECT_FALSE(worker.Call().has_value());
}

TEST_F(EngineLogsTest, WhoComesWhenAWorkerStillAnswersTheOneBeforeBeginsAtTheBeginning) {
  TestWorker worker = Worker("a");
  const uint64_t attempt = Train(worker);
  auto follower = Follow(attempt);
  Say(worker, attempt, 0, "one\n");
  EXPECT_EQ(Asked(worker.Call()), 4);
  follower.reset();
  follower = Follow(attempt);

  Say(worker, attempt, 4, "two\n");
  EXPECT_EQ(Asked(worker.Call()), 0);
  EXPECT_EQ(Next(*follower), "nothing");

  Say(worker, attempt, 0, "one\ntwo\n");
  EXPECT_EQ(Asked(worker.Call()), 8);
  EXPECT_EQ(Next(*follower), "one\ntwo\n");
}

TEST_F(EngineLogsTest, AnOlderWorkerIsAskedAFewTimesAndThenLeftAlone) {
  TestWorker worker = Worker("a");
  const uint64_t attempt = Train(worker);
  const auto follower = Follow(attempt);
  for (int asked = 0; asked < kMostLogQuestions; ++asked) EXPECT_EQ(Asked(worker.Call()), 0) << asked;
  EXPECT_EQ(Next(*follower), "nothing");

  EXPECT_FALSE(worker.Call().has_value());

  EXPECT_EQ(follower->Next().status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Next(*follower), ::testing::HasSubstr("worker 'name-of-a' (1.0)"));
}

TEST_F(EngineLogsTest, AnOlderWorkerIsLeftAloneWhileItHandsFilesInToo) {
  TestWorker worker = Worker("a");
  const uint64_t attempt = Train(worker);
  worker.Tell(attempt).set_phase("uploading");
  const auto follower = Follow(attempt);
  for (int asked = 0; asked < kMostLogQuestions; ++asked) EXPECT_EQ(Asked(worker.Call()), 0) << asked;

  EXPECT_FALSE(worker.Call().has_value());

  EXPECT_EQ(follower->Next().status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(EngineLogsTest, AnAttemptOfWhichACallHasTheNameAloneIsNotAskedForInVain) {
  TestWorker worker = Worker("a");
  const uint64_t attempt = Train(worker);
  worker.Tell(attempt).set_phase("uploading");
  const auto follower = Follow(attempt);
  v1::AttemptReport before_it;  // Which fills the call.
  before_it.set_attempt(attempt + 1000);
  before_it.set_outcome(v1::AttemptReport::OUTCOME_GIVEN_BACK);
  worker.Report(before_it);

  for (int asked = 0; asked < 2 * kMostLogQuestions; ++asked) EXPECT_EQ(Asked(worker.Call()), 0) << asked;

  EXPECT_EQ(Next(*follower), "nothing");
}

TEST_F(EngineLogsTest, AWorkerThatHasNotReadTheLogYetIsWaitedFor) {
  TestWorker worker = Worker("a");
  const uint64_t attempt = Train(worker);
  const auto follower = Follow(attempt);
  Say(worker, attempt, ~uint64_t{0}, "");
  for (int asked = 0; asked < 2 * kMostLogQuestions; ++asked) EXPECT_EQ(Asked(worker.Call()), 0) << asked;
  EXPECT_EQ(Next(*follower), "nothing");

  Say(worker, attempt, 0, "one\n");

  EXPECT_EQ(Asked(worker.Call()), 4);
  EXPECT_EQ(Next(*follower), "one\n");
}

TEST_F(EngineLogsTest, TheEndOfTheAttemptIsTold) {
  TestWorker worker = Worker("a");
  Submit(Sweep("s", 1));
  const v1::Lease lease = worker.Take();
  const auto follower = Follow(lease.attempt());
  EXPECT_FALSE(follower->ended());

  worker.Succeed(lease);
  worker.Sync();

  EXPECT_TRUE(follower->ended());
}

TEST_F(EngineLogsTest, ALeaseThatRunsOutEndsItToo) {
  TestWorker worker = Worker("a");
  Submit(Sweep("s", 1));
  const auto follower = Follow(worker.Take().attempt());

  for (int second = 0; second < 20; ++second) Advance(std::chrono::seconds(1));

  EXPECT_TRUE(follower->ended());
}

}  // namespace
}  // namespace longreach::service
