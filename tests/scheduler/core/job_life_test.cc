#include "scheduler/core/job_life.h"

#include <gtest/gtest.h>

namespace longreach::core {
namespace {

const Attempt kOurs{7};
const Attempt kOther{8};
const WorkerId kWorker{"gpu-a"};

Life LeasedLife() { return {.state = Leased{kOurs, kWorker}, .failures = 1, .losses = 2, .reason = "earlier"}; }

// One life in each state.
std::vector<Life> AllLives() {
  return {{.state = Waiting{}}, {.state = Queued{}}, LeasedLife(), {.state = Succeeded{kOurs}}, {.state = Failed{"why"}}, {.state = Cancelled{}}};
}

// The words of the states that refuse an event with this code.
template <typename Event>
std::string Refusing(absl::StatusCode code, Event event) {
  std::string words;
  for (const Life& life : AllLives()) {
    const absl::StatusOr<Life> after = event(life);
    if (after.status().code() == code) words += std::string(Word(life.state)) + " ";
  }
  return words;
}

TEST(JobLifeTest, OnlyAWaitingJobBecomesReady) {
  EXPECT_EQ(MakeReady({.state = Waiting{}})->state, JobState(Queued{}));
  EXPECT_EQ(Refusing(absl::StatusCode::kFailedPrecondition, MakeReady), "queued leased succeeded failed cancelled ");
}

TEST(JobLifeTest, AFailedInputFailsWhatHasNotStarted) {
  const auto fail = [](const Life& life) { return FailInput(life, "input failed: weights"); };
  EXPECT_EQ(fail({.state = Waiting{}})->state, JobState(Failed{"input failed: weights"}));
  EXPECT_EQ(fail({.state = Queued{}})->reason, "input failed: weights");
  EXPECT_EQ(Refusing(absl::StatusCode::kFailedPrecondition, fail), "leased succeeded failed cancelled ");
}

TEST(JobLifeTest, OnlyAQueuedJobIsGranted) {
  const auto grant = [](const Life& life) { return Grant(life, kOther, kWorker); };
  EXPECT_EQ(grant({.state = Queued{}, .failures = 2})->state, JobState(Leased{kOther, kWorker}));
  EXPECT_EQ(grant({.state = Queued{}, .failures = 2})->failures, 2);
  EXPECT_EQ(Refusing(absl::StatusCode::kFailedPrecondition, grant), "waiting leased succeeded failed cancelled ");
}

TEST(JobLifeTest, SuccessClosesTheJobAndRepeatingItChangesNothing) {
  const absl::StatusOr<Life> after = Succeed(LeasedLife(), kOurs);
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_EQ(after->state, JobState(Succeeded{kOurs}));
  EXPECT_EQ(after->reason, "");

  EXPECT_EQ(*Succeed(*after, kOurs), *after);
}

TEST(JobLifeTest, TheLateSuccessOfAnExpiredAttemptIsRefused) {
  EXPECT_EQ(Succeed(LeasedLife(), kOther).status().code(), absl::StatusCode::kAborted);
  EXPECT_EQ(Succeed({.state = Succeeded{kOurs}}, kOther).status().code(), absl::StatusCode::kAborted);
  EXPECT_EQ(Refusing(absl::StatusCode::kAborted, [](const Life& life) { return Succeed(life, kOurs); }), "waiting queued failed cancelled ");
}

TEST(JobLifeTest, ReportsOfAnAttemptThatHoldsNothingAreAborted) {
  const std::string all = "waiting queued leased succeeded failed cancelled ";
  EXPECT_EQ(Refusing(absl::StatusCode::kAborted, [](const Life& life) { return Fail(life, kOther, true, "x"); }), all);
  EXPECT_EQ(Refusing(absl::StatusCode::kAborted, [](const Life& life) { return Lose(life, kOther, "x"); }), all);
  EXPECT_EQ(Refusing(absl::StatusCode::kAborted, [](const Life& life) { return GiveBack(life, kOther); }), all);
}

TEST(JobLifeTest, TheThirdFailureAloneFailsTheJob) {
  Life life = {.state = Queued{}};
  for (int i = 1; i <= kMaxFailures; ++i) {
    life = *Grant(life, Attempt{i}, kWorker);
    life = *Fail(life, Attempt{i}, true, "out of memory");
    EXPECT_EQ(life.failures, i);
    EXPECT_EQ(life.reason, "out of memory");
    EXPECT_EQ(Word(life.state), i < kMaxFailures ? "queued" : "failed");
  }
  EXPECT_EQ(std::get<Failed>(life.state).reason, "out of memory");
}

TEST(JobLifeTest, AFailureInCompanyCountsOnNobody) {
  const Life after = *Fail(LeasedLife(), kOurs, false, "crashed");

  EXPECT_EQ(after, (Life{.state = Queued{}, .failures = 1, .losses = 2, .reason = "crashed"}));
}

TEST(JobLifeTest, WhatAnyWorkerWouldRefuseFailsAtOnce) {
  const Life after = *Refuse(LeasedLife(), kOurs, "no such task");

  EXPECT_EQ(after, (Life{.state = Failed{"no such task"}, .failures = 2, .losses = 2, .reason = "no such task"}));
  EXPECT_EQ(Refuse(LeasedLife(), kOther, "no such task").status().code(), absl::StatusCode::kAborted);
}

TEST(JobLifeTest, LossesCountApartAndTheTenthFailsTheJob) {
  Life life = {.state = Queued{}, .failures = 2};
  for (int i = 1; i <= kMaxLosses; ++i) {
    life = *Grant(life, Attempt{i}, kWorker);
    life = *Lose(life, Attempt{i}, "its lease ran out");
    EXPECT_EQ(life.losses, i);
    EXPECT_EQ(life.failures, 2);
    EXPECT_EQ(Word(life.state), i < kMaxLosses ? "queued" : "failed");
  }
  EXPECT_EQ(std::get<Failed>(life.state).reason, "lost 10 times; the last: its lease ran out");
}

TEST(JobLifeTest, GivingBackCountsNothing) {
  EXPECT_EQ(*GiveBack(LeasedLife(), kOurs), (Life{.state = Queued{}, .failures = 1, .losses = 2, .reason = "earlier"}));
}

TEST(JobLifeTest, CancelTakesAllButResults) {
  EXPECT_EQ(Refusing(absl::StatusCode::kFailedPrecondition, Cancel), "succeeded ");
  EXPECT_EQ(Cancel(LeasedLife())->state, JobState(Cancelled{}));
  EXPECT_EQ(Cancel({.state = Waiting{}})->state, JobState(Cancelled{}));
  EXPECT_EQ(Cancel({.state = Cancelled{}})->state, JobState(Cancelled{}));
  EXPECT_EQ(Cancel({.state = Failed{"why"}})->state, JobState(Failed{"why"}));
}

TEST(JobLifeTest, RevivingKeepsTheCountersAndRetryingClearsThem) {
  EXPECT_EQ(*Revive({.state = Cancelled{}, .failures = 2, .losses = 1}, true), (Life{.state = Queued{}, .failures = 2, .losses = 1}));
  EXPECT_EQ(Revive({.state = Cancelled{}}, false)->state, JobState(Waiting{}));
  EXPECT_EQ(Refusing(absl::StatusCode::kFailedPrecondition, [](const Life& life) { return Revive(life, true); }),
            "waiting queued leased succeeded failed ");

  EXPECT_EQ(*Retry({.state = Failed{"x"}, .failures = 3, .losses = 1, .reason = "x"}, true), (Life{.state = Queued{}}));
  EXPECT_EQ(Retry({.state = Failed{"x"}}, false)->state, JobState(Waiting{}));
  EXPECT_EQ(Refusing(absl::StatusCode::kFailedPrecondition, [](const Life& life) { return Retry(life, true); }),
            "waiting queued leased succeeded cancelled ");
}

}  // namespace
}  // namespace longreach::core
