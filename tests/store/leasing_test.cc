// Finding work: whose turn it is, and who goes with it.
#include "tests/store/fixture.h"

namespace longreach::store {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class LeasingTest : public ::testing::Test {
 protected:
  LeasingTest() { test_.AddWorker("w1"); }

  std::optional<LeaseGroup> Next(int64_t requirement = 1) { return *NextGroup(test_.db(), requirement); }
  std::vector<int64_t> Nums(const LeaseGroup& group, int limit) {
    std::vector<int64_t> nums;
    const absl::StatusOr<std::vector<JobRow>> jobs = JobsOfGroup(test_.db(), group, limit);
    EXPECT_OK(jobs);
    for (const JobRow& job : *jobs) nums.push_back(job.num);
    return nums;
  }

  TestStore test_;
};

TEST_F(LeasingTest, TheGroupHoldsJobsThatDifferOnlyInWhatAPackMayDifferIn) {
  std::vector<NewJob> jobs = MakePack(3);
  jobs.insert(jobs.begin() + 1, MakeJob("even_pairs", "rope", true, 0.001, 0));  // Same requirement, another pack.
  const std::vector<int64_t> nums = test_.AddSweep("one", jobs);

  ASSERT_TRUE(Next().has_value());
  EXPECT_EQ(Next()->first, nums[0]);
  EXPECT_THAT(Nums(*Next(), 9), ElementsAre(nums[0], nums[2], nums[3]));
  EXPECT_THAT(Nums(*Next(), 2), ElementsAre(nums[0], nums[2]));
}

TEST_F(LeasingTest, HigherPriorityComesFirstThenTheOrderOfSubmission) {
  const std::vector<int64_t> low = test_.AddSweep("low", MakePack(1));
  const std::vector<int64_t> high = test_.AddSweep("high", {MakeJob("even_pairs", "rope", false, 0.5, 0)}, 3);
  EXPECT_EQ(Next()->first, high[0]);
  EXPECT_EQ(Next()->priority, 3);

  test_.Start("w1", high);

  EXPECT_EQ(Next()->first, low[0]);
}

TEST_F(LeasingTest, WhatAskForDifferentThingsIsFoundSeparately) {
  test_.AddSweep("one", {MakeJob("even_pairs", "rope", false, 1, 0), MakeJob("even_pairs", "alibi", false, 1, 0)});

  ASSERT_OK_AND_ASSIGN(std::vector<RequirementRow> requirements, Requirements(test_.db()));

  ASSERT_EQ(requirements.size(), 2u);
  EXPECT_EQ(requirements[0].requirement.encoding, "rope");
  EXPECT_EQ(requirements[1].requirement.encoding, "alibi");
  EXPECT_EQ(Next(requirements[0].num)->first, 1);
  EXPECT_EQ(Next(requirements[1].num)->first, 2);
}

TEST_F(LeasingTest, CheckpointsAndSplitGroupsKeepJobsApart) {
  const std::vector<int64_t> nums = test_.AddSweep("one", MakePack(4));
  ASSERT_OK(test_.db().Run("UPDATE jobs SET split_group = 5 WHERE num = ?", nums[1]));
  ASSERT_OK(test_.db().Run("UPDATE jobs SET checkpoint_step = 50 WHERE num = ?", nums[2]));

  EXPECT_THAT(Nums(*Next(), 9), ElementsAre(nums[0], nums[3]));
  test_.Start("w1", {nums[0], nums[3]});
  EXPECT_EQ(Next()->split_group, 5);
  EXPECT_THAT(Nums(*Next(), 9), ElementsAre(nums[1]));
  test_.Start("w1", {nums[1]});
  EXPECT_EQ(Next()->checkpoint_step, 50);
  EXPECT_THAT(Nums(*Next(), 9), ElementsAre(nums[2]));
}

TEST_F(LeasingTest, NobodyWantsNobodyGets) {
  const std::vector<int64_t> nums = test_.AddSweep("one", MakePack(2));
  EXPECT_TRUE(Next().has_value());
  ASSERT_OK(test_.Write([](sql::Transaction& tx) -> absl::Status {
    RETURN_IF_ERROR(SetSweepState(tx, 1, SweepState::kPaused));
    return RefreshWanted(tx, 1);
  }));

  EXPECT_FALSE(Next().has_value());
  const absl::Status lease = test_.Write([&](sql::Transaction& tx) { return LeaseJobs(tx, 1, nums); });
  EXPECT_EQ(lease.code(), absl::StatusCode::kInternal) << "the rule is repeated where it is written";
}

TEST_F(LeasingTest, AJobIsNotLeasedTwice) {
  const std::vector<int64_t> nums = test_.AddSweep("one", MakePack(2));
  test_.Start("w1", {nums[0]});

  const absl::Status again = test_.Write([&](sql::Transaction& tx) {
    return StartAttempt(tx, {.worker = "w1", .started_at = At(50), .build = "", .device = ""}, nums).status();
  });

  EXPECT_EQ(again.code(), absl::StatusCode::kInternal);
  EXPECT_EQ(*test_.db().One<int>("SELECT count(*) FROM attempts"), 1);
  EXPECT_THAT(test_.Violations(), IsEmpty());
}

}  // namespace
}  // namespace longreach::store
