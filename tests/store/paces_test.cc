#include "store/paces.h"

#include "store/given_up.h"
#include "tests/store/fixture.h"

namespace longreach::store {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class PacesTest : public ::testing::Test {
 protected:
  PacesTest() { test_.AddWorker("w1"); }

  std::vector<int64_t> QueuedAmong(int64_t sweep, int64_t members, int most) {
    std::vector<int64_t> positions;
    const absl::StatusOr<std::vector<QueuedJob>> jobs = SomeQueuedJobs(test_.db(), sweep, members, most);
    EXPECT_OK(jobs);
    if (jobs.ok()) {
      for (const QueuedJob& job : *jobs) positions.push_back(job.position);
    }
    return positions;
  }
  std::vector<double> SecondsOf(int64_t sweep, int look_back) {
    std::vector<double> seconds;
    const absl::StatusOr<std::vector<EndedPart>> parts = EndedInSweep(test_.db(), sweep, look_back);
    EXPECT_OK(parts);
    if (parts.ok()) {
      for (const EndedPart& part : *parts) seconds.push_back(part.seconds);
    }
    return seconds;
  }

  TestStore test_;
};

TEST_F(PacesTest, WhatHasEndedIsThatOfTheSweepTheNewestFirst) {
  const std::vector<int64_t> mine = test_.AddSweep("mine", MakePack(4, "parity_check", "alibi"));
  const std::vector<int64_t> others = test_.AddSweep("others", MakePack(2));
  EXPECT_THAT(SecondsOf(1, 100), IsEmpty());
  test_.Succeed(test_.Start("w1", {mine[0]}, 10), 0.5, 15);
  test_.Succeed(test_.Start("w1", others, 10), 0.5, 18);
  test_.Succeed(test_.Start("w1", {mine[2], mine[1]}, 20), 0.5, 40);
  test_.Start("w1", {mine[3]}, 40);

  ASSERT_OK_AND_ASSIGN(const std::vector<EndedPart> parts, EndedInSweep(test_.db(), 1, 100));

  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0].seconds, 20);
  EXPECT_EQ(parts[0].members, 2);
  EXPECT_EQ(parts[0].worker, "w1");
  EXPECT_EQ(parts[0].task, "parity_check");
  EXPECT_EQ(parts[0].encoding, "alibi");
  EXPECT_FALSE(parts[0].randomized);
  EXPECT_EQ(parts[0].steps, 100);
  EXPECT_EQ(parts[0].position, 2) << "of its first job";
  EXPECT_EQ(parts[1].seconds, 5);
  EXPECT_THAT(SecondsOf(1, 2), ElementsAre(20)) << "of the last two of the store one runs";
  EXPECT_THAT(SecondsOf(2, 100), ElementsAre(8));
}

TEST_F(PacesTest, WhatFailedOrBeganInTheMiddleSaysNothing) {
  const std::vector<int64_t> jobs = test_.AddSweep("one", MakePack(3));
  const int64_t failed = test_.Start("w1", {jobs[0]});
  EXPECT_OK(test_.Write([&](sql::Transaction& tx) -> absl::Status {
    RETURN_IF_ERROR(FailJob(tx, jobs[0], failed, {.failures = 3, .losses = 0, .failure = "crashed", .split_group = 0}));
    return EndAttempt(tx, failed, Outcome::kFailed, "", "libtorch", At(20));
  }));
  int64_t went_on = 0;
  EXPECT_OK(test_.Write([&](sql::Transaction& tx) -> absl::Status {
    ASSIGN_OR_RETURN(went_on, StartAttempt(tx, {.worker = "w1", .incarnation = 7, .started_at = At(20), .build = "build 1", .device = "cpu", .threads = 2, .start_step = 50},
                                           std::vector<int64_t>{jobs[1]}));
    return absl::OkStatus();
  }));
  test_.Succeed(went_on, 0.5, 30);

  EXPECT_THAT(SecondsOf(1, 100), IsEmpty());
}

TEST_F(PacesTest, SomeQueuedJobsAreAtEqualDistances) {
  const std::vector<int64_t> jobs = test_.AddSweep("one", MakePack(10));
  EXPECT_THAT(QueuedAmong(1, 10, 100), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
  EXPECT_THAT(QueuedAmong(1, 10, 4), ElementsAre(0, 2, 5, 7));
  test_.Start("w1", {jobs[2], jobs[3]});

  EXPECT_THAT(QueuedAmong(1, 10, 4), ElementsAre(0, 5, 7));
  EXPECT_THAT(QueuedAmong(1, 0, 4), IsEmpty());
  EXPECT_THAT(QueuedAmong(2, 10, 4), IsEmpty()) << "there is no such sweep";
}

TEST_F(PacesTest, WhatASweepHasGivenUpIsNotQueuedForIt) {
  const std::vector<int64_t> jobs = test_.AddSweep("one", MakePack(3));
  test_.AddSweep("two", MakePack(3));
  EXPECT_OK(test_.Write([&](sql::Transaction& tx) { return GiveUpJobs(tx, 1, std::vector<int64_t>{jobs[1]}).status(); }));

  EXPECT_THAT(QueuedAmong(1, 3, 100), ElementsAre(0, 2));
  EXPECT_THAT(QueuedAmong(2, 3, 100), ElementsAre(0, 1, 2));
}

}  // namespace
}  // namespace longreach::store
