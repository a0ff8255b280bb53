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
    first_.Add(JobAt(place), first);
    second_.Add(JobAt(place), second);
  }
  PairedValues Values() const { return PairedValues(first_, second_); }

  SweepValues first_;
  SweepValues second_;
};

TEST_F(PairedValuesTest, DifferencesAreOfPairs) {
  for (int seed = 0; seed < 3; ++seed) Add({.seed = seed}, 10.0 * seed, 10.0 * seed + seed + 1);

  const std::vector<PairedGroup> groups = Values().Groups({});

  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].pairs, 3);
  EXPECT_DOUBLE_EQ(groups[0].first, 10);
  EXPECT_DOUBLE_EQ(groups[0].second, 12);
  EXPECT_DOUBLE_EQ(groups[0].difference, 2);
  // Of 1, 2 and 3: the deviation is 1, and the quantile of Student's distribution with two degrees of freedom 4.302653.
  ASSERT_TRUE(groups[0].half_width.has_value());
  EXPECT_NEAR(*groups[0].half_width, 4.302653 / std::sqrt(3.0), 1e-6);
  // That of scipy's ttest_rel; and with four pairs the quantile is 3.182446, so that the interval is 1.59 to each side.
  ASSERT_TRUE(groups[0].p.has_value());
  EXPECT_NEAR(*groups[0].p, 0.07417990022744854, 1e-12);
  EXPECT_EQ(groups[0].needed, 4);
}

TEST_F(PairedValuesTest, OnePairHasNoInterval) {
  Add({}, 0.5, 0.75);
  EXPECT_FALSE(Values().Groups({})[0].half_width.has_value());
  EXPECT_FALSE(Values().Groups({})[0].p.has_value());
  EXPECT_FALSE(Values().Groups({})[0].needed.has_value());
  EXPECT_EQ(Values().Groups({})[0].difference, 0.25);
}

// As much as of one pair is known of their spread.
TEST_F(PairedValuesTest, PairsThatDifferAlikeHaveNoInterval) {
  for (int seed = 0; seed < 3; ++seed) Add({.seed = seed}, seed, seed + 0.5);
  EXPECT_FALSE(Values().Groups({})[0].half_width.has_value());
  EXPECT_EQ(Values().Groups({})[0].difference, 0.5);
  EXPECT_FALSE(Values().Groups({})[0].p.has_value());
  EXPECT_FALSE(Values().Groups({})[0].needed.has_value());
}

TEST_F(PairedValuesTest, RoundingIsNoDifferenceBetweenPairs) {
  Add({.seed = 0}, 0.1, 0.2);
  Add({.seed = 1}, 0.7, 0.8);
  ASSERT_NE(0.2 - 0.1, 0.8 - 0.7);
  EXPECT_FALSE(Values().Groups({})[0].half_width.has_value());
  EXPECT_FALSE(Values().Groups({})[0].p.has_value()) << "what rounding leaves is no spread";
}

TEST_F(PairedValuesTest, RowsThatAreShownTogetherAreCorrectedTogether) {
  for (int seed = 0; seed < 3; ++seed) {
    Add({.task = "bucket_sort", .seed = seed}, 0, 10 + 0.01 * seed);
    Add({.task = "even_pairs", .seed = seed}, 0, seed + 1);
    Add({.task = "parity_check", .seed = seed}, seed, seed + 0.5);
  }
  std::vector<PairedGroup> groups = Values().Groups({"task"});
  ASSERT_EQ(groups.size(), 3u);

  CorrectByHolm(groups);

  EXPECT_DOUBLE_EQ(groups[0].p_holm.value_or(0), 2 * groups[0].p.value_or(1));
  EXPECT_DOUBLE_EQ(groups[1].p_holm.value_or(0), groups[1].p.value_or(1));
  EXPECT_FALSE(groups[2].p_holm.has_value()) << "all of its differences are the same";
}

