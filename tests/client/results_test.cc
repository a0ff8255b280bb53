// What `results` asks for and says of it; how tables look is in results_table_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "client/spec/spec_reader.h"
#include "tests/client/support.h"

namespace longreach::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class ResultsTest : public WithFakeScheduler {};

TEST_F(ResultsTest, ResultsAsksForTheTableOfTheSweepsPreset) {
  Run({"results", "last"});
  const v1::TableSpec preset = scheduler_.table_request.table();
  EXPECT_EQ(preset.published(), "table_b1");
  EXPECT_EQ(preset.aggregate(), "max");
  EXPECT_EQ(preset.row_order_size(), 15);
  EXPECT_EQ(preset.published_gain(), 7.4);
  EXPECT_EQ(preset.title(), "Table B.1: accuracy (%) averaged over test lengths") << "a cell is of one job";
  EXPECT_EQ(scheduler_.table_request.sweep(), std::string(64, 'a'));

  v1::Axes& axes = *scheduler_.sweep.mutable_spec()->mutable_axes();
  for (const int seed : {0, 1}) axes.add_seed(seed);
  Run({"results", "last"});
  EXPECT_EQ(scheduler_.table_request.table().title(), "Table B.1: accuracy (%) averaged over test lengths, maximum over seeds");
  for (const double rate : {1e-4, 1e-3}) axes.add_learning_rate(rate);
  Run({"results", "last"});
  EXPECT_EQ(scheduler_.table_request.table().title(), "Table B.1: accuracy (%) averaged over test lengths, maximum over seeds and learning rates");
  const TempFolder folder;
  const std::string file = folder.Write("one-seed.yaml", "name: mine\nexperiment: algorithmic\ntable: {title: \"Mine, {over}\", only: [seed=1], aggregate: mean}\n");
  Run({"results", "last", "--table", file});
  EXPECT_EQ(scheduler_.table_request.table().title(), "Mine, mean over learning rates");
  axes.Clear();

  scheduler_.sweep.set_name("mine");
  Run({"results", "last"});
  EXPECT_EQ(scheduler_.table_request.table().rows(), "task");
  EXPECT_EQ(scheduler_.table_request.table().published(), "");
  EXPECT_EQ(scheduler_.table_request.table().title(),
            "mine: accuracy (%) over all test lengths");
  for (const int seed : {0, 1}) axes.add_seed(seed);
  for (const double rate : {1e-4, 1e-3}) axes.add_learning_rate(rate);
  Run({"results", "last"});
  EXPECT_EQ(scheduler_.table_request.table().title(),
            "mine: accuracy (%) over all test lengths, maximum over seeds and learning rates");
  Run({"results", "last", "--rows", "seed", "--columns", "encoding", "--only", "seed=1,0"});
  EXPECT_EQ(scheduler_.table_request.table().title(), "mine: accuracy (%) over all test lengths, maximum over learning rates");
  Run({"results", "last", "--only", "length=41..60", "--only", "seed=1..4", "--aggregate", "mean"});
  EXPECT_EQ(scheduler_.table_request.table().title(), "mine: accuracy (%) averaged over length 41 to 60, mean over learning rates");
  EXPECT_THAT(Run({"results", "last", "--only", "length=41..60", "--length", "50"}).err, HasSubstr("--length 50: --only names lengths"));
  EXPECT_THAT(Run({"results", "last", "--only", "length=41..60", "--metric", "training_loss"}).err, HasSubstr("--only length: losses of training have no test length"));
}

TEST_F(ResultsTest, WhereNothingPublishedBelongsToASweepAPresetsTableIsNamed) {
  scheduler_.sweep.set_name("mine");
  const Outcome outcome = Run({"results", "last", "--published"});
  EXPECT_EQ(outcome.code, kDone);
  EXPECT_THAT(outcome.err, HasSubstr("no published table belongs to sweep 'mine' as it is asked for here; '--table PRESET' has that of a preset, as of table-b1\n"));
  Run({"results", "last", "--published", "--table", "table-b1"});
  EXPECT_EQ(scheduler_.table_request.table().published(), "table_b1");
}

