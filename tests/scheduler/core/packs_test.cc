#include "scheduler/core/packs.h"

#include <limits>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/core/deadlines.h"

namespace longreach::core {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

v1::Abilities Able() {
  v1::Abilities abilities;
  abilities.add_experiments("algorithmic");
  v1::Ability* task = abilities.add_tasks();
  task->set_name("even_pairs");
  task->set_revision(1);
  v1::Ability* encoding = abilities.add_encodings();
  encoding->set_name("rope");
  encoding->set_revision(2);
  abilities.set_model_revision(1);
  v1::DataSet* data = abilities.add_data_sets();
  data->set_name("enwik8");
  data->set_sha256("aaaabbbbcccc");
  return abilities;
}

Needs Work() {
  return {.experiment = "algorithmic", .task = "even_pairs", .encoding = "rope", .encoding_revision = 2};
}

TEST(AbilitiesTest, AWorkerNeedsEverythingThatTheWorkAsksFor) {
  EXPECT_EQ(WhyUnable(Work(), Able()), "");

  Needs needs = Work();
  needs.experiment = "language";
  EXPECT_EQ(WhyUnable(needs, Able()), "has no experiment kind 'language'");
  needs = Work();
  needs.task = "parity_check";
  EXPECT_EQ(WhyUnable(needs, Able()), "has no task 'parity_check'");
  needs = Work();
  needs.encoding_revision = 3;
  EXPECT_EQ(WhyUnable(needs, Able()), "has revision 2 of encoding 'rope', and revision 3 is needed");
  needs = Work();
  needs.encoding_revision = 1;
  EXPECT_THAT(WhyUnable(needs, Able()), HasSubstr("revision 1 is needed"));
  needs = Work();
  needs.model_revision = 2;
  EXPECT_THAT(WhyUnable(needs, Able()), HasSubstr("revision 2 is needed"));
}

TEST(AbilitiesTest, AWorkerOfAnotherBuildIsNamedWithItsBuild) {
  v1::Abilities abilities = Able();
  abilities.set_build("0.0.9 (abc)");
  Needs needs = Work();
  needs.experiment = "language";
  EXPECT_EQ(WhyUnable(needs, abilities), "has no experiment kind 'language'; its build is 0.0.9 (abc)");
  needs = Work();
  needs.data_sets = {{.name = "novels"}};
  EXPECT_THAT(WhyUnable(needs, abilities), ::testing::Not(HasSubstr("build")));
}

TEST(AbilitiesTest, ADataSetCountsOnlyWithTheBytesThatTheStoreKnows) {
  Needs needs = Work();
  needs.data_sets = {{.name = "enwik8", .sha256 = "aaaabbbbcccc"}};
  EXPECT_EQ(WhyUnable(needs, Able()), "");
  needs.data_sets[0].sha256 = "ddddeeeeffff";
  EXPECT_EQ(WhyUnable(needs, Able()), "has other bytes under the data set 'enwik8': aaaabbbb instead of ddddeeee; import the same files there, or those under another name");
  needs.data_sets[0].name = "pg19";
  EXPECT_EQ(WhyUnable(needs, Able()),
            "has no data set 'pg19'; 'longreach data import' or 'longreach data ensure' on its machine brings it");
}

TEST(AbilitiesTest, DataAloneAreLackingWhereTheBuildCouldDoIt) {
  Needs needs = Work();
  EXPECT_FALSE(LacksOnlyData(needs, Able())) << "nothing is";
  needs.data_sets = {{.name = "enwik8", .sha256 = "ddddeeeeffff"}};
  EXPECT_TRUE(LacksOnlyData(needs, Able())) << "other bytes";
  needs.data_sets = {{.name = "pg19"}};
  EXPECT_TRUE(LacksOnlyData(needs, Able()));
  needs.experiment = "language";
  EXPECT_FALSE(LacksOnlyData(needs, Able()));
}

TEST(AbilitiesTest, WhatAWorkerHasFoundDamagedIsToldWithItsReason) {
  Needs needs = Work();
  needs.data_sets = {{.name = "enwik8", .sha256 = "aaaabbbbcccc"}, {.name = "novels"}, {.name = "code"}};
  v1::Abilities abilities = Able();
  for (const char* name : {"novels", "poems", "enwik8"}) {
    v1::DamagedDataSet& damaged = *abilities.add_damaged_data_sets();
    damaged.set_name(name);
    damaged.set_reason(std::string(name) + "/corpus.bin: its bytes have changed");
  }

  EXPECT_EQ(WhyUnable(needs, abilities),
            "has no data set 'code'; 'longreach data import' or 'longreach data ensure' on its machine brings it; it has the data set 'novels' damaged: "
            "novels/corpus.bin: its bytes have changed")
      << "one that is announced too is there";
  EXPECT_TRUE(LacksOnlyData(needs, abilities));
  needs.data_sets = {{.name = "novels"}};
  EXPECT_EQ(WhyUnable(needs, abilities), "has the data set 'novels' damaged: novels/corpus.bin: its bytes have changed");
}

TEST(AbilitiesTest, AllDataSetsOfAJobAreNeeded) {
  Needs needs = Work();
  needs.data_sets = {{.name = "enwik8", .sha256 = "aaaabbbbcccc"}, {.name = "tinyllama"}, {.name = "code", .sha256 = "111122223333"}, {.name = "tinyllama"}};
  EXPECT_EQ(WhyUnable(needs, Able()),
            "has no data sets 'tinyllama', 'code'; 'longreach data import' or 'longreach data ensure' on its machine brings them")
      << "all at once";
  v1::Abilities abilities = Able();
  v1::DataSet& model = *abilities.add_data_sets();
  model.set_name("tinyllama");
  model.set_sha256("ddddeeeeffff");
  EXPECT_EQ(WhyUnable(needs, abilities),
            "has no data set 'code'; 'longreach data import' or 'longreach data ensure' on its machine brings it")
      << "a name that is nobody's yet becomes that of these bytes";
  needs.data_sets[1].sha256 = needs.data_sets[3].sha256 = "111122223333";
  EXPECT_EQ(WhyUnable(needs, abilities),
            "has no data set 'code'; 'longreach data import' or 'longreach data ensure' on its machine brings it; it has "
            "other bytes under the data set 'tinyllama': ddddeeee instead of 11112222; import the same files there, or those under another name");
  needs.data_sets[1].sha256 = needs.data_sets[3].sha256 = "ddddeeeeffff";
  EXPECT_THAT(WhyUnable(needs, abilities), HasSubstr("has no data set 'code'"));
  v1::DataSet& code = *abilities.add_data_sets();
  code.set_name("code");
  code.set_sha256("111122223333");
  EXPECT_EQ(WhyUnable(needs, abilities), "");
}

TEST(NextInLineTest, GoesByPriorityThenBySubmission) {
  EXPECT_FALSE(NextInLine({}).has_value());
  const GroupHead groups[] = {{.priority = 0, .first = 1}, {.priority = 5, .first = 9}, {.priority = 5, .first = 3}, {.priority = -1, .first = 0}};
  EXPECT_EQ(NextInLine(groups), 2u);
  EXPECT_TRUE(ComesBefore(groups[2], groups[1]));
  EXPECT_FALSE(ComesBefore(groups[1], groups[2]));
  EXPECT_FALSE(ComesBefore(groups[1], groups[1]));
}

TEST(LimitsTest, WhatAWorkerClaimsIsBounded) {
  v1::Abilities abilities;
  EXPECT_EQ(PackLimit(abilities), 1);
  abilities.set_pack_limit(9);
  EXPECT_EQ(PackLimit(abilities), 9);
  abilities.set_pack_limit(std::numeric_limits<int>::max());
  EXPECT_EQ(PackLimit(abilities), kMaxPackLimit);

  EXPECT_EQ(NewLeases(2, 0), 2);
  EXPECT_EQ(NewLeases(1'000'000, 0), kMaxSlots);
  EXPECT_EQ(NewLeases(1'000'000, 6, kMaxNoopSlots), 250);
  EXPECT_EQ(NewLeases(2, 1), 1);
  EXPECT_EQ(NewLeases(1, 3), 0);
  EXPECT_EQ(NewLeases(-4, 0), 0);
  EXPECT_EQ(NewLeases(std::numeric_limits<int>::max(), 0), kMaxSlots);
}

TEST(SplitTest, HalvesLeaseApartAndNoOtherAttemptHasTheirNumbers) {
  EXPECT_THAT(SplitGroups(Attempt{5}, 4), ElementsAre(10, 10, 11, 11));
  EXPECT_THAT(SplitGroups(Attempt{5}, 3), ElementsAre(10, 10, 11));
  EXPECT_THAT(SplitGroups(Attempt{5}, 1), ElementsAre(10));
  EXPECT_THAT(SplitGroups(Attempt{6}, 2), ElementsAre(12, 13));
}

TEST(SplitTest, WhatHasBegunTogetherStaysTogetherAndIsNoSplit) {
  EXPECT_EQ(GroupOfBegun(Attempt{5}, 0), -5);
  EXPECT_EQ(GroupOfBegun(Attempt{6}, -5), -6) << "of a pack of which a part was leased";
}

TEST(SplitTest, PartsOfAHalfThatHaveBegunStaySplitAndApart) {
  const std::vector<int64_t> halves = SplitGroups(Attempt{5}, 4);

  const int64_t first = GroupOfBegun(Attempt{6}, halves[0]), second = GroupOfBegun(Attempt{7}, halves[1]);

  EXPECT_EQ(halves[0], halves[1]);
  EXPECT_NE(first, second);
  EXPECT_NE(first, GroupOfBegun(Attempt{6}, 0)) << "it is one of a split still";
  EXPECT_GT(first, 0);
  for (const int64_t group : halves) EXPECT_TRUE(first != group && second != group);
}

TEST(SplitTest, TheCulpritIsFoundInLogarithmicallyManyAttempts) {
  // Of 16 members number 11 crashes its pack, whatever pack it is in.
  std::vector<std::vector<int>> packs = {{}};
  for (int i = 0; i < 16; ++i) packs[0].push_back(i);
  std::set<int> finished;
  int attempt = 0;
  int failed = 0;
  while (!packs.empty()) {
    const std::vector<int> pack = packs.back();
    packs.pop_back();
    ++attempt;
    if (std::ranges::find(pack, 11) == pack.end()) {
      finished.insert(pack.begin(), pack.end());
      continue;
    }
    ++failed;
    if (pack.size() == 1) break;
    const std::vector<int64_t> groups = SplitGroups(Attempt{attempt}, pack.size());
    std::map<int64_t, std::vector<int>> halves;
    for (size_t i = 0; i < pack.size(); ++i) halves[groups[i]].push_back(pack[i]);
    EXPECT_EQ(halves.size(), 2u);
    for (auto& [group, half] : halves) packs.push_back(half);
  }
  for (const auto& pack : packs) finished.insert(pack.begin(), pack.end());
  EXPECT_EQ(failed, 5);
  EXPECT_EQ(finished.size(), 15u);
  EXPECT_FALSE(finished.contains(11));
}

TEST(PacksOfTest, RoundsUp) {
  EXPECT_EQ(PacksOf(0, 9), 0);
  EXPECT_EQ(PacksOf(9, 9), 1);
  EXPECT_EQ(PacksOf(10, 9), 2);
}

TEST(DeadlinesTest, TheEarliestIsNextAndMovingReplaces) {
  const auto at = [](int s) { return SteadyTime(std::chrono::seconds(s)); };
  Deadlines<int> deadlines;
  EXPECT_FALSE(deadlines.Next().has_value());
  deadlines.Set(1, at(10));
  deadlines.Set(2, at(5));
  deadlines.Set(3, at(7));
  EXPECT_EQ(deadlines.Next(), at(5));

  deadlines.Set(2, at(20));
  deadlines.Remove(3);
  deadlines.Remove(99);

  EXPECT_EQ(deadlines.Next(), at(10));
  EXPECT_EQ(deadlines.size(), 2u);
  EXPECT_THAT(deadlines.Due(at(9)), ElementsAre());
  EXPECT_THAT(deadlines.Due(at(20)), ElementsAre(1, 2));
  EXPECT_EQ(deadlines.Of(2), at(20));
  EXPECT_FALSE(deadlines.Of(3).has_value());
}

TEST(PacksTest, ALeaseAndAReportFitIntoAMessageEach) {
  v1::JobSpec spec;
  spec.set_experiment("algorithmic");
  const auto test_at = [&spec](int lengths) {
    spec.mutable_evaluation()->clear_lengths();
    for (int length = 41; length < 41 + lengths; ++length) spec.mutable_evaluation()->add_lengths(length);
  };
  const auto report_bytes = [&spec](int members) {
    v1::AttemptReport report;
    for (int member = 0; member < members; ++member) {
      v1::MemberResult& result = *report.add_results();
      result.set_job(std::string(64, 'f'));
      for (int length = 0; length <= spec.evaluation().lengths_size(); ++length) {
        for (const char* metric : {"accuracy", "perplexity"}) {
          v1::Measurement& measured = *result.add_measurements();
          measured.set_metric(metric);
          measured.set_length(1000 + length);
          measured.set_value(0.123);
        }
      }
    }
    return report.ByteSizeLong();
  };
  const auto members = [&spec] { return MembersOfMessage(spec.ByteSizeLong(), 2.0 * (1 + spec.evaluation().lengths_size())); };
  constexpr size_t kMessage = 16 << 20;
  test_at(460);  // The papers' tests: packs as large as any that is measured to be worth it.
  EXPECT_GE(members(), 128);
  EXPECT_LT(report_bytes(members()), kMessage);
  test_at(1000);
  EXPECT_LT(members(), 128);
  EXPECT_LT(report_bytes(members()), kMessage);
  test_at(1);
  EXPECT_GE(members(), kMaxPackLimit);
  for (int length = 1; length <= 100'000; ++length) spec.mutable_training()->add_lengths(length);
  EXPECT_LT(static_cast<size_t>(members()) * spec.ByteSizeLong(), kMessage);
}

}  // namespace
}  // namespace longreach::core