TEST_F(PairedValuesTest, GroupsAreInTheOrderOfTheirNumbers) {
  for (const double rate : {1e-3, 1e-5, 3e-4}) {
    for (const char* task : {"parity_check", "even_pairs"}) Add({.task = task, .learning_rate = rate}, rate, 2 * rate);
  }

  std::vector<std::vector<std::string>> values;
  for (const PairedGroup& group : Values().Groups({"learning_rate", "task"})) {
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

TEST_F(PairedValuesTest, PairsOfAGroupNeedNotBeNeighbours) {
  for (const char* task : {"even_pairs", "parity_check"}) {
    for (int seed = 0; seed < 3; ++seed) Add({.task = task, .seed = seed}, seed, *task == 'e' ? seed + 1.0 : seed + 3.0);
  }

  const std::vector<PairedGroup> groups = Values().Groups({"seed"});

  ASSERT_EQ(groups.size(), 3u);
  for (int seed = 0; seed < 3; ++seed) {
    EXPECT_EQ(groups[static_cast<size_t>(seed)].values, std::vector{std::to_string(seed)});
    EXPECT_EQ(groups[static_cast<size_t>(seed)].pairs, 2);
    EXPECT_EQ(groups[static_cast<size_t>(seed)].first, seed);
    EXPECT_EQ(groups[static_cast<size_t>(seed)].difference, 2);
  }
}

TEST_F(PairedValuesTest, AMeanIsAddedUpInTheOrderOfKeysWhicheverCameFirst) {
  const double kValues[] = {1e16, 1, -1e16, 1};  // A 1 beside the first is lost.
  for (const int seed : {3, 1, 2, 0}) Add({.seed = seed}, kValues[seed], 0);
  EXPECT_EQ(Values().Groups({})[0].first, 0.25);
}

TEST_F(PairedValuesTest, SystemsAreInTheOrderOfTheNumbersInTheirNames) {
  for (const char* system : {"batch_size-16", "batch_size-8", "10", "9"}) Add({.system = system}, 1, 2);

  std::vector<std::string> systems;
  for (const PairedGroup& group : Values().Groups({"system"})) systems.push_back(group.values[0]);

  EXPECT_EQ(systems, (std::vector<std::string>{"9", "10", "batch_size-8", "batch_size-16"}));
}

TEST_F(PairedValuesTest, WhatHasNoPartnerIsCountedAndLeftOut) {
  Add({.seed = 0}, 1, 2);
  first_.Add(JobAt({.seed = 1}), 100);
  second_.Add(JobAt({.seed = 2}), 100);
  second_.Add(JobAt({.seed = 3}), 100);
  second_.Add(JobAt({.seed = 1}), std::nullopt);  // It diverged: so the other's is alone.

  EXPECT_EQ(Values().Groups({})[0].pairs, 1);
  EXPECT_EQ(Values().Groups({})[0].difference, 1);
  EXPECT_EQ(first_.values().size() - Values().partnered(0), 1u);
  EXPECT_EQ(second_.values().size() - Values().partnered(1), 2u);
  EXPECT_EQ(first_.diverged(), 0);
  EXPECT_EQ(second_.diverged(), 1);
  EXPECT_TRUE(Values().differing().empty());
}

TEST_F(PairedValuesTest, AJobThatBothHaveIsKnownByItsId) {
  const auto add = [](SweepValues& side, int seed, const std::string& id) {
    v1::Job job = JobAt({.seed = seed});
    job.set_id(id);
    side.Add(job, 0.5);
  };
  add(first_, 0, "aa");
  add(second_, 0, "aa");
  add(first_, 1, "bb");
  add(second_, 1, "cc");
  Add({.seed = 2}, 0.5, 0.5);  // Without ids nobody knows.
  EXPECT_EQ(Values().pairs(), 3u);
  EXPECT_EQ(Values().of_one_job(), 1u);
}

TEST_F(PairedValuesTest, AnAxisOfOneValueEachIsWhatIsCompared) {
  for (int seed = 0; seed < 2; ++seed) {
    first_.Add(JobAt({.encoding = "rope", .seed = seed, .system = "small"}), 1);
    second_.Add(JobAt({.encoding = "rope:randomized", .seed = seed, .system = "large"}), 3);
  }

  EXPECT_EQ(Values().differing(), (std::vector<std::string_view>{"system", "encoding"}));
  EXPECT_EQ(Values().Varying(), std::vector<std::string_view>{"seed"});
  ASSERT_EQ(Values().Groups({"encoding"}).size(), 1u);
  EXPECT_EQ(Values().Groups({"encoding"})[0].pairs, 2);
  EXPECT_EQ(Values().Groups({"encoding"})[0].difference, 2);
}

TEST_F(PairedValuesTest, PartnersOfOneSweepNeedNotHaveInCommonWhatIsSaidToDiffer) {
  for (int seed = 0; seed < 2; ++seed) {
    first_.Add(JobAt({.encoding = "none", .seed = seed}), 1);
    second_.Add(JobAt({.encoding = "rope", .seed = seed}), 3);
  }
  second_.Add(JobAt({.encoding = "rope", .seed = 2}), 3);

  EXPECT_EQ(PairedValues::OfOneSweep(first_, second_).pairs(), 0u);
  const PairedValues values = PairedValues::OfOneSweep(first_, second_, {"encoding"});
  EXPECT_EQ(values.pairs(), 2u);
  EXPECT_EQ(values.partnered(1), 2u);
  EXPECT_EQ(values.differing(), std::vector<std::string_view>{"encoding"});
  EXPECT_EQ(values.Varying(), std::vector<std::string_view>{"seed"});
}

TEST_F(PairedValuesTest, ABaselineIsBesideEachOfSeveral) {
  for (int seed = 0; seed < 2; ++seed) {
    first_.Add(JobAt({.seed = seed}), seed);
    second_.Add(JobAt({.seed = seed, .system = "small"}), seed + 1);
    second_.Add(JobAt({.seed = seed, .system = "large"}), seed + 2);
  }
  second_.Add(JobAt({.seed = 7, .system = "large"}), 1);

  EXPECT_EQ(Values().differing(), std::vector<std::string_view>{"system"});
  EXPECT_EQ(Values().pairs(), 4u);
  EXPECT_EQ(Values().partnered(0), 2u);
  EXPECT_EQ(Values().partnered(1), 4u) << "seed 7 has no partner";
  const std::vector<PairedGroup> groups = Values().Groups({"system"});
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].values, std::vector<std::string>{"large"});
  EXPECT_EQ(groups[0].difference, 2);
  EXPECT_EQ(groups[1].values, std::vector<std::string>{"small"});
  EXPECT_EQ(groups[1].difference, 1);

  const PairedValues turned(second_, first_);
  EXPECT_EQ(turned.Groups({"system"})[0].difference, -2);
  EXPECT_EQ(turned.partnered(0), 4u);
  EXPECT_EQ(turned.partnered(1), 2u);
}

