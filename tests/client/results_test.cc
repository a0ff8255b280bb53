// What `results` asks for and says of it; how tables look is in results_table_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "client/spec/spec_reader.h"
#include "tests/client/support.h"

namespace longreach::client {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class ResultsTest : public WithFakeScheduler {};

TEST_F(ResultsTest, ResultsAsksForTheTableOfTheSweepsPreset) {
  Run({"results", "last"});
  const v1::TableSpec preset = scheduler_.table_request.table();
  EXPECT_EQ(preset.published(), "table_b1");
  EXPECT_EQ(preset.aggregate(), "max");
  EXPECT_EQ(preset.row_order_size(), 15);
  EXPECT_EQ(preset.published_gain(), 7.4);
  EXPECT_EQ(scheduler_.table_request.sweep(), std::string(64, 'a'));

  scheduler_.sweep.set_name("mine");
  Run({"results", "last"});
  EXPECT_EQ(scheduler_.table_request.table().rows(), "task");
  EXPECT_EQ(scheduler_.table_request.table().published(), "");
  EXPECT_EQ(scheduler_.table_request.table().title(),
            "mine: accuracy (%) over all test lengths, max over learning_rate and seed");
}

TEST_F(ResultsTest, ResultsShowTheBestOfAMetricWhicheverWayIsBetter) {
  scheduler_.sweep.set_name("mine");
  // Of the sweep's main metric, as the scheduler says.
  scheduler_.table.set_metric("cross_entropy");
  Run({"results", "last"});
  EXPECT_EQ(scheduler_.table_request.table().metric(), "cross_entropy");
  EXPECT_EQ(scheduler_.table_request.table().aggregate(), "min");
  EXPECT_THAT(scheduler_.table_request.table().title(), HasSubstr(", min over learning_rate and seed"));
  Run({"results", "last", "--metric", "accuracy"});
  EXPECT_EQ(scheduler_.table_request.table().aggregate(), "max");

  // The preset says "max", of another metric.
  scheduler_.sweep.set_name("table-b1");
  Run({"results", "last", "--metric", "loss"});
  EXPECT_EQ(scheduler_.table_request.table().aggregate(), "min");
  Run({"results", "last", "--metric", "loss", "--aggregate", "max"});
  EXPECT_EQ(scheduler_.table_request.table().aggregate(), "max");
}

TEST_F(ResultsTest, SystemsAreNeverOneCellUnasked) {
  scheduler_.sweep.set_name("mine");
  v1::SweepSpec& spec = *scheduler_.sweep.mutable_spec();
  spec.add_systems()->set_name("plain");
  spec.add_systems()->set_name("scaled");
  Run({"results", "last"});
  EXPECT_EQ(scheduler_.table_request.table().rows(), "system");
  EXPECT_EQ(scheduler_.table_request.table().columns(), "task");
  Run({"results", "last", "--rows", "task", "--columns", "encoding"});
  EXPECT_THAT(scheduler_.table_request.table().title(), HasSubstr("max over learning_rate and seed and system"));
}

TEST_F(ResultsTest, TheBestOfAnotherSweepIsOfTheTablesOwnAggregate) {
  Run({"results"});
  EXPECT_EQ(scheduler_.table_request.table().extra_columns_size(), 1);
  Run({"results", "--aggregate", "mean"});
  EXPECT_EQ(scheduler_.table_request.table().extra_columns_size(), 0);
}

TEST_F(ResultsTest, ASpreadIsRefusedWhereItSaysNothing) {
  const Outcome outcome = Run({"results", "--spread"});
  EXPECT_EQ(outcome.code, kUsage);
  EXPECT_THAT(outcome.err, HasSubstr("--spread: this table has the max of its jobs"));
  EXPECT_EQ(Run({"results", "--spread", "--aggregate", "median"}).code, kDone);
}

TEST_F(ResultsTest, AMetricOfWhichNeitherEndIsBetterHasItsMean) {
  Run({"results", "--metric", "best_attention_scale"});
  EXPECT_EQ(scheduler_.table_request.table().aggregate(), "mean");
}

TEST_F(ResultsTest, PublishedValuesAreNeverPutBesideOthers) {
  Run({"results", "last", "--aggregate", "mean"});
  EXPECT_EQ(scheduler_.table_request.table().published(), "");
  EXPECT_FALSE(scheduler_.table_request.table().has_published_gain());
  EXPECT_EQ(scheduler_.table_request.table().row_order_size(), 15);

  Run({"results", "last", "--rows", "learning_rate"});
  EXPECT_EQ(scheduler_.table_request.table().row_order_size(), 0);
  EXPECT_EQ(scheduler_.table_request.table().extra_columns_size(), 0);

  Run({"results", "last", "--aggregate", "max"});
  EXPECT_EQ(scheduler_.table_request.table().published(), "table_b1") << "the same as the preset's";

  const Outcome outcome = Run({"results", "last", "--aggregate", "mean", "--published"});
  EXPECT_EQ(outcome.code, kUsage);
  EXPECT_THAT(outcome.err, HasSubstr("the published table holds other values"));
}

TEST_F(ResultsTest, PublishedValuesOfOtherSettingsAreSaidToBeSo) {
  scheduler_.table.mutable_cells(0)->set_published(90);
  *scheduler_.sweep.mutable_spec() = LoadSweep("table-b1")->spec;
  EXPECT_THAT(Run({"results", "last", "--published"}).out, Not(HasSubstr("other settings")));
  v1::SweepSpec& spec = *scheduler_.sweep.mutable_spec();
  spec.mutable_axes()->clear_task();
  spec.mutable_axes()->add_task("even_pairs");
  EXPECT_THAT(Run({"results", "last", "--published"}).out, Not(HasSubstr("other settings"))) << "rows left out";

  spec.mutable_training()->set_steps(2);
  spec.mutable_axes()->clear_seed();
  spec.mutable_axes()->add_seed(7);
  EXPECT_THAT(Run({"results", "last", "--published"}).out,
              HasSubstr("published values are of other settings: this sweep differs from the preset 'table-b1' in seed, training.steps"));
  // Nothing published, nothing to say.
  scheduler_.table.mutable_cells(0)->clear_published();
  EXPECT_THAT(Run({"results", "last", "--published"}).out, Not(HasSubstr("other settings")));

  const std::string name = "nope-table-2";
  scheduler_.sweep.set_name(name);
  scheduler_.table.mutable_cells(0)->set_published(90);
  spec = LoadSweep(name)->spec;
  EXPECT_THAT(Run({"results", "last", "--published"}).out, Not(HasSubstr("other settings")));
  // As it comes back: what the preset spells out is the default.
  spec.mutable_evaluation()->clear_longbench_window();
  spec.mutable_training()->clear_steps();
  EXPECT_THAT(Run({"results", "last", "--published"}).out, Not(HasSubstr("other settings")));
  spec.mutable_evaluation()->add_longbench_tasks("lcc");
  spec.mutable_systems(1)->mutable_with()->set_data("other");
  spec.mutable_systems()->DeleteSubrange(2, 1);
  const std::string of_system = "systems." + spec.systems(1).name() + ".with.data";
  EXPECT_THAT(Run({"results", "last", "--published"}).out, HasSubstr("in evaluation.longbench_tasks, " + of_system));
}

TEST_F(ResultsTest, CsvOfPartsSaysWhichSweepARowIsOf) {
  scheduler_.sweep.set_name("nope-table-1");
  EXPECT_THAT(Run({"results", "nope-tinyllama", "-o", "csv"}).out, StartsWith("sweep,system,length,"));
  EXPECT_THAT(Run({"results", "nope-tinyllama", "-o", "csv"}).out, HasSubstr("\nnope-table-1,even_pairs,"));
  EXPECT_THAT(Run({"results", "nope-table-1", "-o", "csv"}).out, StartsWith("system,length,"));
}

TEST_F(ResultsTest, ALengthIsRefusedWhereLengthsAreAnAxis) {
  EXPECT_THAT(Run({"results", "last", "--columns", "length", "--length", "100"}).err, HasSubstr("--length 100: the test lengths are the table's columns"));
  const TempFolder folder;
  const std::string file = (folder.path() / "a.vl.json").string();
  EXPECT_THAT(Run({"plot", "last", "--length", "100", "--file", file}).err, HasSubstr("--length 100: the test lengths are an axis"));
  EXPECT_THAT(Run({"plot", "last", "--x-length", "100", "--file", file}).err, HasSubstr("--x-length: only with a metric as --x"));
}

}  // namespace
}  // namespace longreach::client