TEST_F(ResultsTest, ResultsShowTheBestOfAMetricWhicheverWayIsBetter) {
  scheduler_.sweep.set_name("mine");
  for (const int seed : {0, 1}) scheduler_.sweep.mutable_spec()->mutable_axes()->add_seed(seed);
  // Of the sweep's main metric, as the scheduler says.
  scheduler_.table.set_metric("cross_entropy");
  Run({"results", "last"});
  EXPECT_EQ(scheduler_.table_request.table().metric(), "cross_entropy");
  EXPECT_EQ(scheduler_.table_request.table().aggregate(), "min");
  EXPECT_THAT(scheduler_.table_request.table().title(), HasSubstr(", minimum over seeds"));
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
  EXPECT_THAT(scheduler_.table_request.table().title(), HasSubstr("maximum over systems"));

  for (const char* task : {"even_pairs", "parity_check"}) spec.mutable_axes()->add_task(task);
  for (const char* encoding : {"none", "rope"}) spec.mutable_axes()->add_encoding(encoding);
  Run({"results", "last"});
  EXPECT_EQ(scheduler_.table_request.table().rows(), "task,system");
  EXPECT_EQ(scheduler_.table_request.table().columns(), "encoding");
  EXPECT_EQ(scheduler_.table_request.table().title(), "mine: accuracy (%) over all test lengths") << "over nothing";
  Run({"results", "last", "--rows", "task"});
  EXPECT_EQ(scheduler_.table_request.table().columns(), "system,encoding") << "what else is compared";
  Run({"results", "last", "--columns", "length"});
  EXPECT_EQ(scheduler_.table_request.table().rows(), "task,system,encoding");
}

