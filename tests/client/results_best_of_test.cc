// `results --best-of` and best_of of a table: what the scheduler is asked for, and what the title says of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/client/support.h"

namespace longreach::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Two seeds at two learning rates.
class ResultsBestOfTest : public WithFakeScheduler {
 protected:
  ResultsBestOfTest() {
    scheduler_.sweep.set_name("mine");
    v1::Axes& axes = *scheduler_.sweep.mutable_spec()->mutable_axes();
    for (const int seed : {0, 1}) axes.add_seed(seed);
    for (const double rate : {1e-4, 1e-3}) axes.add_learning_rate(rate);
    scheduler_.table.mutable_cells(0)->set_best_of("0.001");
  }

  v1::TableSpec Asked(std::vector<std::string> options) {
    options.insert(options.begin(), {"results", "last"});
    const Outcome outcome = Run(options);
    EXPECT_EQ(outcome.code, kDone) << outcome.err;
    return scheduler_.table_request.table();
  }
};

TEST_F(ResultsBestOfTest, IsOfMeansUnlessAnotherAggregateIsAskedFor) {
  const v1::TableSpec best = Asked({"--best-of", "learning_rate", "--spread"});
  EXPECT_THAT(best.best_of(), ElementsAre("learning_rate"));
  EXPECT_EQ(best.aggregate(), "mean");
  EXPECT_EQ(best.title(), "mine: accuracy (%) over all test lengths, mean over seeds at the best learning rate");
  EXPECT_EQ(Asked({"--best-of", "learning_rate", "--aggregate", "median", "--spread"}).aggregate(), "median");
  EXPECT_EQ(Asked({"--best-of", "learning_rate", "--aggregate", "max"}).aggregate(), "max");

  const v1::TableSpec of_both = Asked({"--best-of", "learning_rate,seed"});
  EXPECT_THAT(of_both.best_of(), ElementsAre("learning_rate", "seed"));
  EXPECT_EQ(of_both.title(), "mine: accuracy (%) over all test lengths, at the best learning rate and seed");
  EXPECT_THAT(Asked({"--best-of", "model.layers"}).best_of(), ElementsAre("model.layers"));
}

TEST_F(ResultsBestOfTest, TakesThePlaceOfThePresetsMaximum) {
  scheduler_.sweep.set_name("table-b1");
  const v1::TableSpec preset = Asked({});
  EXPECT_EQ(preset.aggregate(), "max");
  EXPECT_EQ(preset.extra_columns_size(), 1);

  const v1::TableSpec best = Asked({"--best-of", "learning_rate", "--spread"});
  EXPECT_EQ(best.aggregate(), "mean");
  EXPECT_EQ(best.title(), "table-b1: accuracy (%) over all test lengths, mean over seeds at the best learning rate");
  EXPECT_EQ(best.published(), "") << "which is of other values";
  EXPECT_THAT(best.extra_columns(), IsEmpty()) << "the best of another sweep is of the table's own aggregate";
  EXPECT_EQ(best.row_order_size(), preset.row_order_size());
  EXPECT_THAT(Run({"results", "last", "--best-of", "learning_rate", "--published"}).err, HasSubstr("the published table holds other values"));
  EXPECT_THAT(Asked({"--best-of", "learning_rate", "--aggregate", "max"}).extra_columns(), IsEmpty());
}

TEST_F(ResultsBestOfTest, OfATableGivesWayToOptions) {
  const TempFolder folder;
  const std::string file = folder.Write("mine.yaml", "name: mine\nexperiment: algorithmic\ntable: {title: \"Mine, {over}\", best_of: learning_rate}\n");
  const v1::TableSpec own = Asked({"--table", file});
  EXPECT_THAT(own.best_of(), ElementsAre("learning_rate"));
  EXPECT_EQ(own.aggregate(), "mean");
  EXPECT_EQ(own.title(), "Mine, mean over seeds at the best learning rate");
  EXPECT_EQ(Asked({"--table", file, "--best-of", "learning_rate"}).title(), own.title()) << "the same";

  const v1::TableSpec of_seeds = Asked({"--table", file, "--best-of", "seed"});
  EXPECT_THAT(of_seeds.best_of(), ElementsAre("seed"));
  EXPECT_EQ(of_seeds.title(), "mine: accuracy (%) over all test lengths, mean over learning rates at the best seed");

  const v1::TableSpec by_rate = Asked({"--table", file, "--columns", "learning_rate"});
  EXPECT_THAT(by_rate.best_of(), IsEmpty()) << "each rate has a column";
  EXPECT_EQ(by_rate.aggregate(), "mean") << "as each that the best was chosen of";
}

TEST_F(ResultsBestOfTest, AnAxisThatHasPlacesIsRefused) {
  const Outcome outcome = Run({"results", "last", "--columns", "learning_rate", "--best-of", "learning_rate"});
  EXPECT_EQ(outcome.code, kUsage);
  EXPECT_THAT(outcome.err, HasSubstr("error: --best-of learning_rate: it is among the table's columns\n  leave it out, or choose other --rows and --columns\n"));
  EXPECT_THAT(Run({"results", "last", "--best-of", "task"}).err, HasSubstr("--best-of task: it is among the table's rows")) << "its usual ones";
}

TEST_F(ResultsBestOfTest, ASchedulerThatPassesItOverIsSaidToDoSo) {
  scheduler_.table.mutable_cells(0)->clear_best_of();
  const Outcome outcome = Run({"results", "last", "--best-of", "learning_rate"});
  EXPECT_EQ(outcome.code, kFailed);
  EXPECT_EQ(outcome.out, "") << "means over all rates";
  EXPECT_THAT(outcome.err, HasSubstr("the scheduler is of a version that does not know best_of"));
  EXPECT_EQ(Run({"results", "last", "--best-of", "model.layers"}).code, kDone) << "the best may be without this setting";
  scheduler_.table.mutable_cells(0)->clear_measured();
  EXPECT_EQ(Run({"results", "last", "--best-of", "learning_rate"}).code, kDone) << "nothing is measured yet";
}

}  // namespace
}  // namespace longreach::client
