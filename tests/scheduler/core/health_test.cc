#include "scheduler/core/health.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace longreach::core {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Sweeps = std::set<int64_t>;

Health After(std::initializer_list<std::vector<int64_t>> attempts) {
  Health health;
  for (const std::vector<int64_t>& jobs : attempts) health = AfterFailure(health, jobs);
  return health;
}

// Sweeps that have given nothing up.
Verdict VerdictOn(const Health& health, const std::vector<Sweeps>& sweeps) {
  std::vector<SweepsOfAttempt> of_attempts;
  for (const Sweeps& one : sweeps) of_attempts.push_back({.having = one, .wanting = one});
  return VerdictOf(health, of_attempts);
}

// All jobs are of sweep 1, those from 100 on of sweep 2 instead.
Verdict VerdictOn(const Health& health) {
  std::vector<Sweeps> sweeps;
  for (const FailedAttempt& failed : health.failed) sweeps.push_back({failed.jobs.front() < 100 ? 1 : 2});
  return VerdictOn(health, sweeps);
}

TEST(HealthTest, ThreeFailuresOfDifferentJobsInARowPutAWorkerAside) {
  EXPECT_EQ(VerdictOn(After({{1, 2}, {3}})).standing, Standing::kGood);
  EXPECT_EQ(VerdictOn(After({{1, 2}, {3}, {100}})).standing, Standing::kAside);
  EXPECT_EQ(VerdictOn(After({{1, 2}, {100}, {3}, {4}})).standing, Standing::kAside) << "two of them are of no one sweep";
}

TEST(HealthTest, IfTheyAreOfOneSweepItMayBeTheSweeps) {
  const Verdict verdict = VerdictOn(After({{1, 2}, {3}, {4}}));
  EXPECT_EQ(verdict.standing, Standing::kAsideForSweeps);
  EXPECT_THAT(verdict.sweeps, ElementsAre(1));
  EXPECT_EQ(VerdictOn(After({{1, 2}, {3}, {4}, {100}})).standing, Standing::kAside) << "another one fails there as well";
}

TEST(HealthTest, TwoSweepsThatHaveTheFailedJobsAreBothMeant) {
  const Health health = After({{1}, {2}, {3}});
  EXPECT_THAT(VerdictOn(health, {{1, 2}, {1, 2}, {1, 2, 3}}).sweeps, ElementsAre(1, 2));
  EXPECT_THAT(VerdictOn(health, {{1, 2}, {2}, {2, 3}}).sweeps, ElementsAre(2));
  EXPECT_EQ(VerdictOn(health, {{1, 2}, {2}, {3}}).standing, Standing::kAside);
}

TEST(HealthTest, JobsThatASweepHasGivenUpDoNotSpeakAgainstItNorAgainstTheMachine) {
  const Health health = After({{1}, {2}, {3}});
  const SweepsOfAttempt of_both{.having = {1, 2}, .wanting = {1, 2}}, given_up{.having = {1, 2}, .wanting = {2}}, by_all{.having = {1, 2}, .wanting = {}};
  EXPECT_THAT(VerdictOf(health, std::vector{of_both, of_both, given_up}).sweeps, ElementsAre(2));
  EXPECT_EQ(VerdictOf(health, std::vector{of_both, given_up, by_all}).standing, Standing::kGood);
  EXPECT_EQ(VerdictOf(health, std::vector{by_all, by_all, by_all}).standing, Standing::kGood);
}

TEST(HealthTest, OneJobThatFailsAgainAndAgainDoesNot) {
  EXPECT_EQ(After({{1}, {1}, {1}, {1}}), After({{1}}));
  Health health = After({{2}, {1}, {2}});
  EXPECT_EQ(health.failed, After({{2}, {1}}).failed);
  health = AfterFailure(AfterSuccess(health, {1, 2}), std::vector<int64_t>{2});
  EXPECT_THAT(health.failed, IsEmpty()) << "its sweep works here: it is the job's own";
}

