// Finding work apart from what a worker has failed at.
#include "store/apart.h"

#include "tests/store/fixture.h"

namespace longreach::store {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ApartTest : public ::testing::Test {
 protected:
  // 0: none.
  int64_t First(const Apart& from, int64_t requirement = 1) {
    const absl::StatusOr<ApartGroup> found = NextGroupApart(test_.db(), requirement, from);
    EXPECT_OK(found);
    gave_up_ = found.ok() && found->gave_up;
    return found.ok() && found->group ? found->group->first : 0;
  }
  // Jobs with RoPE, learning rate `rate`, and seeds from 0 on.
  static std::vector<NewJob> Jobs(int count, double rate) {
    std::vector<NewJob> jobs;
    for (int seed = 0; seed < count; ++seed) jobs.push_back(MakeJob("even_pairs", "rope", false, rate, static_cast<uint32_t>(seed)));
    return jobs;
  }

  TestStore test_;
  bool gave_up_ = false;  // The last search.
};

TEST_F(ApartTest, FromNothingItIsTheFirstInLine) {
  const std::vector<int64_t> nums = test_.AddSweep("one", Jobs(3, 0.1));
  EXPECT_EQ(First({}), nums[0]);
  EXPECT_EQ(First({}, 2), 0);
}

TEST_F(ApartTest, FromASweepItIsAJobThatTheSweepDoesNotHave) {
  const std::vector<int64_t> one = test_.AddSweep("one", Jobs(3, 0.1));
  EXPECT_EQ(First({.sweeps = {1}}), 0);
  std::vector<NewJob> shared = Jobs(3, 0.1);
  shared.push_back(MakeJob("even_pairs", "rope", false, 0.2, 0));
  const std::vector<int64_t> two = test_.AddSweep("two", shared);
  EXPECT_EQ(First({.sweeps = {1}}), two[3]);
  EXPECT_EQ(First({.sweeps = {2}}), 0) << "it has those of the first sweep, too";
}

TEST_F(ApartTest, PassesOverALargeSweep) {
  test_.AddSweep("large", Jobs(5000, 0.1));
  EXPECT_EQ(First({.sweeps = {1}}), 0);
  const std::vector<int64_t> small = test_.AddSweep("small", Jobs(2, 0.2));
  EXPECT_EQ(First({.sweeps = {1}}), small[0]);
  EXPECT_EQ(First({.sweeps = {1, 2}}), 0);
}

TEST_F(ApartTest, PassesOverOneThatBeganWithAnOlderOnesJobsAndEndsWithThem) {
  const std::vector<NewJob> pilot = Jobs(2, 0.1);
  const std::vector<int64_t> old = test_.AddSweep("pilot", pilot);
  std::vector<NewJob> large = Jobs(3000, 0.2);
  large.insert(large.begin(), pilot[0]);
  large.push_back(pilot[1]);
  test_.AddSweep("large", large);
  const std::vector<int64_t> small = test_.AddSweep("small", Jobs(2, 0.3));
  EXPECT_EQ(First({.sweeps = {2}}), small[0]);
  EXPECT_EQ(First({.sweeps = {1}}), old[1] + 1) << "the others of the large one";
}

TEST_F(ApartTest, FindsWhatCameWhileALargeSweepWasWritten) {
  // As slices write it: the first 3,000 jobs, then another sweep's, then the rest.
  const std::vector<NewJob> all = Jobs(6000, 0.1);
  std::vector<int64_t> nums, small;
  ASSERT_OK(test_.Write([&](sql::Transaction& tx) -> absl::Status {
    ASSIGN_OR_RETURN(const InsertedJobs first, InsertJobs(tx, std::span(all).first(3000), {.wanted = true}));
    nums = first.nums;
    ASSIGN_OR_RETURN(const InsertedJobs between, InsertJobs(tx, Jobs(2, 0.2), {.wanted = true}));
    small = between.nums;
    ASSIGN_OR_RETURN(const InsertedJobs rest, InsertJobs(tx, std::span(all).subspan(3000), {.wanted = true}));
    nums.insert(nums.end(), rest.nums.begin(), rest.nums.end());
    ASSIGN_OR_RETURN(const int64_t large, InsertSweep(tx, {.id = Sha256Of("l"), .name = "large", .spec = "l", .submitted_at = At(0), .jobs = 6000}));
    RETURN_IF_ERROR(AddSweepJobs(tx, large, nums, {}));
    ASSIGN_OR_RETURN(const int64_t other, InsertSweep(tx, {.id = Sha256Of("s"), .name = "small", .spec = "s", .submitted_at = At(1), .jobs = 2}));
    return AddSweepJobs(tx, other, small, {});
  }));
  EXPECT_EQ(First({.sweeps = {1}}), small[0]);
}

TEST_F(ApartTest, LooksAtEveryPriority) {
  const std::vector<int64_t> low = test_.AddSweep("low", Jobs(2, 0.1), 1);
  test_.AddSweep("high", Jobs(50, 0.2), 7);
  const std::vector<int64_t> lower = test_.AddSweep("lower", Jobs(2, 0.3), -3);
  EXPECT_EQ(First({.sweeps = {2}}), low[0]);
  EXPECT_EQ(First({.sweeps = {1, 2}}), lower[0]);
}

TEST_F(ApartTest, FromPackKeysItIsAnotherPackAndFromJobsAnotherJob) {
  std::vector<NewJob> jobs = Jobs(3, 0.1);
  jobs.push_back(MakeJob("even_pairs", "rope", true, 0.1, 0));  // The same requirement.
  const std::vector<int64_t> nums = test_.AddSweep("one", jobs);
  ASSERT_OK_AND_ASSIGN(const std::set<int64_t> keys, PackKeysOf(test_.db(), {nums[0], nums[2]}));
  EXPECT_EQ(keys.size(), 1u);
  EXPECT_EQ(First({.pack_keys = keys}), nums[3]);
  EXPECT_EQ(First({.jobs = {nums[0]}}), nums[1]);
  EXPECT_EQ(First({.jobs = {nums[0], nums[1], nums[2], nums[3]}}), 0);
}

TEST_F(ApartTest, GivesUpAfterAThousandJobsOfOneKey) {
  std::vector<NewJob> jobs = Jobs(1000, 0.1);
  jobs.push_back(MakeJob("even_pairs", "rope", true, 0.1, 0));
  const std::vector<int64_t> nums = test_.AddSweep("one", jobs);
  ASSERT_OK_AND_ASSIGN(const std::set<int64_t> keys, PackKeysOf(test_.db(), {nums[0]}));
  EXPECT_EQ(First({.pack_keys = keys}), 0);
  EXPECT_TRUE(gave_up_);
  EXPECT_EQ(First({.jobs = {nums[0]}}), nums[1]);
  EXPECT_FALSE(gave_up_);
  EXPECT_EQ(First({.sweeps = {1}}), 0);
  EXPECT_FALSE(gave_up_) << "it has seen all";
}

TEST_F(ApartTest, APackHasOnlyWhatIsApartFromTheFirstOnAndOfItsPriority) {
  const std::vector<int64_t> one = test_.AddSweep("one", Jobs(2, 0.1));
  const std::vector<int64_t> two = test_.AddSweep("two", Jobs(2, 0.2));
  const std::vector<int64_t> three = test_.AddSweep("three", Jobs(2, 0.3));
  test_.AddSweep("four", Jobs(2, 0.4), 5);
  const auto pack = [&](int limit, const Apart& from) {
    std::vector<int64_t> nums;
    const LeaseGroup group = *NextGroupApart(test_.db(), 1, from)->group;
    const absl::StatusOr<std::vector<JobRow>> jobs = JobsOfGroupApart(test_.db(), group, limit, from);
    EXPECT_OK(jobs);
    for (const JobRow& job : *jobs) nums.push_back(job.num);
    return nums;
  };
  EXPECT_THAT(pack(9, {.sweeps = {1, 4}}), ElementsAre(two[0], two[1], three[0], three[1]));
  EXPECT_THAT(pack(3, {.sweeps = {1, 4}}), ElementsAre(two[0], two[1], three[0]));
  EXPECT_THAT(pack(9, {.sweeps = {2, 4}}), ElementsAre(one[0], one[1], three[0], three[1]));
  EXPECT_THAT(pack(9, {.sweeps = {4}, .jobs = {one[0], two[1]}}), ElementsAre(one[1], two[0], three[0], three[1]));
}

TEST_F(ApartTest, KnowsTheSweepsOfJobs) {
  const std::vector<int64_t> one = test_.AddSweep("one", Jobs(2, 0.1));
  const std::vector<int64_t> two = test_.AddSweep("two", Jobs(3, 0.1));
  EXPECT_THAT(*SweepsWithAll(test_.db(), {one[0], one[1]}), ElementsAre(1, 2));
  EXPECT_THAT(*SweepsWantingAny(test_.db(), {one[0], two[2]}), ElementsAre(1, 2));
  EXPECT_THAT(*SweepsWithAll(test_.db(), {one[0], two[2]}), ElementsAre(2));
  EXPECT_THAT(*SweepsWantingAny(test_.db(), {}), IsEmpty());
  EXPECT_THAT(*SweepsWithAll(test_.db(), {}), IsEmpty());
  EXPECT_THAT(*LiveElseAll(test_.db(), {1, 2, 3}), ElementsAre(1, 2));
  ASSERT_OK(test_.Write([](sql::Transaction& tx) { return SetSweepState(tx, 1, SweepState::kCancelled); }));
  EXPECT_THAT(*LiveElseAll(test_.db(), {1, 2}), ElementsAre(2));
}

TEST_F(ApartTest, WhatASweepHasGivenUpIsNoneOfItsJobs) {
  const std::vector<int64_t> one = test_.AddSweep("one", Jobs(100, 0.1));
  test_.AddSweep("two", {Jobs(100, 0.1)[1], Jobs(100, 0.1)[60]});
  EXPECT_EQ(First({.sweeps = {1}}), 0);
  ASSERT_OK(test_.db().Run("INSERT INTO given_up(sweep, job) VALUES (1, ?)", one[60]));
  EXPECT_EQ(First({.sweeps = {1}}), one[60]) << "behind jobs that are passed over";
  EXPECT_TRUE(*IsApart(test_.db(), one[60], {.sweeps = {1}}));
  EXPECT_EQ(First({.sweeps = {1, 2}}), 0);
  EXPECT_THAT(*SweepsWithAll(test_.db(), {one[1], one[60]}), ElementsAre(1, 2));
  EXPECT_THAT(*SweepsWantingAll(test_.db(), {one[1], one[60]}), ElementsAre(2));
  EXPECT_THAT(*SweepsWantingAny(test_.db(), {one[60]}), ElementsAre(2));
  ASSERT_OK(test_.db().Run("INSERT INTO given_up(sweep, job) VALUES (2, ?)", one[60]));
  EXPECT_THAT(*SweepsWantingAny(test_.db(), {one[60]}), ElementsAre(1, 2)) << "none wants it";
}

TEST_F(ApartTest, AJobIsApartFromWhatItHasNoPartIn) {
  const std::vector<int64_t> one = test_.AddSweep("one", Jobs(2, 0.1));
  test_.AddSweep("two", {MakeJob("even_pairs", "alibi", false, 0.1, 0)});
  const std::set<int64_t> keys = *PackKeysOf(test_.db(), {one[0]});
  EXPECT_TRUE(*IsApart(test_.db(), one[0], {}));
  EXPECT_TRUE(*IsApart(test_.db(), one[0], {.sweeps = {2}, .jobs = {one[1]}}));
  EXPECT_FALSE(*IsApart(test_.db(), one[0], {.sweeps = {1}}));
  EXPECT_FALSE(*IsApart(test_.db(), one[0], {.pack_keys = keys}));
  EXPECT_FALSE(*IsApart(test_.db(), one[0], {.jobs = {one[0]}}));
}

}  // namespace
}  // namespace longreach::store