// Expected numbers of draws are those of scipy's ttest_1samp of their means, and where their sizes differ those of differences_test.cc.
TEST_F(PairedValuesTest, AJobOfABaselineCountsOnceHoweverManyStandBesideIt) {
  const double kBaseline[] = {0, 1, 2};
  for (int seed = 0; seed < 3; ++seed) {
    first_.Add(JobAt({.encoding = "none", .seed = seed}), kBaseline[seed]);
    second_.Add(JobAt({.encoding = "rope", .seed = seed}), 3);
    second_.Add(JobAt({.encoding = "alibi", .seed = seed}), seed == 1 ? 5 : 4);
  }

  const PairedGroup all = Values().Groups({})[0];

  // Differences 3 and 4, 2 and 4, 1 and 2.
  EXPECT_EQ(all.pairs, 6);
  EXPECT_EQ(all.draws, 3);
  EXPECT_FALSE(all.of_one_seed);
  EXPECT_NEAR(all.difference, 8. / 3, 1e-14);
  EXPECT_NEAR(all.half_width.value_or(0), 2.585572506271131, 1e-12);
  EXPECT_NEAR(all.p.value_or(0), 0.04721386531933816, 1e-12);
  EXPECT_FALSE(all.needed.has_value()) << "the interval leaves 0";
  // A row of one encoding has each job once.
  const PairedGroup rope = Values().Groups({"encoding"})[1];
  EXPECT_EQ(rope.draws, 3);
  EXPECT_NEAR(rope.half_width.value_or(0), 4.302653 / std::sqrt(3.0), 1e-6);
}

