#include "worker/agent/finished.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/status.h"
#include "tests/support/temporary_folder.h"

namespace longreach::agent {
namespace {

TEST(FinishedTest, WhatAWorkerKeepsOfAnAttemptIsWhatItsNextStartHandsIn) {
  const testing::TemporaryFolder root;
  Attempt attempt;
  attempt.lease.set_attempt(7);
  attempt.folder = root / "7";
  std::filesystem::create_directory(attempt.folder);
  attempt.members = {"a", "b"};
  attempt.dropped = {"b"};
  attempt.step = 30;
  attempt.report.set_outcome(v1::AttemptReport::OUTCOME_SUCCEEDED);
  attempt.report.set_detail("a detail");
  attempt.points.emplace_back().set_step(29);
  attempt.files = {{.kind = ArtifactKind::kSeries, .step = 30, .file = attempt.folder / "series.bin", .job = "a"}};
  ASSERT_OK(KeepFinished(attempt.folder, FinishedOf(attempt)));

  ASSERT_OK_AND_ASSIGN(const std::shared_ptr<Attempt> kept, ReadFinished(attempt.folder));

  EXPECT_EQ(kept->number(), 7u);
  EXPECT_EQ(kept->members, attempt.members);
  EXPECT_EQ(kept->dropped, attempt.dropped);
  EXPECT_EQ(kept->step, 30);
  EXPECT_EQ(kept->report.detail(), "a detail");
  ASSERT_EQ(kept->points.size(), 1u);
  EXPECT_EQ(kept->points.front().step(), 29);
  ASSERT_EQ(kept->files.size(), 1u);
  EXPECT_EQ(kept->files.front().file, attempt.files.front().file);
  EXPECT_FALSE(kept->began_at.has_value());
}

// Else the builds of the steps from there on would not be told with its result.
TEST(FinishedTest, WhereAnAttemptBeganIsStillToldByTheNextStart) {
  for (const int step : {0, 10}) {
    const testing::TemporaryFolder root;
    Attempt attempt;
    attempt.lease.set_attempt(7);
    attempt.folder = root / "7";
    std::filesystem::create_directory(attempt.folder);
    attempt.step = 30;
    attempt.began_at = step;
    ASSERT_OK(KeepFinished(attempt.folder, FinishedOf(attempt)));

    ASSERT_OK_AND_ASSIGN(const std::shared_ptr<Attempt> kept, ReadFinished(attempt.folder));

    const v1::HeldAttempt held = HeldOf(*kept);
    EXPECT_EQ(held.step(), step);
    EXPECT_EQ(held.phase(), "training");
    NoteTold(held, *kept);
    EXPECT_EQ(HeldOf(*kept).step(), 30);
  }
}

}  // namespace
}  // namespace longreach::agent