TEST(HealthTest, OfAFailedPackItsPartsTakeThePlace) {
  EXPECT_EQ(After({{1, 2, 3, 4}, {1, 2}}), After({{1, 2}}));
  EXPECT_EQ(After({{1, 2, 3, 4}, {1, 2}, {3, 4}}), After({{1, 2}, {3, 4}})) << "both halves: two of them";
  EXPECT_EQ(After({{1, 2, 3, 4}, {1, 2}, {1}, {2}}), After({{1}, {2}}));
  EXPECT_EQ(After({{1, 2}, {2, 3}}), After({{1, 2}})) << "no part: the job that they share may be to blame";
  EXPECT_EQ(After({{1, 2}, {1, 2, 3}}), After({{1, 2}}));
  EXPECT_EQ(After({{}}), Health{});
}

TEST(HealthTest, ASuccessClearsWhatIsOfItsSweepAndTheMachine) {
  const Health health = After({{1}, {2}, {100}});
  const Health after = AfterSuccess(health, {1, 2});
  ASSERT_EQ(after.failed.size(), 1u);
  EXPECT_THAT(after.failed[0].jobs, ElementsAre(100));
  EXPECT_TRUE(after.failed[0].before_success);
  EXPECT_EQ(VerdictOn(AfterFailure(AfterFailure(after, std::vector<int64_t>{3}), std::vector<int64_t>{4})).standing, Standing::kGood) << "two in a row";
  EXPECT_THAT(AfterSuccess(health, {1, 2, 100}).failed, IsEmpty());
}

TEST(HealthTest, FailuresOfASweepAddUpAcrossTheSuccessesOfOthers) {
  Health health;
  for (const int64_t job : {1, 2, 3}) {
    EXPECT_EQ(VerdictOn(health).standing, Standing::kGood);
    health = AfterSuccess(AfterFailure(health, std::vector<int64_t>{job}), {});
  }
  EXPECT_EQ(VerdictOn(health).standing, Standing::kAsideForSweeps);
  for (const int64_t job : {100, 101}) health = AfterFailure(health, std::vector<int64_t>{job});
  EXPECT_EQ(VerdictOn(health).standing, Standing::kAsideForSweeps) << "not three in a row yet";
  health = AfterSuccess(health, {100});
  EXPECT_THAT(VerdictOn(health).sweeps, ElementsAre(1));
}

TEST(HealthTest, TheOldestAreForgotten) {
  Health health;
  for (int64_t job = 0; job < 40; ++job) health = AfterSuccess(AfterFailure(health, std::vector<int64_t>{job * 100}), {});
  ASSERT_EQ(health.failed.size(), kFailuresKept);
  EXPECT_THAT(health.failed.back().jobs, ElementsAre(3900));
}

TEST(HealthTest, KnowsWhatFailedAloneWhateverSucceedsThen) {
  const Health health = After({{1, 2}, {7}, {5}, {7}});
  EXPECT_THAT(health.alone, ElementsAre(5, 7));
  EXPECT_THAT(AfterSuccess(health, {5, 7}).alone, ElementsAre(5, 7));
  Health many;
  for (int64_t job = 0; job < 100; ++job) many = AfterFailure(many, std::vector<int64_t>{job});
  ASSERT_EQ(many.alone.size(), kAloneKept);
  EXPECT_EQ(many.alone.front(), 36);
}

TEST(HealthTest, SurvivesItsText) {
  const Health health = After({{1, 2, 3}, {7, 8}});
  EXPECT_EQ(ToText(health), "1,2,3;7,8") << "as stores have it from before";
  EXPECT_EQ(ParseHealth("1,2,3;7,8"), health);
  const Health later = AfterFailure(AfterSuccess(health, {7}), std::vector<int64_t>{9});
  EXPECT_EQ(ToText(later), "9/1,2,3|9");
  EXPECT_EQ(ParseHealth("9/1,2,3|9"), later);
  EXPECT_EQ(ToText(AfterSuccess(later, {1, 9})), "9/");
  EXPECT_EQ(ParseHealth("9/"), AfterSuccess(later, {1, 9}));
  EXPECT_EQ(ToText(AfterSuccess(health, {7})), "1,2,3|");
  EXPECT_EQ(ParseHealth("1,2,3|"), AfterSuccess(health, {7}));
  EXPECT_EQ(ParseHealth(""), Health{});
  EXPECT_EQ(ParseHealth("1,x"), Health{});
  EXPECT_EQ(ParseHealth("1|x"), Health{});
  EXPECT_EQ(ParseHealth("x/1"), Health{});
  EXPECT_EQ(ParseHealth("/1"), Health{});
}

}  // namespace
}  // namespace longreach::core