TEST_F(PairedValuesTest, WhatBeginsWithTheSameWeightsCountsOnce) {
  for (int seed = 0; seed < 2; ++seed) {
    for (const double rate : {1e-3, 3e-4}) {
      for (const char* encoding : {"alibi", "rope", "sin_cos"}) Add({.encoding = encoding, .learning_rate = rate, .seed = seed}, 1, 2 + 2 * seed);
    }
  }
  const PairedGroup all = Values().Groups({})[0];
  EXPECT_EQ(all.pairs, 12);
  EXPECT_EQ(all.draws, 2);
  // Of 1 and 3: the deviation is the root of 2, and the quantile of one degree of freedom 12.706205.
  EXPECT_NEAR(all.half_width.value_or(0), 12.706205, 1e-6);
  // With five seeds it is 1.76 to each side of 2, with four 2.25; each seed has six pairs.
  EXPECT_EQ(all.needed, 30);
}

TEST_F(PairedValuesTest, SeedsWithFewerPairsAreDrawsToo) {
  const std::vector<std::vector<double>> differences = {{1, 2, 3, 5}, {2}, {6, 7}};
  const char* const kTasks[] = {"bucket_sort", "even_pairs", "parity_check", "reverse_string"};
  for (size_t seed = 0; seed < 3; ++seed) {
    for (size_t i = 0; i < differences[seed].size(); ++i) Add({.task = kTasks[i], .seed = static_cast<int>(seed)}, 0, differences[seed][i]);
  }
  const PairedGroup all = Values().Groups({})[0];
  EXPECT_EQ(all.draws, 3);
  EXPECT_NEAR(all.difference, 26. / 7, 1e-14) << "of pairs";
  EXPECT_NEAR(all.half_width.value_or(0), 7.412006933520341, 1e-11);
}

TEST_F(PairedValuesTest, OfOneSeedTasksAreDraws) {
  for (const char* encoding : {"alibi", "rope"}) {
    Add({.task = "bucket_sort", .encoding = encoding}, 0, 1);
    Add({.task = "even_pairs", .encoding = encoding}, 0, 2);
    Add({.task = "parity_check", .encoding = encoding}, 0, 3);
  }
  const PairedGroup all = Values().Groups({})[0];
  EXPECT_EQ(all.draws, 3);
  EXPECT_TRUE(all.of_one_seed);
  EXPECT_NEAR(all.half_width.value_or(0), 4.302653 / std::sqrt(3.0), 1e-6);
  const PairedGroup task = Values().Groups({"task"})[0];
  EXPECT_EQ(task.pairs, 2);
  EXPECT_EQ(task.draws, 1);
  EXPECT_FALSE(task.half_width.has_value());
  EXPECT_FALSE(task.p.has_value());
  EXPECT_FALSE(task.needed.has_value());
}

TEST_F(PairedValuesTest, WhereSeedsAreComparedTasksAreDraws) {
  for (const char* task : {"bucket_sort", "even_pairs"}) {
    first_.Add(JobAt({.task = task, .seed = 0}), 1);
    second_.Add(JobAt({.task = task, .seed = 1}), *task == 'b' ? 2 : 3);
  }
  const PairedGroup all = Values().Groups({})[0];
  EXPECT_EQ(all.draws, 2);
  EXPECT_FALSE(all.of_one_seed);
  EXPECT_TRUE(all.half_width.has_value());
}