TEST_F(ResultsTest, RowsAndColumnsMayBeSeveralAxes) {
  scheduler_.sweep.set_name("mine");
  v1::Axes& axes = *scheduler_.sweep.mutable_spec()->mutable_axes();
  for (const int seed : {0, 1}) axes.add_seed(seed);
  for (const double rate : {1e-4, 1e-3}) axes.add_learning_rate(rate);
  Run({"results", "last", "--rows", "task,length", "--columns", "encoding,learning_rate"});
  EXPECT_EQ(scheduler_.table_request.table().rows(), "task,length");
  EXPECT_EQ(scheduler_.table_request.table().columns(), "encoding,learning_rate");
  EXPECT_EQ(scheduler_.table_request.table().title(), "mine: accuracy (%) at each test length, maximum over seeds");
  Run({"results", "last", "--rows", "task,length", "--columns", "encoding", "--only", "step=200"});
  EXPECT_THAT(scheduler_.table_request.table().title(), ::testing::StartsWith("mine: accuracy (%) at each length of curves, step=200, maximum"));
  EXPECT_THAT(Run({"results", "last", "--rows", "task,length", "--length", "50"}).err, HasSubstr("--length 50: the test lengths are the table's rows"));
  Run({"results", "last", "--rows", "task,step", "--columns", "encoding"});
  EXPECT_EQ(scheduler_.table_request.table().metric(), "training_loss");
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

TEST_F(ResultsTest, RowsByStepAreOfLossesOfTraining) {
  for (const int seed : {0, 1}) scheduler_.sweep.mutable_spec()->mutable_axes()->add_seed(seed);
  EXPECT_EQ(Run({"results", "last", "--rows", "step", "--columns", "encoding", "--aggregate", "mean"}).code, kDone);
  EXPECT_EQ(scheduler_.table_request.table().metric(), "training_loss") << "not the accuracy of the preset's table";
  EXPECT_EQ(scheduler_.table_request.table().title(), "table-b1: training_loss (nats) by step, mean over seeds");
  EXPECT_EQ(scheduler_.table_request.table().published(), "");
  EXPECT_EQ(scheduler_.table_request.table().step_bins(), 0);
  Run({"results", "last", "--rows", "step", "--columns", "encoding", "--step-bins", "20"});
  EXPECT_EQ(scheduler_.table_request.table().step_bins(), 20);
  EXPECT_THAT(Run({"results", "last", "--step-bins", "20"}).err, HasSubstr("--step-bins: neither rows nor columns are steps"));

  // Jobs that were tested while they were trained have others by step, of the lengths that they were tested at then.
  EXPECT_EQ(Run({"results", "last", "--rows", "step", "--columns", "encoding", "--metric", "loss"}).code, kDone);
  EXPECT_EQ(scheduler_.table_request.table().metric(), "loss");
  EXPECT_THAT(scheduler_.table_request.table().title(), HasSubstr("loss (nats) over the lengths of curves"));
  for (const std::vector<std::string>& step : {std::vector<std::string>{"--slice", "step=200"}, {"--only", "step=200"}}) {
    EXPECT_EQ(Run({"results", "last", "--metric", "loss", step[0], step[1]}).code, kDone);
    EXPECT_THAT(scheduler_.table_request.table().title(), HasSubstr("loss (nats) over the lengths of curves, step=200"));
  }
  EXPECT_THAT(Run({"results", "last", "--rows", "step", "--columns", "encoding", "--metric", "loss", "--step-bins", "20"}).err,
              HasSubstr("--step-bins: loss has a value at each of the steps that jobs were tested at, and losses of training alone are averaged\n  leave it out"));
  EXPECT_EQ(Run({"results", "last", "--rows", "step", "--columns", "encoding", "--metric", "training_loss"}).code, kDone);
  scheduler_.sweep.mutable_table()->set_rows("step");
  EXPECT_EQ(Run({"results", "last", "--metric", "accuracy"}).code, kDone);
  EXPECT_EQ(scheduler_.table_request.table().metric(), "accuracy") << "though its own table is by step";
  scheduler_.sweep.clear_table();

  scheduler_.sweep.set_name("table-1");  // Whose columns are lengths, of which it has those of a metric.
  const Outcome refused = Run({"results", "last", "--metric", "training_loss"});
  EXPECT_EQ(refused.code, kUsage);
  EXPECT_THAT(refused.err, HasSubstr("the table's columns are the lengths of tests, which losses of training do not have"));
  EXPECT_THAT(Run({"results", "last", "--metric", "training_loss", "--columns", "seed", "--length", "40"}).err, HasSubstr("no test length"));
  EXPECT_EQ(Run({"results", "last", "--metric", "training_loss", "--columns", "seed"}).code, kDone);
}

TEST_F(ResultsTest, ASweepIsPrintedAsItWasSubmitted) {
  v1::TableSpec& kept = *scheduler_.sweep.mutable_table();
  kept.set_rows("seed");
  kept.set_columns("encoding");
  kept.set_aggregate("median");
  kept.set_title("As its file says");

  EXPECT_EQ(Run({"results", "last"}).code, kDone);
  EXPECT_EQ(scheduler_.table_request.table().rows(), "seed");
  EXPECT_EQ(scheduler_.table_request.table().aggregate(), "median");
  EXPECT_EQ(scheduler_.table_request.table().title(), "As its file says");
  EXPECT_EQ(scheduler_.table_request.table().published(), "") << "not as the preset of its name";

  Run({"results", "last", "--rows", "learning_rate"});
  EXPECT_EQ(scheduler_.table_request.table().rows(), "learning_rate");
  EXPECT_EQ(scheduler_.table_request.table().columns(), "encoding");
  EXPECT_EQ(scheduler_.table_request.table().aggregate(), "median");

  // The same axes, whether or not there are blanks between them.
  kept.set_rows("task,seed");
  Run({"results", "last", "--rows", "task, seed"});
  EXPECT_EQ(scheduler_.table_request.table().title(), "As its file says");

  Run({"results", "last", "--table", "table-b1"});
  EXPECT_EQ(scheduler_.table_request.table().published(), "table_b1");
}

TEST_F(ResultsTest, ATableThatCannotBeReadIsSaidToBeSoAndTheUsualOneIsPrinted) {
  scheduler_.sweep.set_table_trouble("it is damaged,\x1b[2J or newer");

  const Outcome outcome = Run({"results", "last"});

  EXPECT_EQ(outcome.code, kDone);
  EXPECT_EQ(scheduler_.table_request.table().published(), "table_b1");
  EXPECT_THAT(outcome.err, HasSubstr("note: the table that sweep 'table-b1' was submitted with cannot be used here (it is damaged,"));
  EXPECT_THAT(outcome.err, HasSubstr(" or newer): that of the preset of this name takes its place; submitting its file again mends that"));
  EXPECT_THAT(outcome.err, Not(HasSubstr("\x1b")));
  EXPECT_THAT(Run({"results", "last", "--table", "table-b1"}).err, Not(HasSubstr("cannot be used here")));

  scheduler_.sweep.set_name("mine");
  EXPECT_THAT(Run({"results", "last"}).err, HasSubstr(" or newer): the usual one takes its place; submitting"));
}

TEST_F(ResultsTest, OptionsTakeThePlaceOfWhatATableChooses) {
  const TempFolder folder;
  const std::string chosen = folder.Write("chosen.yaml", "name: mine\nexperiment: algorithmic\naxes: {seed: 1..2}\n"
                                                         "table: {title: Mine, only: [seed=1, task=even_pairs, length=41..60], aggregate: mean}\n");
  const auto asked = [&](const std::string& file, std::vector<std::string> options) {
    options.insert(options.begin(), {"results", "last", "--table", file});
    EXPECT_EQ(Run(options).code, kDone);
    return scheduler_.table_request.table();
  };
  EXPECT_THAT(asked(chosen, {}).only(), ElementsAre("seed=1", "task=even_pairs", "length=41..60"));
  const v1::TableSpec other_seed = asked(chosen, {"--only", "seed=2"});
  EXPECT_THAT(other_seed.only(), ElementsAre("task=even_pairs", "length=41..60", "seed=2"));
  EXPECT_NE(other_seed.title(), "Mine");
  EXPECT_THAT(asked(chosen, {"--length", "50"}).only(), ElementsAre("seed=1", "task=even_pairs"));
  const v1::TableSpec over_all = asked(chosen, {"--length", "0"});
  EXPECT_THAT(over_all.only(), ElementsAre("seed=1", "task=even_pairs"));
  EXPECT_NE(over_all.title(), "Mine");
  EXPECT_THAT(asked(chosen, {"--metric", "training_loss"}).only(), ElementsAre("seed=1", "task=even_pairs"));

  const std::string by_step = folder.Write("steps.yaml", "name: mine\nexperiment: algorithmic\naxes: {seed: 1..2}\n"
                                                         "table: {rows: step, columns: encoding, step_bins: 5, title: Losses, aggregate: mean}\n");
  EXPECT_EQ(asked(by_step, {}).step_bins(), 5);
  const v1::TableSpec finer = asked(by_step, {"--step-bins", "20"});
  EXPECT_EQ(finer.step_bins(), 20);
  EXPECT_EQ(finer.title(), "Losses");
  EXPECT_EQ(asked(by_step, {"--rows", "task"}).step_bins(), 0) << "there are no steps to take together";
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

TEST_F(ResultsTest, ATurnedTableKeepsItsPublishedValues) {
  Run({"results", "last"});
  const v1::TableSpec usual = scheduler_.table_request.table();
  EXPECT_EQ(Run({"results", "last", "--rows", "encoding", "--columns", "task", "--published"}).code, kDone);
  const v1::TableSpec turned = scheduler_.table_request.table();
  EXPECT_EQ(turned.rows(), "encoding");
  EXPECT_EQ(turned.columns(), "task");
  EXPECT_EQ(turned.published(), "table_b1");
  EXPECT_EQ(turned.published_gain(), usual.published_gain());
  EXPECT_EQ(turned.title(), usual.title());
  EXPECT_THAT(turned.row_order(), ::testing::ElementsAreArray(usual.column_order()));
  EXPECT_THAT(turned.column_order(), ::testing::ElementsAreArray(usual.row_order()));
  EXPECT_THAT(turned.extra_columns(), ::testing::IsEmpty()) << "its values are of tasks, which are no rows any more";
  // Of other values nothing was published, however they are turned.
  EXPECT_THAT(Run({"results", "last", "--rows", "encoding", "--columns", "task", "--aggregate", "mean", "--published"}).err, HasSubstr("the published table holds other values"));
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
  // Where none is printed, there is nothing to say of them.
  scheduler_.table.clear_published_gain_of_cells();
  scheduler_.table.clear_published_gain_stated();
  EXPECT_THAT(Run({"results", "last"}).out, Not(HasSubstr("other settings")));
  EXPECT_THAT(Run({"results", "last", "-o", "json"}).out, HasSubstr("other settings"));
  scheduler_.table.set_published_gain_of_cells(7);
  EXPECT_THAT(Run({"results", "last"}).out, HasSubstr("other settings")) << "the gain below the table is published";
  // Nothing published, nothing to say.
  scheduler_.table.mutable_cells(0)->clear_published();
  EXPECT_THAT(Run({"results", "last", "--published"}).out, Not(HasSubstr("other settings")));

  const std::string name = "nope-table-2";
  scheduler_.sweep.set_name(name);
  scheduler_.table.mutable_cells(0)->set_published(90);
  spec = LoadSweep(name)->spec;
  EXPECT_THAT(Run({"results", "last", "--published"}).out, Not(HasSubstr("other settings")));
  // As it comes back with --set training.steps=50000, the default of its kind.
  spec.mutable_training()->clear_steps();
  EXPECT_THAT(Run({"results", "last", "--published"}).out, HasSubstr("in training.steps"));
  spec = LoadSweep(name)->spec;
  spec.mutable_evaluation()->clear_lengths();
  EXPECT_THAT(Run({"results", "last", "--published"}).out, HasSubstr("in evaluation.lengths")) << "a list as well";
  spec = LoadSweep(name)->spec;
  spec.mutable_evaluation()->add_longbench_tasks("lcc");
  spec.mutable_systems(1)->mutable_with()->set_data("other");
  spec.mutable_systems()->DeleteSubrange(2, 1);
  const std::string of_system = "systems." + spec.systems(1).name() + ".with.data";
  EXPECT_THAT(Run({"results", "last", "--published"}).out, HasSubstr("in evaluation.longbench_tasks, " + of_system));
}

TEST_F(ResultsTest, CsvOfPartsSaysWhichSweepARowIsOf) {
  scheduler_.sweep.set_name("nope-table-1");
  const std::string csv = Run({"results", "nope-tinyllama", "-o", "csv"}).out;
  EXPECT_THAT(csv, StartsWith("sweep,rows,row,columns,column,metric,value,unit,published,"));
  EXPECT_EQ(csv.rfind("sweep,rows"), 0u) << "one header for all parts";
  EXPECT_THAT(Run({"results", "nope-tinyllama", "-o", "csv"}).out, HasSubstr("\nnope-table-1,system,even_pairs,length,"));
  EXPECT_THAT(Run({"results", "nope-table-1", "-o", "csv"}).out, StartsWith("system,length,"));
}

TEST_F(ResultsTest, AFileOfPartsStandsForItsSweeps) {
  const TempFolder folder;
  folder.Write("one.yaml", "axes: {task: even_pairs}\n");
  const std::string file = folder.Write("all.yaml", "parts:\n  - {sweep: one.yaml}\n  - {sweep: one.yaml, set: [name=two]}\n");
  for (const char* name : {"one", "two"}) {
    v1::Sweep& part = scheduler_.other_sweeps.emplace_back(scheduler_.sweep);
    part.set_id(name);
    part.set_name(name);
  }

  const Outcome outcome = Run({"results", file});

  EXPECT_EQ(outcome.code, kDone) << outcome.err;
  EXPECT_THAT(outcome.out, StartsWith("one\nTable"));
  EXPECT_THAT(outcome.out, HasSubstr("\n\ntwo\nTable"));
  EXPECT_THAT(Run({"status", file}).err, HasSubstr("all.yaml' stands for several sweeps; name one of one, two\n"));
  EXPECT_THAT(Run({"status", folder.Write("alone.yaml", "parts:\n  - {sweep: one.yaml}\n")}).err, HasSubstr("alone.yaml' stands for the sweep 'one'; name that\n"));

  scheduler_.refusals["GetSweep"] = grpc::Status(grpc::StatusCode::NOT_FOUND, "there is no such sweep");
  const Outcome none = Run({"results", file});
  EXPECT_EQ(none.code, kNotFound);
  EXPECT_THAT(none.err, HasSubstr("one has not been submitted\ntwo has not been submitted\nerror: no part of '" + file + "' has been submitted\n  'longreach submit " + file + " --scheduler "));
}

TEST_F(ResultsTest, ALengthIsRefusedWhereLengthsAreAnAxis) {
  EXPECT_THAT(Run({"results", "last", "--columns", "length", "--length", "100"}).err, HasSubstr("--length 100: the test lengths are the table's columns"));
  const TempFolder folder;
  const std::string file = (folder.path() / "a.vl.json").string();
  EXPECT_THAT(Run({"plot", "last", "--length", "100", "--file", file}).err, HasSubstr("--length 100: the test lengths are an axis"));
  EXPECT_THAT(Run({"plot", "last", "--x-length", "100", "--file", file}).err, HasSubstr("--x-length: only with a metric as --x"));
}

TEST_F(ResultsTest, TitlesSayWhatIsAggregatedOverByWhatJobsHave) {
  scheduler_.sweep.set_name("mine");
  for (const char* name : {"narrow", "wide"}) scheduler_.sweep.mutable_spec()->add_systems()->set_name(name);
  scheduler_.sweep.mutable_spec()->mutable_systems(0)->mutable_with()->mutable_model()->set_layers(5);
  scheduler_.AnswerBySystem("5", "5");
  Run({"results", "last", "--rows", "model.layers", "--columns", "task"});
  EXPECT_THAT(scheduler_.table_request.table().title(), HasSubstr(", maximum over systems")) << "one says the default, one nothing";
  const auto calls_of = [this](const std::vector<std::string>& command) {
    const int before = scheduler_.calls;
    Run(command);
    return scheduler_.calls - before;
  };
  EXPECT_EQ(calls_of({"results", "last", "--rows", "model.layers", "--columns", "task"}), calls_of({"results", "last"}) + 1) << "other tables ask for no settings";
}

TEST_F(ResultsTest, TheMainMetricOfAKindIsKnownWithoutATable) {
  scheduler_.sweep.set_name("mine");
  scheduler_.sweep.mutable_spec()->set_experiment("algorithmic");
  EXPECT_EQ(Run({"compare", "last", "--between", "randomized"}).code, kDone);
  EXPECT_FALSE(scheduler_.table_request.has_table());
  EXPECT_EQ(scheduler_.measurements_request.metric(), "accuracy");
  // A newer scheduler may have other kinds.
  scheduler_.sweep.mutable_spec()->set_experiment("proteins");
  EXPECT_EQ(Run({"compare", "last", "--between", "randomized"}).code, kDone);
  EXPECT_TRUE(scheduler_.table_request.has_table());
}

TEST_F(ResultsTest, OfTwoSystemsThatAreComparedOneMayHaveDrawnPositions) {
  v1::SweepSpec& spec = *scheduler_.sweep.mutable_spec();
  spec.set_experiment("algorithmic");
  for (const auto& [name, encoding] : {std::pair("drawn", "rope:randomized"), std::pair("other", "alibi"), std::pair("plain", "rope")}) {
    v1::System& system = *spec.add_systems();
    system.set_name(name);
    system.mutable_with()->mutable_axes()->add_encoding(encoding);
    v1::JobMeasurements& of_job = *scheduler_.measurements.add_jobs();
    of_job.mutable_job()->set_id(name);
    of_job.mutable_job()->set_task("even_pairs");
    of_job.mutable_job()->set_encoding(encoding);
    of_job.mutable_job()->add_systems(name);
    v1::Measurement& value = *of_job.add_measurements();
    value.set_metric("accuracy");
    value.set_length(50);
    value.set_value(0.5);
  }
  const auto said = [this](const std::string& between) { return Run({"compare", "last", "--between", between, "--length", "50"}).err; };
  EXPECT_THAT(said("system=plain,drawn"), HasSubstr("drawn once for each test length"));
  EXPECT_THAT(said("system=plain,other"), Not(HasSubstr("drawn once for each test length"))) << "the third is not compared";
}

TEST_F(ResultsTest, AWordIsTakenForThePathThatItEnds) {
  EXPECT_THAT(Run({"results", "last", "--rows", "layers"}).err, HasSubstr("--rows: unknown value 'layers'\n  did you mean 'model.layers'? there are: "));
  EXPECT_THAT(Run({"results", "last", "--rows", "layers"}).err, HasSubstr("; or a setting by its path, as model.layers"));
  EXPECT_THAT(Run({"results", "last", "--columns", "dropout"}).err, HasSubstr("did you mean 'evaluation.dropout' or 'model.dropout'?"));
}

TEST_F(ResultsTest, SettingsAreAxesByTheirPaths) {
  EXPECT_EQ(Run({"results", "last", "--rows", "model.layers", "--columns", "training.batch_size"}).code, kDone);
  EXPECT_EQ(scheduler_.table_request.table().rows(), "model.layers");
  EXPECT_EQ(scheduler_.table_request.table().published(), "");
  const Outcome outcome = Run({"results", "last", "--rows", "model.layer"});
  EXPECT_EQ(outcome.code, kUsage);
  EXPECT_THAT(outcome.err, HasSubstr("--rows: unknown value 'model.layer'\n  did you mean 'model.layers'? there are: model.attention_scale,"));
  EXPECT_THAT(outcome.err, Not(HasSubstr("training.steps")));
  EXPECT_EQ(Run({"results", "last", "--rows", "modl.layers"}).err,
            "error: --rows: unknown value 'modl.layers'\n  did you mean 'model.layers'? settings begin with model., positions., training., evaluation.; 'longreach list fields' shows all of them\n");
  EXPECT_THAT(Run({"results", "last", "--columns", "x.y.z"}).err, HasSubstr("unknown value 'x.y.z'\n  settings begin with model.,"));
  EXPECT_THAT(Run({"results", "last", "--rows", "sed"}).err, HasSubstr("did you mean 'seed'?"));
}

TEST_F(ResultsTest, RunPrintsTheTableAsResultsDoes) {
  const TempFolder folder;
  const std::string file = folder.Write("mine.yaml", "name: table-b1\nexperiment: algorithmic\naxes:\n  encoding: ['rope:randomized']\ntable: {length: 100}\n");
  v1::SweepSpec& spec = *scheduler_.sweep.mutable_spec();
  spec.set_experiment("algorithmic");
  spec.mutable_axes()->add_encoding("rope:randomized");

  for (const char* format : {"table", "csv", "markdown", "latex"}) {
    const Outcome ran = Run({"run", file, "-o", format});
    EXPECT_EQ(ran.code, kDone) << ran.err;
    EXPECT_THAT(ran.out + ran.err, HasSubstr("another draw (evaluation.seed)")) << format;
    EXPECT_EQ(ran.out, Run({"results", "last", "--table", file, "-o", format}).out);
  }
  EXPECT_THAT(Run({"run", file, "-o", "json"}).out, HasSubstr("another draw (evaluation.seed)"));
}

}  // namespace
}  // namespace longreach::client
