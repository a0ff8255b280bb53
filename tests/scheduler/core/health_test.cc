#include "scheduler/core/health.h"

#include <gtest/gtest.h>

namespace longreach::core {
namespace {

Health After(std::initializer_list<std::vector<int64_t>> attempts) {
  Health health;
  for (const std::vector<int64_t>& jobs : attempts) health = AfterFailure(health, jobs);
  return health;
}

TEST(HealthTest, ThreeFailuresOfDifferentJobsInARowPutAWorkerAside) {
  EXPECT_FALSE(IsPutAside(After({{1, 2}, {3}})));
  EXPECT_TRUE(IsPutAside(After({{1, 2}, {3}, {4}})));
}

TEST(HealthTest, OneJobThatFailsAgainAndAgainDoesNot) {
  EXPECT_FALSE(IsPutAside(After({{1}, {1}, {1}, {1}})));
}

TEST(HealthTest, TheHalvesOfAFailedPackDoNot) {
  EXPECT_FALSE(IsPutAside(After({{1, 2, 3, 4}, {1, 2}, {3, 4}, {1}, {2}})));
}

TEST(HealthTest, AnotherChanceLeavesOneFailureToGo) {
  const Health chance = WithAnotherChance(After({{1, 2}, {3}, {4}, {5}}));
  EXPECT_EQ(chance, After({{4}, {5}}));
  EXPECT_TRUE(IsPutAside(AfterFailure(chance, std::vector<int64_t>{6})));
}

TEST(HealthTest, SurvivesItsText) {
  const Health health = After({{1, 2, 3}, {7}});
  EXPECT_EQ(ToText(health), "1,2,3;7");
  EXPECT_EQ(ParseHealth("1,2,3;7"), health);
  EXPECT_EQ(ParseHealth(""), Health{});
  EXPECT_EQ(ParseHealth("1,x"), Health{});
}

}  // namespace
}  // namespace longreach::core
