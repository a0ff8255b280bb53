#include "worker/agent/attempt.h"

#include <gtest/gtest.h>

namespace longreach::agent {
namespace {

Attempt LeasedFrom(int step) {
  Attempt attempt;
  attempt.lease.set_attempt(7);
  attempt.lease.add_jobs()->mutable_checkpoint()->set_step(step);
  attempt.stage = Attempt::Stage::kTraining;
  return attempt;
}

v1::PackProgress ProgressAt(const std::string& phase, int step) {
  v1::PackProgress progress;
  progress.set_phase(phase);
  progress.set_step(step);
  return progress;
}

TEST(AttemptTest, OneThatBeganEarlierThanItsLeaseSaysTellsSoUntilACallWithItIsAnswered) {
  Attempt attempt = LeasedFrom(20);
  TakeProgress(ProgressAt("starting", 0), attempt);
  const v1::HeldAttempt before = HeldOf(attempt);
  TakeProgress(ProgressAt("training", 10), attempt);
  TakeProgress(ProgressAt("training", 25), attempt);
  attempt.stage = Attempt::Stage::kHandingIn;

  const v1::HeldAttempt held = HeldOf(attempt);
  EXPECT_EQ(held.step(), 10);
  EXPECT_EQ(held.phase(), "training");
  NoteTold(before, attempt);
  EXPECT_EQ(HeldOf(attempt).step(), 10) << "that call was sent before";

  NoteTold(held, attempt);
  EXPECT_FALSE(attempt.began_at.has_value());
  EXPECT_EQ(HeldOf(attempt).step(), 25);
  EXPECT_EQ(HeldOf(attempt).phase(), "uploading");
}

TEST(AttemptTest, GoesOnFromItsOwnCheckpointsFirstAndWithoutAnyFromThoseOfItsLease) {
  Attempt attempt;
  for (const int member : {3, 1}) {
    v1::MemberPath& leased = *attempt.start.add_members()->add_checkpoints();
    leased.set_path("/a/fetched");
    leased.set_member(member);
  }
  EXPECT_EQ(GoingOn(attempt).SerializeAsString(), attempt.start.SerializeAsString());

  attempt.checkpoints = {{"/a/checkpoint-10", 10}, {"/a/checkpoint-20", 20}};

  const v1::StartPack start = GoingOn(attempt);
  for (int member = 0; member < 2; ++member) {
    const auto& checkpoints = start.members(member).checkpoints();
    ASSERT_EQ(checkpoints.size(), 3);
    EXPECT_EQ(checkpoints[0].path(), "/a/checkpoint-20");
    EXPECT_EQ(checkpoints[0].member(), member);
    EXPECT_EQ(checkpoints[1].path(), "/a/checkpoint-10");
    EXPECT_EQ(checkpoints[1].member(), member);
    EXPECT_EQ(checkpoints[2].SerializeAsString(), attempt.start.members(member).checkpoints(0).SerializeAsString());
  }
}

TEST(AttemptTest, OneThatBeganAnewTellsSo) {
  Attempt attempt = LeasedFrom(20);

  TakeProgress(ProgressAt("training", 0), attempt);

  EXPECT_EQ(attempt.began_at, 0);
}

TEST(AttemptTest, OneThatBeganWhereItsLeaseSaysHasNothingToTell) {
  for (const char* phase : {"training", "evaluating"}) {
    Attempt attempt = LeasedFrom(20);
    TakeProgress(ProgressAt("starting", 0), attempt);
    TakeProgress(ProgressAt(phase, 20), attempt);
    EXPECT_FALSE(attempt.began_at.has_value()) << phase;
    EXPECT_EQ(HeldOf(attempt).phase(), phase);
  }
}

}  // namespace
}  // namespace longreach::agent
