// Jobs of two sweeps in pairs: which are, and what their differences say.
#include "client/commands/paired_values.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace longreach::client {
namespace {

struct Place {
  std::string task = "even_pairs";
  std::string encoding = "rope";
  double learning_rate = 1e-3;
  int seed = 0;
  std::string system = {};
};

v1::Job JobAt(const Place& place) {
  v1::Job job;
  job.set_task(place.task);
  job.set_encoding(place.encoding);
  job.set_learning_rate(place.learning_rate);
  job.set_seed(place.seed);
  if (!place.system.empty()) job.add_systems(place.system);
  return job;
}

class PairedValuesTest : public ::testing::Test {
 protected:
  void Add(const Place& place, double first, double second) {
    values_.Add(PairedValues::kFirst, JobAt(place), first);
    values_.Add(PairedValues::kSecond, JobAt(place), second);
  }

  PairedValues values_;
};

TEST_F(PairedValuesTest, DifferencesAreOfPairs) {
  for (int seed = 0; seed < 3; ++seed) Add({.seed = seed}, 10.0 * seed, 10.0 * seed + seed + 1);

  const std::vector<PairedGroup> groups = values_.Groups({});

  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].pairs, 3);
  EXPECT_DOUBLE_EQ(groups[0].first, 10);
  EXPECT_DOUBLE_EQ(groups[0].second, 12);
  EXPECT_DOUBLE_EQ(groups[0].difference, 2);
  // Of 1, 2 and 3: the deviation is 1, and the quantile of Student's distribution with two degrees of freedom 4.302653.
  ASSERT_TRUE(groups[0].half_width.has_value());
  EXPECT_NEAR(*groups[0].half_width, 4.302653 / std::sqrt(3.0), 1e-6);
}

TEST_F(PairedValuesTest, OnePairHasNoInterval) {
  Add({}, 0.5, 0.75);
  EXPECT_FALSE(values_.Groups({})[0].half_width.has_value());
  EXPECT_EQ(values_.Groups({})[0].difference, 0.25);
}

TEST_F(PairedValuesTest, PairsThatDifferAlikeHaveAnIntervalOfNoWidth) {
  for (int seed = 0; seed < 3; ++seed) Add({.seed = seed}, seed, seed + 0.5);
  EXPECT_EQ(values_.Groups({})[0].half_width, 0);
}

TEST_F(PairedValuesTest, GroupsAreInTheOrderOfTheirNumbers) {
  for (const double rate : {1e-3, 1e-5, 3e-4}) {
    for (const char* task : {"parity_check", "even_pairs"}) Add({.task = task, .learning_rate = rate}, rate, 2 * rate);
  }

  std::vector<std::vector<std::string>> values;
  for (const PairedGroup& group : values_.Groups({"learning_rate", "task"})) {
    values.push_back(group.values);
    EXPECT_EQ(group.pairs, 1);
  }

  EXPECT_EQ(values, (std::vector<std::vector<std::string>>{{"1e-05", "even_pairs"},
                                                           {"1e-05", "parity_check"},
                                                           {"0.0003", "even_pairs"},
                                                           {"0.0003", "parity_check"},
                                                           {"0.001", "even_pairs"},
                                                           {"0.001", "parity_check"}}));
}

TEST_F(PairedValuesTest, WhatHasNoPartnerIsCountedAndLeftOut) {
  Add({.seed = 0}, 1, 2);
  values_.Add(PairedValues::kFirst, JobAt({.seed = 1}), 100);
  values_.Add(PairedValues::kSecond, JobAt({.seed = 2}), 100);
  values_.Add(PairedValues::kSecond, JobAt({.seed = 3}), 100);
  values_.Add(PairedValues::kSecond, JobAt({.seed = 1}), std::nullopt);  // It diverged: so the other's is alone.

  EXPECT_EQ(values_.Groups({})[0].pairs, 1);
  EXPECT_EQ(values_.Groups({})[0].difference, 1);
  EXPECT_EQ(values_.Alone(PairedValues::kFirst), 1);
  EXPECT_EQ(values_.Alone(PairedValues::kSecond), 2);
  EXPECT_EQ(values_.Diverged(PairedValues::kFirst), 0);
  EXPECT_EQ(values_.Diverged(PairedValues::kSecond), 1);
  EXPECT_TRUE(values_.Differing().empty());
}

TEST_F(PairedValuesTest, AnAxisOfOneValueEachIsWhatIsCompared) {
  for (int seed = 0; seed < 2; ++seed) {
    values_.Add(PairedValues::kFirst, JobAt({.encoding = "rope", .seed = seed, .system = "small"}), 1);
    values_.Add(PairedValues::kSecond, JobAt({.encoding = "rope:randomized", .seed = seed, .system = "large"}), 3);
  }

  EXPECT_EQ(values_.Differing(), (std::vector<std::string_view>{"system", "encoding"}));
  EXPECT_EQ(values_.Varying(), std::vector<std::string_view>{"seed"});
  ASSERT_EQ(values_.Groups({"encoding"}).size(), 1u);
  EXPECT_EQ(values_.Groups({"encoding"})[0].pairs, 2);
  EXPECT_EQ(values_.Groups({"encoding"})[0].difference, 2);
}

TEST_F(PairedValuesTest, AnAxisOfSeveralValuesMustAgree) {
  values_.Add(PairedValues::kFirst, JobAt({.encoding = "rope"}), 1);
  values_.Add(PairedValues::kFirst, JobAt({.encoding = "none"}), 1);
  values_.Add(PairedValues::kSecond, JobAt({.encoding = "alibi"}), 3);

  EXPECT_TRUE(values_.Differing().empty());
  EXPECT_TRUE(values_.Groups({}).empty());
}

TEST_F(PairedValuesTest, WithoutJobsThereIsNothing) {
  EXPECT_TRUE(values_.Groups({}).empty());
  EXPECT_TRUE(values_.Groups({"task"}).empty());
  EXPECT_TRUE(values_.Varying().empty());
  EXPECT_EQ(values_.Alone(PairedValues::kFirst), 0);
}

}  // namespace
}  // namespace longreach::client
