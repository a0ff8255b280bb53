#include "client/commands/reached_lengths.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

namespace longreach::client {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr Bound kNineTenths{.value = 0.9, .at_least = true};

Reach ReachTo(int length, int tested_to = 50) { return {.length = length, .tested_from = 10, .tested_to = tested_to}; }

TEST(ReachOfTest, AJobReachesTheLastLengthBeforeTheFirstThatFails) {
  EXPECT_EQ(ReachOf({{10, 1}, {20, 0.95}, {30, 0.5}, {40, 1}, {50, 0.1}}, kNineTenths, 1), ReachTo(20)) << "what is good behind that counts for nothing";
}

TEST(ReachOfTest, OneThatFailsAtTheShortestLengthReachesNone) {
  const Reach none = ReachOf({{10, 0.5}, {50, 1}}, kNineTenths, 1);
  EXPECT_EQ(none, ReachTo(0));
  EXPECT_FALSE(none.ToTheEnd());
}

TEST(ReachOfTest, WhereNoneFailsItIsToTheEndOfTheTests) {
  const Reach all = ReachOf({{10, 1}, {50, 0.9}}, kNineTenths, 1);
  EXPECT_EQ(all, ReachTo(50)) << "the bound itself is within it";
  EXPECT_TRUE(all.ToTheEnd());
  EXPECT_TRUE(ReachOf({{10, 1}}, kNineTenths, 1).ToTheEnd());
}

TEST(ReachOfTest, ABoundMayBeTheMostThatAValueIs) {
  EXPECT_EQ(ReachOf({{10, 2}, {20, 5}, {50, 5.1}}, {.value = 5, .at_least = false}, 1), ReachTo(20));
}

TEST(ReachOfTest, WhatIsNoNumberFailsEitherBound) {
  const double none = std::nan("");
  EXPECT_EQ(ReachOf({{10, 1}, {20, none}, {50, 1}}, kNineTenths, 1), ReachTo(10));
  EXPECT_EQ(ReachOf({{10, 1}, {20, none}, {50, 1}}, {.value = 5, .at_least = false}, 1), ReachTo(10));
  EXPECT_EQ(ReachOf({{10, 1}, {20, std::numeric_limits<double>::infinity()}, {50, 1}}, {.value = 5, .at_least = false}, 1), ReachTo(10));
}

TEST(ReachOfTest, RoundingIsNoFailure) {
  // Three times 0.9, added up and divided by 3, need not be 0.9.
  EXPECT_TRUE(ReachOf({{10, 0.9}, {20, 0.9}, {30, 0.9}, {40, 0.9}, {50, 0.9}}, kNineTenths, 3).ToTheEnd());
  EXPECT_EQ(ReachOf({{10, 0.899999}, {50, 1}}, kNineTenths, 1), ReachTo(0)) << "one output in a million is no rounding";
}

TEST(ReachOfTest, SmoothedALengthCountsWithTheMeanOfItsNeighbours) {
  // Means over three, at the ends over two: 0.9, 0.9, 0.9, 0.6, 0.5.
  const std::map<int, double> dip = {{10, 1}, {20, 0.8}, {30, 0.9}, {40, 1}, {50, 0}};
  EXPECT_EQ(ReachOf(dip, kNineTenths, 1), ReachTo(10));
  EXPECT_EQ(ReachOf(dip, kNineTenths, 3), ReachTo(30));
  // Over more than there are: at the shortest length over itself and all behind it.
  EXPECT_EQ(ReachOf(dip, {.value = 0.74, .at_least = true}, 99), ReachTo(50)) << "the mean of all";
  EXPECT_EQ(ReachOf(dip, {.value = 0.75, .at_least = true}, 99), ReachTo(0));
}

PairKey KeyedBy(const std::string& task, const std::string& rate, const std::string& seed) { return {"", task, "rope", rate, seed}; }

TEST(ReachGroupsTest, HalfIsTheLengthThatAtLeastHalfOfTheJobsReach) {
  const auto half_of = [](const std::vector<int>& lengths) {
    std::vector<KeyedReach> jobs;
    for (const int length : lengths) jobs.push_back({.key = KeyedBy("even_pairs", "0.001", std::to_string(jobs.size())), .reach = ReachTo(length)});
    return ReachGroups(jobs, {}).front().Half().length;
  };
  EXPECT_EQ(half_of({30}), 30);
  EXPECT_EQ(half_of({10, 30}), 30) << "one of two is half of them";
  EXPECT_EQ(half_of({0, 40, 20}), 20);
  EXPECT_EQ(half_of({40, 10, 20, 30}), 30);
}

TEST(ReachGroupsTest, AGroupIsOfTheJobsWithTheSameValuesInTheirOrder) {
  const std::vector<KeyedReach> jobs = {{KeyedBy("parity_check", "0.001", "0"), ReachTo(10)},
                                        {KeyedBy("even_pairs", "0.001", "0"), ReachTo(50)},
                                        {KeyedBy("even_pairs", "0.0003", "1"), ReachTo(0)},
                                        {KeyedBy("even_pairs", "0.001", "1"), ReachTo(20)}};
  const std::vector<ReachGroup> groups = ReachGroups(jobs, {"task", "learning_rate"});
  ASSERT_THAT(groups, SizeIs(3));
  EXPECT_THAT(groups[0].values, ElementsAre("even_pairs", "0.0003")) << "numbers by their size";
  EXPECT_THAT(groups[1].values, ElementsAre("even_pairs", "0.001"));
  EXPECT_THAT(groups[1].jobs, ElementsAre(ReachTo(20), ReachTo(50)));
  EXPECT_EQ(groups[1].All(), ReachTo(20));
  EXPECT_EQ(groups[1].Best(), ReachTo(50));
  EXPECT_EQ(groups[1].ToTheEnd(), 1u);
  EXPECT_THAT(groups[2].values, ElementsAre("parity_check", "0.001"));
  EXPECT_THAT(ReachGroups({}, {"task"}), IsEmpty());
}

TEST(ReachGroupsTest, OfTwoThatGotEquallyFarTheOneThatWasTestedNoFurtherMayBeTheBetterOne) {
  const std::vector<ReachGroup> groups = ReachGroups({{KeyedBy("even_pairs", "0.001", "0"), ReachTo(30, 30)}, {KeyedBy("even_pairs", "0.001", "1"), ReachTo(30, 50)}}, {});
  EXPECT_EQ(groups.front().All(), ReachTo(30, 50)) << "that is its end";
  EXPECT_EQ(groups.front().Best(), ReachTo(30, 30));
}

}  // namespace
}  // namespace longreach::client