TEST_F(PairedValuesTest, NeededAreSoManyPairsOfEachDraw) {
  for (int seed = 0; seed < 3; ++seed) {
    for (const char* task : {"bucket_sort", "even_pairs"}) Add({.task = task, .seed = seed}, 0, seed + 1);
  }
  // Of 1, 2 and 3 four seeds are needed: see DifferencesAreOfPairs.
  EXPECT_EQ(Values().Groups({"task"})[0].needed, 4);
  EXPECT_EQ(Values().Groups({})[0].needed, 8);
}

TEST_F(PairedValuesTest, BeyondAThousandPairsThereIsNoNumberOfThem) {
  for (int seed = 0; seed < 3; ++seed) {
    for (int i = 0; i < 300; ++i) Add({.learning_rate = 1e-3 * (i + 1), .seed = seed}, 0, seed + 1);
  }
  EXPECT_EQ(Values().Groups({})[0].needed, 1001) << "four seeds of three hundred pairs each";
}

TEST_F(PairedValuesTest, ABaselineIsOfSystemsAndEncodingsAlone) {
  first_.Add(JobAt({.encoding = "none"}), 1);
  second_.Add(JobAt({.encoding = "rope"}), 2);
  second_.Add(JobAt({.encoding = "alibi"}), 3);
  EXPECT_EQ(Values().pairs(), 2u);
  EXPECT_EQ(BaselineSide(first_.axes(), second_.axes(), "encoding"), 0u);
  EXPECT_EQ(BaselineSide(second_.axes(), first_.axes(), "encoding"), 1u);

  // Three jobs of other seeds are no three pairs with one.
  SweepValues of_zero, of_others;
  of_zero.Add(JobAt({.seed = 0}), 1);
  for (int seed = 1; seed < 4; ++seed) of_others.Add(JobAt({.seed = seed}), 2);
  EXPECT_EQ(PairedValues(of_zero, of_others).pairs(), 0u);
  EXPECT_TRUE(AreDisjoint(of_zero.axes(), of_others.axes(), "seed"));
}

TEST_F(PairedValuesTest, AnAxisOfSeveralValuesMustAgree) {
  for (const char* encoding : {"rope", "none"}) first_.Add(JobAt({.encoding = encoding}), 1);
  for (const char* encoding : {"rope", "alibi"}) second_.Add(JobAt({.encoding = encoding}), 3);
  second_.Add(JobAt({.task = "parity_check"}), 3);

  EXPECT_TRUE(Values().differing().empty());
  EXPECT_EQ(Values().pairs(), 1u);
  EXPECT_FALSE(AreDisjoint(first_.axes(), second_.axes(), "encoding"));
  EXPECT_FALSE(AreDisjoint(AxisValues(), second_.axes(), "encoding"));
}

TEST_F(PairedValuesTest, WhatASideHasSeveralOfTellsWhichPairsTheseAre) {
  Add({.seed = 0}, 1, 2);
  Add({.seed = 1}, 1, 3);
  EXPECT_EQ(Values().Telling(), std::vector<std::string_view>{"seed"});
  first_.Add(JobAt({.task = "parity_check"}), 3);
  EXPECT_EQ(Values().Varying(), std::vector<std::string_view>{"seed"});
  EXPECT_EQ(Values().Telling(), (std::vector<std::string_view>{"task", "seed"}));
}

TEST_F(PairedValuesTest, WhatIsComparedTellsNothingOfPairsButBesideABaseline) {
  first_.Add(JobAt({.encoding = "none"}), 1);
  second_.Add(JobAt({.encoding = "rope"}), 2);
  EXPECT_TRUE(Values().Telling().empty()) << "there is no other encoding";
  second_.Add(JobAt({.encoding = "alibi", .seed = 1}), 3);
  EXPECT_EQ(Values().pairs(), 1u);
  EXPECT_EQ(Values().Telling(), (std::vector<std::string_view>{"encoding", "seed"})) << "the pair is with rope, of seed 0";
}

