// Cells that are the best of several values of an axis, each over the jobs that have it: the mean over seeds at the best learning rate.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scheduler/service/results_table_support.h"

namespace longreach::service {
namespace {

using store::State;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TableJob Tuned(std::string task, double learning_rate, uint32_t seed, std::optional<double> value) {
  return {std::move(task), "rope", learning_rate, seed, State::kSucceeded, false, value, "1.0"};
}

v1::TableSpec BestOf(std::vector<std::string> axes, std::string metric = "accuracy") {
  v1::TableSpec spec;
  spec.set_metric(std::move(metric));
  for (std::string& axis : axes) spec.add_best_of(std::move(axis));
  return spec;
}

// One lucky seed at 1e-3, a better mean at 1e-4.
void AddLuckyAndGood(ResultsTable& table, std::string task) {
  const std::vector<double> lucky = {0.9, 0.3, 0.3}, good = {0.6, 0.7, 0.8};
  for (uint32_t seed = 0; seed < 3; ++seed) {
    table.Add(Tuned(task, 1e-3, seed, lucky[seed]));
    table.Add(Tuned(task, 1e-4, seed, good[seed]));
  }
}

std::string Refusal(const v1::TableSpec& spec) { return std::string(ResultsTable::Of(spec, "accuracy").status().message()); }

TEST(BestOfTest, ACellIsTheMeanOverSeedsAtTheBestLearningRate) {
  ResultsTable table = Make(BestOf({"learning_rate"}));
  AddLuckyAndGood(table, "even_pairs");

  const v1::Table built = table.Build();

  const v1::TableCell& cell = CellAt(built, "even_pairs", "rope");
  EXPECT_DOUBLE_EQ(cell.measured(), 70);
  EXPECT_DOUBLE_EQ(cell.median(), 70);
  EXPECT_NEAR(cell.deviation(), 10, 1e-9);
  EXPECT_EQ(cell.measured_jobs(), 3);
  EXPECT_EQ(cell.jobs(), 6);
  EXPECT_EQ(cell.best_of(), "0.0001");
  EXPECT_THAT(built.notes(), ElementsAre("cells are the mean at the best learning_rate, chosen by these values themselves: 0.0001 in 1 cell"));
}

TEST(BestOfTest, WithoutItACellIsOverAllItsJobs) {
  v1::TableSpec spec = BestOf({});
  ResultsTable table = Make(spec);
  AddLuckyAndGood(table, "even_pairs");
  EXPECT_DOUBLE_EQ(CellAt(table.Build(), "even_pairs", "rope").measured(), 90);
  spec.set_aggregate("mean");
  ResultsTable means = Make(spec);
  AddLuckyAndGood(means, "even_pairs");
  const v1::TableCell cell = CellAt(means.Build(), "even_pairs", "rope");
  EXPECT_DOUBLE_EQ(cell.measured(), 60);
  EXPECT_EQ(cell.measured_jobs(), 6);
  EXPECT_EQ(cell.best_of(), "");
}

TEST(BestOfTest, LowerIsBetterWhereTheMetricSaysSo) {
  ResultsTable table = Make(BestOf({"learning_rate"}, "cross_entropy"));
  table.Add(Tuned("even_pairs", 1e-3, 0, 2));
  table.Add(Tuned("even_pairs", 1e-4, 0, 5));
  const v1::TableCell cell = CellAt(table.Build(), "even_pairs", "rope");
  EXPECT_DOUBLE_EQ(cell.measured(), 2);
  EXPECT_EQ(cell.best_of(), "0.001");
}

TEST(BestOfTest, TheAggregateThatIsAskedForIsCompared) {
  v1::TableSpec spec = BestOf({"learning_rate"});
  spec.set_aggregate("max");
  ResultsTable table = Make(spec);
  AddLuckyAndGood(table, "even_pairs");
  EXPECT_EQ(CellAt(table.Build(), "even_pairs", "rope").best_of(), "0.001");
}

TEST(BestOfTest, SeveralAxesAreChosenTogether) {
  v1::TableSpec spec = BestOf({"learning_rate", "encoding"});
  spec.set_columns("seed");
  ResultsTable table = Make(spec);
  TableJob job = Tuned("even_pairs", 1e-3, 0, 0.5);
  table.Add(job);
  job.encoding = "alibi";
  job.value = 0.6;
  table.Add(job);
  const v1::Table built = table.Build();
  EXPECT_EQ(CellAt(built, "even_pairs", "0").best_of(), "0.001,alibi");
  EXPECT_THAT(built.notes(), Not(Contains(HasSubstr("tells them apart")))) << "a cell is of one encoding";
}

// By size: as a text 0.0001 comes before 1e-05.
TEST(BestOfTest, OfEqualValuesTheFirstIsNamedAndSaidToBeOneOfThem) {
  ResultsTable table = Make(BestOf({"learning_rate"}));
  for (const double rate : {1e-3, 1e-4, 1e-5}) table.Add(Tuned("even_pairs", rate, 0, rate == 1e-3 ? 0.25 : 0.5));
  for (const double rate : {1e-4, 1e-5}) table.Add(Tuned("parity_check", rate, 0, rate));

  const v1::Table built = table.Build();

  EXPECT_EQ(CellAt(built, "even_pairs", "rope").best_of(), "1e-05");
  EXPECT_EQ(CellAt(built, "parity_check", "rope").best_of(), "0.0001");
  EXPECT_THAT(built.notes(), Contains(::testing::AllOf(HasSubstr("1 cell is equally good at several values of learning_rate, of which the first is shown: "), HasSubstr("(2 values)"))));
}

TEST(BestOfTest, OfEqualCombinationsTheFirstAxisCountsFirst) {
  ResultsTable table = Make(BestOf({"learning_rate", "seed"}));
  for (const double rate : {1e-4, 1e-5}) {
    for (const uint32_t seed : {2u, 10u}) table.Add(Tuned("even_pairs", rate, seed, rate == 1e-5 && seed == 2 ? 0.25 : 0.5));
  }
  EXPECT_EQ(CellAt(table.Build(), "even_pairs", "rope").best_of(), "1e-05,10");
}

TEST(BestOfTest, AChoiceOverUnlikeNumbersOfJobsIsNoted) {
  ResultsTable table = Make(BestOf({"learning_rate"}));
  AddLuckyAndGood(table, "even_pairs");
  TableJob diverged = Tuned("even_pairs", 1e-4, 3, std::nullopt);
  diverged.diverged = true;
  table.Add(diverged);
  table.Add(Tuned("even_pairs", 1e-3, 3, 0.3));
  table.Add(Tuned("parity_check", 1e-3, 0, 0.5));

  const v1::Table built = table.Build();

  EXPECT_EQ(CellAt(built, "parity_check", "rope").best_of(), "0.001");
  EXPECT_THAT(built.notes(), Contains(HasSubstr("1 cell compares values of learning_rate over unlike numbers of jobs")));
  EXPECT_THAT(built.notes(), Contains(HasSubstr("(3 to 4)")));
  EXPECT_THAT(built.notes(), Contains("of learning_rate cells have 1 to 2 to choose from: the best of more is better by chance alone"));
  EXPECT_THAT(built.notes(), Contains(HasSubstr("0.0001 in 1 cell, 0.001 in 1 cell")));
}

TEST(BestOfTest, WhatHasNoValueIsNoChoice) {
  ResultsTable table = Make(BestOf({"learning_rate"}));
  TableJob failed = Tuned("even_pairs", 1e-3, 0, std::nullopt);
  failed.state = State::kFailed;
  table.Add(failed);
  const v1::Table built = table.Build();
  EXPECT_FALSE(CellAt(built, "even_pairs", "rope").has_measured());
  EXPECT_EQ(CellAt(built, "even_pairs", "rope").failed(), 1);
  EXPECT_THAT(built.notes(), ElementsAre("1 job failed and counts in no cell"));
}

TEST(BestOfTest, AnExtraColumnIsChosenFromToo) {
  v1::TableSpec spec = BestOf({"learning_rate"});
  v1::ExtraColumn& extra = *spec.add_extra_columns();
  extra.set_key("pretrained");
  extra.set_input("weights");
  ResultsTable table = Make(spec);
  AddLuckyAndGood(table, "even_pairs");
  table.AddExtra(0, Tuned("even_pairs", 1e-3, 0, 0.2));
  table.AddExtra(0, Tuned("even_pairs", 1e-4, 0, 0.1));
  EXPECT_DOUBLE_EQ(CellAt(table.Build(), "even_pairs", "pretrained").measured(), 20);
}

TEST(BestOfTest, SettingsAreReadForIt) {
  EXPECT_THAT(Make(BestOf({"training.batch_size"})).SettingAxes(), ElementsAre("training.batch_size"));
}

TEST(BestOfTest, WhatCannotBeChosenIsRefused) {
  EXPECT_THAT(Refusal(BestOf({"encoding"})), HasSubstr("table.best_of: 'encoding' is among the rows or the columns"));
  EXPECT_THAT(Refusal(BestOf({"length"})), HasSubstr("table.best_of: 'length' is not of jobs"));
  EXPECT_THAT(Refusal(BestOf({"head"})), HasSubstr("table.best_of: 'head' is not of jobs"));
  EXPECT_THAT(Refusal(BestOf({"learning_rat"})), HasSubstr("table.best_of"));
  EXPECT_THAT(Refusal(BestOf({"seed", "seed"})), HasSubstr("'seed' is there twice"));
  EXPECT_THAT(Refusal(BestOf({"learning_rate"}, "attention_entropy")), HasSubstr("of attention_entropy neither more nor less is better"));
}

}  // namespace
}  // namespace longreach::service