TEST_F(PairedValuesTest, WithoutJobsThereIsNothing) {
  EXPECT_TRUE(Values().Groups({}).empty());
  EXPECT_TRUE(Values().Groups({"task"}).empty());
  EXPECT_TRUE(Values().Varying().empty());
  EXPECT_TRUE(Values().Telling().empty());
  EXPECT_EQ(first_.values().size() - Values().partnered(0), 0u);
}

v1::SweepSpec SweepOf(const std::vector<int>& seeds, const std::vector<std::string>& encodings = {"rope"}) {
  v1::SweepSpec spec;
  spec.mutable_axes()->add_task("even_pairs");
  for (const std::string& encoding : encodings) spec.mutable_axes()->add_encoding(encoding);
  spec.mutable_axes()->add_learning_rate(1e-3);
  for (const int seed : seeds) spec.mutable_axes()->add_seed(static_cast<uint32_t>(seed));
  return spec;
}

// Of two sweeps of the same seeds, one job each is done: they are no pair because both are the only ones.
TEST(SweepAxesTest, JobsThatAreNotDoneCountToo) {
  SweepValues first(SweepOf({0, 1, 2}), {}), second(SweepOf({0, 1, 2}), {});
  first.Add(JobAt({.seed = 0}), 1);
  second.Add(JobAt({.seed = 1}), 2);
  EXPECT_TRUE(PairedValues(first, second).differing().empty());
  EXPECT_EQ(PairedValues(first, second).pairs(), 0u);

  // Where each has one seed alone, that is what is compared.
  SweepValues of_zero(SweepOf({0}), {}), of_one(SweepOf({1}), {});
  of_zero.Add(JobAt({.seed = 0}), 1);
  of_one.Add(JobAt({.seed = 1}), 2);
  EXPECT_EQ(PairedValues(of_zero, of_one).differing(), std::vector<std::string_view>{"seed"});
  EXPECT_EQ(PairedValues(of_zero, of_one).pairs(), 1u);
}

TEST(SweepAxesTest, OnlyWhatIsAskedForCounts) {
  SweepValues first(SweepOf({0, 1}, {"rope", "alibi"}), {"encoding=rope", "learning_rate=0.001", "seed=0"});
  EXPECT_EQ(first.axes(), (AxisValues{std::set<std::string>{""}, {"even_pairs"}, {"rope"}, {"0.001"}, {"0"}}));
}

TEST(SweepAxesTest, ASystemHasItsOwnAxes) {
  v1::SweepSpec spec = SweepOf({0, 1});
  for (const char* name : {"plain", "long"}) spec.add_systems()->set_name(name);
  spec.mutable_systems(1)->mutable_with()->mutable_axes()->add_encoding("alibi");
  EXPECT_EQ(SweepValues(spec, {}).axes(), (AxisValues{std::set<std::string>{"long", "plain"}, {"even_pairs"}, {"alibi", "rope"}, {"0.001"}, {"0", "1"}}));
  // One whose jobs are all left out is none.
  EXPECT_EQ(SweepValues(spec, {"encoding=alibi"}).axes(), (AxisValues{std::set<std::string>{"long"}, {"even_pairs"}, {"alibi"}, {"0.001"}, {"0", "1"}}));
  // Of settings the scheduler knows.
  EXPECT_EQ(SweepValues(spec, {"model.layers=2"}).axes(), AxisValues());
  EXPECT_EQ(SweepValues(spec, {"system=long"}).axes(), (AxisValues{std::set<std::string>{"long"}, {"even_pairs"}, {"alibi"}, {"0.001"}, {"0", "1"}}));
}

}  // namespace
}  // namespace longreach::client
