// The table that people quote: every figure here is worked out by hand.
#include "scheduler/service/results_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scheduler/service/results_table_support.h"

namespace longreach::service {
namespace {

using store::State;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(ResultsTableTest, AggregatesOverWhatIsNeitherRowNorColumn) {
  // Four jobs of one cell: 50, 70, 80 and 100 percent.
  for (const auto& [aggregate, expected] :
       std::map<std::string, double>{{"max", 100}, {"min", 50}, {"mean", 75}, {"median", 75}, {"", 100}}) {
    v1::TableSpec spec;
    spec.set_aggregate(aggregate);
    ResultsTable table = Make(spec);
    table.Add(Done("even_pairs", "rope", 1e-4, 0, 0.8));
    table.Add(Done("even_pairs", "rope", 1e-4, 1, 0.5));
    table.Add(Done("even_pairs", "rope", 3e-4, 0, 1.0));
    table.Add(Done("even_pairs", "rope", 3e-4, 1, 0.7));

    const v1::Table built = table.Build();

    ASSERT_EQ(built.cells_size(), 1);
    const v1::TableCell& cell = built.cells(0);
    EXPECT_DOUBLE_EQ(cell.measured(), expected) << aggregate;
    EXPECT_DOUBLE_EQ(cell.median(), 75);
    // Squares of -25, -5, 5, 25 are 1300 together; over 3.
    EXPECT_NEAR(cell.deviation(), 20.816659994661, 1e-9);
    EXPECT_EQ(cell.jobs(), 4);
    EXPECT_EQ(cell.succeeded(), 4);
    EXPECT_EQ(cell.measured_jobs(), 4);
    EXPECT_EQ(cell.builds(), 1);
    EXPECT_EQ(built.unit(), "%");
    EXPECT_THAT(built.notes(), IsEmpty());
  }
}

// A cell is mostly behind the one that it was behind before; it is not where jobs come in another order, or lack a length.
TEST(ResultsTableTest, EveryValueIsInTheCellOfItsOwnRowAndColumnInWhateverOrderJobsCome) {
  v1::TableSpec spec;
  spec.set_rows("encoding");
  spec.set_columns("length");
  spec.set_aggregate("mean");
  ResultsTable table = Make(spec);
  const auto add = [&table](const std::string& encoding, uint32_t seed, const std::vector<std::pair<int, double>>& values) {
    for (const auto& [length, value] : values) {
      TableJob job = Done("even_pairs", encoding, 1e-4, seed, value);
      job.length = length;
      job.again = length != values.front().first;
      table.Add(job);
    }
  };
  add("rope", 0, {{41, 0.1}, {42, 0.2}, {43, 0.3}});
  add("rope", 1, {{41, 0.3}, {42, 0.4}, {43, 0.5}});
  add("alibi", 0, {{41, 0.6}, {42, 0.7}, {43, 0.8}});
  add("rope", 2, {{41, 0.5}, {43, 0.1}});
  add("alibi", 1, {{43, 0.4}, {42, 0.3}, {41, 0.2}});

  const v1::Table built = table.Build();

  EXPECT_THAT(Keys(built.rows()), ::testing::UnorderedElementsAre("alibi", "rope"));
  EXPECT_THAT(Keys(built.columns()), ElementsAre("41", "42", "43"));
  const auto expect = [&built](const std::string& row, const std::string& column, int jobs, double mean) {
    EXPECT_EQ(CellAt(built, row, column).measured_jobs(), jobs) << row << " " << column;
    EXPECT_NEAR(CellAt(built, row, column).measured(), mean, 1e-9) << row << " " << column;
  };
  expect("rope", "41", 3, 30);
  expect("rope", "42", 2, 30);
  expect("rope", "43", 3, 30);
  expect("alibi", "41", 2, 40);
  expect("alibi", "42", 2, 50);
  expect("alibi", "43", 2, 60);
}

TEST(ResultsTableTest, ATableOfMoreCellsThanAnyoneReadsIsRefused) {
  v1::TableSpec spec;
  spec.set_rows("seed");
  spec.set_columns("learning_rate");
  ResultsTable table = Make(spec);
  for (uint32_t seed = 0; seed < 400; ++seed) table.Add(Done("even_pairs", "rope", 1e-4, seed, 0.5));
  EXPECT_TRUE(table.CheckSize().ok());
  for (int rate = 1; rate <= 1000; ++rate) table.Add(Done("even_pairs", "rope", rate * 1e-4, 0, 0.5));

  EXPECT_EQ(table.CheckSize().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(table.CheckSize().message()), HasSubstr("seed by learning_rate is a table of more than 200000 cells"));
}

TEST(ResultsTableTest, WithoutAnAggregateTheBestIsTheLowestWhereLowerIsBetter) {
  v1::TableSpec spec;
  spec.set_metric("loss");
  ResultsTable table = Make(spec);
  table.Add(Done("even_pairs", "rope", 1e-4, 0, 0.8));
  table.Add(Done("even_pairs", "rope", 1e-4, 1, 0.5));

  EXPECT_DOUBLE_EQ(table.Build().cells(0).measured(), 0.5);
}

TEST(ResultsTableTest, AnUnevenMedianIsTheMiddleValueAndOneValueHasNoDeviation) {
  v1::TableSpec spec;
  spec.set_rows("seed");
  spec.set_columns("task");
  spec.set_aggregate("median");
  ResultsTable table = Make(spec);
  table.Add(Done("even_pairs", "rope", 1e-4, 10, 0.2));
  table.Add(Done("even_pairs", "rope", 2e-4, 10, 0.9));
  table.Add(Done("even_pairs", "rope", 3e-4, 10, 0.3));
  table.Add(Done("even_pairs", "rope", 3e-4, 9, 0.4));

  const v1::Table built = table.Build();

  // Seeds are sorted as numbers, not as text.
  EXPECT_THAT(Keys(built.rows()), ElementsAre("9", "10"));
  EXPECT_DOUBLE_EQ(CellAt(built, "10", "even_pairs").measured(), 30);
  EXPECT_FALSE(CellAt(built, "9", "even_pairs").has_deviation());
}

// A job's values at several steps or of several heads say nothing of how jobs differ.
TEST(ResultsTableTest, TheDeviationIsThatOfJobsOfWhichEachMayHaveSeveralValues) {
  v1::TableSpec spec;
  spec.set_aggregate("mean");
  ResultsTable table = Make(spec);
  const auto add = [&table](uint32_t seed, std::vector<double> values) {
    TableJob job = Done("even_pairs", "rope", 1e-4, seed, 0);
    for (const double value : values) {
      job.value = value;
      table.Add(job);
      job.again = job.more = true;
    }
  };
  add(0, {0.1, 0.9});
  EXPECT_FALSE(table.Build().cells(0).has_deviation()) << "of one job there is none";
  add(1, {0.2, 0.8, 0.8});

  const v1::TableCell cell = table.Build().cells(0);
  EXPECT_DOUBLE_EQ(cell.measured(), 56) << "of all five values";
  EXPECT_EQ(cell.measured_jobs(), 2);
  EXPECT_NEAR(cell.deviation(), 7.0710678, 1e-6) << "of 50 and 60";
}

TEST(ResultsTableTest, AJobThatFailedOrDivergedCountsOnceWhateverManyValuesAreAskedFor) {
  ResultsTable table = Make({});
  for (const store::State state : {store::State::kFailed, store::State::kSucceeded}) {
    TableJob job = Done("even_pairs", "rope", 1e-4, state == store::State::kFailed ? 1 : 2, 0);
    job.state = state;
    job.diverged = state == store::State::kSucceeded;
    job.value.reset();
    for (int i = 0; i < 3; ++i) {
      table.Add(job);
      job.again = job.more = true;
    }
  }
  const v1::TableCell cell = table.Build().cells(0);
  EXPECT_EQ(cell.jobs(), 2);
  EXPECT_EQ(cell.failed(), 1);
  EXPECT_EQ(cell.diverged(), 1);
}

TEST(ResultsTableTest, DivergedFailedAndOpenJobsAreCountedAndNamedButNeverAveraged) {
  v1::TableSpec spec;
  spec.set_aggregate("mean");
  ResultsTable table = Make(spec);
  table.Add(Done("even_pairs", "rope", 1e-4, 0, 0.6));
  TableJob job = Done("even_pairs", "rope", 1e-4, 1, 0.6);
  job.value.reset();
  job.diverged = true;
  table.Add(job);
  job.diverged = false;
  job.state = State::kFailed;
  table.Add(job);
  job.state = State::kLeased;
  table.Add(job);
  job.state = State::kQueued;
  table.Add(job);
  job.state = State::kCancelled;
  table.Add(job);
  job.state = State::kSucceeded;  // Without this measurement.
  table.Add(job);

  const v1::Table built = table.Build();

  const v1::TableCell& cell = built.cells(0);
  EXPECT_DOUBLE_EQ(cell.measured(), 60);
  EXPECT_EQ(cell.jobs(), 7);
  EXPECT_EQ(cell.succeeded(), 3);
  EXPECT_EQ(cell.measured_jobs(), 1);
  EXPECT_EQ(cell.diverged(), 1);
  EXPECT_EQ(cell.failed(), 1);
  EXPECT_THAT(built.notes(),
              ElementsAre("2 jobs are not finished (1 queued, 1 running): the table will change",
                          "1 job failed and counts in no cell", "1 job was cancelled and counts in no cell",
                          "1 job diverged and counts in no cell (the loss was not finite)",
                          "1 job succeeded without a value of accuracy over all lengths"));
}

TEST(ResultsTableTest, ACellWithoutAValueIsMissingAndNotZero) {
  ResultsTable table = Make({});
  TableJob job = Done("even_pairs", "rope", 1e-4, 0, 0);
  job.state = State::kQueued;
  job.value.reset();
  table.Add(job);
  table.Add(Done("parity_check", "alibi", 1e-4, 0, 0.0));

  const v1::Table built = table.Build();

  EXPECT_FALSE(CellAt(built, "even_pairs", "rope").has_measured());
  EXPECT_FALSE(CellAt(built, "even_pairs", "alibi").has_measured());
  EXPECT_EQ(CellAt(built, "even_pairs", "alibi").jobs(), 0);
  ASSERT_TRUE(CellAt(built, "parity_check", "alibi").has_measured());
  EXPECT_EQ(CellAt(built, "parity_check", "alibi").measured(), 0);
}

TEST(ResultsTableTest, RowsAndColumnsGoByTheGivenOrderThenByLevelAndForm) {
  v1::TableSpec spec;
  spec.add_row_order(std::string("bucket_sort"));
  spec.add_row_order(std::string("odds_first"));  // The sweep lacks it.
  spec.add_column_order("shape");
  ResultsTable table = Make(spec);
  for (const char* task : {"bucket_sort", "binary_addition", "reverse_string", "parity_check", "even_pairs"}) {
    for (const char* encoding : {"rope:randomized", "alibi:randomized", "rope", "shape", "sin_cos"}) {
      table.Add(Done(task, encoding, 1e-4, 0, 0.5));
    }
  }

  const v1::Table built = table.Build();

  EXPECT_THAT(Keys(built.rows()),
              ElementsAre("bucket_sort", "even_pairs", "parity_check", "reverse_string", "binary_addition"));
  EXPECT_THAT(Keys(built.columns()), ElementsAre("shape", "rope", "sin_cos", "alibi:randomized", "rope:randomized"));
  EXPECT_EQ(built.columns(4).label(), "Randomized RoPE");
  EXPECT_EQ(built.columns(1).label(), "RoPE");
  EXPECT_EQ(built.rows(3).label(), "Reverse String");
  EXPECT_EQ(built.rows(3).group(), "DCF");
  EXPECT_EQ(built.rows(3).mark(), "");
  EXPECT_EQ(built.rows(2).mark(), "permutation_invariant");
}

TEST(ResultsTableTest, SystemsGoByTheNumbersInTheirNames) {
  const google::protobuf::RepeatedPtrField<std::string> none;
  const std::vector<std::string> sorted = {"5",        "40",        "base",      "layers-2_rate-1e-05", "layers-2_rate-0.001", "layers-2_rate-0.01",
                                           "layers-4", "layers-10", "layers-10-wide", "layers-100", "v1", "v01", "v99999999999999999999999999"};
  const std::vector<std::string> order = InOrder("system", {sorted.begin(), sorted.end()}, none);
  EXPECT_EQ(order, (std::vector<std::string>{"5", "40", "base", "layers-2_rate-1e-05", "layers-2_rate-0.001", "layers-2_rate-0.01", "layers-4", "layers-10",
                                             "layers-10-wide", "layers-100", "v01", "v1", "v99999999999999999999999999"}));
  const std::string digits = "x" + std::string(1000, '9');
  EXPECT_EQ(InOrder("system", {digits, "x1"}, none), (std::vector<std::string>{digits, "x1"})) << "too many digits for a number are none";
}

TEST(ResultsTableTest, MarksTheBestOfARowInTheMetricsDirectionAndAllThatTie) {
  for (const auto& [metric, best_value] : std::map<std::string, double>{{"accuracy", 0.9}, {"loss", 0.1}}) {
    v1::TableSpec spec;
    spec.set_metric(metric);
    ResultsTable table = Make(spec);
    table.Add(Done("even_pairs", "alibi", 1e-4, 0, 0.9));
    table.Add(Done("even_pairs", "rope", 1e-4, 0, 0.1));
    table.Add(Done("even_pairs", "sandwich", 1e-4, 0, best_value));
    table.Add(Done("even_pairs", "none", 1e-4, 0, 0.5));

    const v1::Table built = table.Build();

    EXPECT_EQ(CellAt(built, "even_pairs", "alibi").best(), metric == "accuracy");
    EXPECT_EQ(CellAt(built, "even_pairs", "rope").best(), metric == "loss");
    EXPECT_TRUE(CellAt(built, "even_pairs", "sandwich").best());
    EXPECT_FALSE(CellAt(built, "even_pairs", "none").best());
  }
}

TEST(ResultsTableTest, NoneIsTheBestOfARowOfOneValueOrOfEqualOnes) {
  ResultsTable table = Make({});
  for (const char* encoding : {"alibi", "rope"}) table.Add(Done("even_pairs", encoding, 1e-4, 0, 0.5));
  table.Add(Done("parity_check", "rope", 1e-4, 0, 0.5));

  const v1::Table built = table.Build();

  for (const v1::TableCell& cell : built.cells()) EXPECT_FALSE(cell.best());

  v1::TableSpec spec;
  spec.set_published("table_b1");
  ResultsTable alone = Make(spec);
  alone.Add(Done("even_pairs", "log_kerple", 1e-4, 0, 0.5));
  EXPECT_FALSE(alone.Build().cells(0).published_best());
}

TEST(ResultsTableTest, PublishedValuesStandBesideAndAreNeverMixedWithMeasuredOnes) {
  v1::TableSpec spec;
  spec.set_published("table_b1");
  v1::ExtraColumn& extra = *spec.add_extra_columns();
  extra.set_key("best_of_ruoss_2023");
  extra.set_label("Best of [1]");
  extra.set_sweep("ruoss-2023");
  ResultsTable table = Make(spec);
  table.Add(Done("even_pairs", "log_kerple", 1e-4, 0, 0.5));
  TableJob open = Done("even_pairs", "power_kerple", 1e-4, 0, 0);
  open.state = State::kQueued;
  open.value.reset();
  table.Add(open);
  table.SetExtraMissing(0);

  const v1::Table built = table.Build();

  EXPECT_FALSE(CellAt(built, "even_pairs", "power_kerple").has_measured());
  EXPECT_DOUBLE_EQ(CellAt(built, "even_pairs", "power_kerple").published(), 69.3);
  EXPECT_EQ(CellAt(built, "even_pairs", "power_kerple").published_text(), "69.3");
  EXPECT_DOUBLE_EQ(CellAt(built, "even_pairs", "log_kerple").measured(), 50);
  EXPECT_DOUBLE_EQ(CellAt(built, "even_pairs", "log_kerple").published(), 100);
  EXPECT_FALSE(CellAt(built, "even_pairs", "power_kerple").published_best());
  EXPECT_TRUE(CellAt(built, "even_pairs", "log_kerple").published_best());
  EXPECT_TRUE(CellAt(built, "even_pairs", "best_of_ruoss_2023").published_best());
  EXPECT_FALSE(CellAt(built, "even_pairs", "best_of_ruoss_2023").has_measured());
  EXPECT_THAT(built.notes(),
              ::testing::Contains("Best of [1]: not measured, as the sweep 'ruoss-2023' has not been submitted"));
}

TEST(ResultsTableTest, PublishedValuesOverAllLengthsDoNotStandBesideOneLength) {
  v1::TableSpec spec;
  spec.set_published("table_b1");
  spec.set_length(100);
  ResultsTable table = Make(spec);
  table.Add(Done("even_pairs", "log_kerple", 1e-4, 0, 0.5));

  const v1::Table built = table.Build();

  EXPECT_FALSE(built.cells(0).has_published());
  EXPECT_THAT(built.notes(), ElementsAre("no value of the published table 'table_b1' belongs to a cell of this one"));
}

TEST(ResultsTableTest, NeitherTheEasiestTaskNorTheLeastEntropyIsTheBest) {
  v1::TableSpec spec;
  spec.set_rows("encoding");
  spec.set_columns("task");
  ResultsTable by_encoding = Make(spec);
  by_encoding.Add(Done("even_pairs", "rope", 1e-4, 0, 0.9));
  by_encoding.Add(Done("parity_check", "rope", 1e-4, 0, 0.5));
  const v1::Table of_tasks = by_encoding.Build();
  EXPECT_EQ(of_tasks.cells_size(), 2);
  for (const v1::TableCell& cell : of_tasks.cells()) EXPECT_FALSE(cell.best());

  spec = {};
  spec.set_metric("attention_entropy");
  ResultsTable entropies = Make(spec);
  EXPECT_EQ(entropies.spec().aggregate(), "mean");
  entropies.Add(Done("even_pairs", "rope", 1e-4, 0, 3));
  entropies.Add(Done("even_pairs", "rope", 1e-4, 1, 5));
  entropies.Add(Done("even_pairs", "alibi", 1e-4, 0, 2));
  const v1::Table built = entropies.Build();
  EXPECT_DOUBLE_EQ(CellAt(built, "even_pairs", "rope").measured(), 4);
  for (const v1::TableCell& cell : built.cells()) EXPECT_FALSE(cell.best());
}

TEST(ResultsTableTest, TheGainIsTheMeanOverPairsThatBothHaveAValue) {
  v1::TableSpec spec;
  spec.set_gain(true);
  spec.set_published_gain(7.4);
  spec.set_published("table_b1");
  ResultsTable table = Make(spec);
  table.Add(Done("even_pairs", "log_kerple", 1e-4, 0, 0.5));
  table.Add(Done("even_pairs", "log_kerple:randomized", 1e-4, 0, 0.8));   // +30; published 75.5 - 100 = -24.5.
  table.Add(Done("modular_arithmetic", "log_kerple", 1e-4, 0, 0.3));
  table.Add(Done("modular_arithmetic", "log_kerple:randomized", 1e-4, 0, 0.2));  // -10; published 33.6 - 30.5 = 3.1.
  table.Add(Done("even_pairs", "shape", 1e-4, 0, 0.9));                     // Has no randomized form.
  table.Add(Done("even_pairs", "sandwich:randomized", 1e-4, 0, 0.9));       // Its plain form is no column.

  const v1::Table built = table.Build();

  EXPECT_DOUBLE_EQ(built.gain(), 10);
  EXPECT_EQ(built.gain_pairs(), 2);
  EXPECT_DOUBLE_EQ(built.gain_error(), 20) << "of 30 and -10";
  EXPECT_NEAR(built.published_gain_of_cells(), -10.7, 1e-9);
  EXPECT_FALSE(built.has_published_gain_stated()) << "it is of all tasks and encodings";
}

TEST(ResultsTableTest, TheGainThatAuthorsStateStandsBesideTheirWholeTable) {
  v1::TableSpec spec;
  spec.set_gain(true);
  spec.set_published_gain(7.4);
  spec.set_published("table_b1");
  ResultsTable table = Make(spec);
  for (const catalog::Task& task : catalog::Tasks()) {
    for (const char* encoding : {"power_kerple", "log_kerple"}) {
      for (const char* positions : {"", ":randomized"}) table.Add(Done(std::string(task.name), std::string(encoding) + positions, 1e-4, 0, 0.5));
    }
  }
  EXPECT_FALSE(table.Build().has_published_gain_stated()) << "the third encoding is no column";
  for (const catalog::Task& task : catalog::Tasks()) {
    for (const char* encoding : {"sandwich", "sandwich:randomized"}) table.Add(Done(std::string(task.name), encoding, 1e-4, 0, 0.5));
  }

  const v1::Table built = table.Build();

  EXPECT_EQ(built.gain_pairs(), 3 * static_cast<int>(catalog::Tasks().size()));
  EXPECT_DOUBLE_EQ(built.published_gain_stated(), 7.4) << "also with tasks that are not in their table";
}

TEST(ResultsTableTest, TheGainIsTheSameWhenEncodingsAreRowsAndAbsentWithoutPairs) {
  v1::TableSpec spec;
  spec.set_gain(true);
  spec.set_rows("encoding");
  ResultsTable turned = Make(spec);
  turned.Add(Done("even_pairs", "rope", 1e-4, 0, 0.5));
  turned.Add(Done("even_pairs", "rope:randomized", 1e-4, 0, 0.8));
  EXPECT_DOUBLE_EQ(turned.Build().gain(), 30);
  EXPECT_FALSE(turned.Build().has_gain_error()) << "one pair has none";

  ResultsTable lonely = Make(spec);
  lonely.Add(Done("even_pairs", "rope", 1e-4, 0, 0.5));
  lonely.Add(Done("parity_check", "rope:randomized", 1e-4, 0, 0.8));
  EXPECT_FALSE(lonely.Build().has_gain());
  EXPECT_EQ(lonely.Build().gain_pairs(), 0);
}

TEST(ResultsTableTest, TheBestOfManyBesideTheBestOfFewIsNoted) {
  const auto notes = [](const std::string& aggregate, bool third) {
    v1::TableSpec spec;
    spec.set_aggregate(aggregate);
    v1::ExtraColumn& extra = *spec.add_extra_columns();
    extra.set_key("other");
    extra.set_sweep("other");
    ResultsTable table = Make(spec);
    for (const uint32_t seed : {0u, 1u, 2u}) {
      table.Add(Done("even_pairs", "rope", 1e-4, seed, 0.1 * seed));
      if (seed == 2 && !third) continue;
      TableJob job = Done("even_pairs", "alibi", 1e-4, seed, 0.5);
      job.state = seed == 2 ? State::kFailed : State::kSucceeded;  // It is told itself.
      table.Add(job);
    }
    table.AddExtra(0, Done("even_pairs", "none", 1e-4, 0, 0.5));
    const v1::Table built = table.Build();
    return std::vector<std::string>(built.notes().begin(), built.notes().end());
  };
  EXPECT_THAT(notes("max", false), ElementsAre("cells are the maximum over 2 to 3 jobs: over more of them it is higher by chance alone; --aggregate mean is not"));
  EXPECT_THAT(notes("min", false), ElementsAre("cells are the minimum over 2 to 3 jobs: over more of them it is lower by chance alone; --aggregate mean is not"));
  EXPECT_THAT(notes("mean", false), IsEmpty());
  EXPECT_THAT(notes("max", true), ElementsAre("1 job failed and counts in no cell"));
}

TEST(ResultsTableTest, NamesTheCellsThatSeveralBuildsMade) {
  ResultsTable table = Make({});
  table.Add(Done("even_pairs", "rope", 1e-4, 0, 0.5, "1.0"));
  table.Add(Done("even_pairs", "rope", 1e-4, 1, 0.6, "1.1"));
  for (const uint32_t seed : {0u, 1u}) table.Add(Done("even_pairs", "alibi", 1e-4, seed, 0.6, "1.1"));

  const v1::Table built = table.Build();

  EXPECT_EQ(CellAt(built, "even_pairs", "rope").builds(), 2);
  EXPECT_EQ(CellAt(built, "even_pairs", "alibi").builds(), 1);
  EXPECT_THAT(built.notes(), ElementsAre("1 cell was made by more than one build: Even Pairs / RoPE (2 builds)"));
}

TEST(ResultsTableTest, NamesTheCellsThatSeveralEnginesMade) {
  ResultsTable table = Make({});
  for (const uint32_t seed : {0u, 1u}) {
    TableJob mixed = Done("even_pairs", "rope", 1e-4, seed, 0.5), alike = Done("even_pairs", "alibi", 1e-4, seed, 0.6);
    mixed.engines = seed == 0 ? "spread-fp16" : "lanes-avx2";
    alike.engines = seed == 0 ? "lanes-avx2" : "\nlanes-avx2";  // Of an attempt that was lost nobody knows it.
    table.Add(mixed);
    table.Add(alike);
  }

  EXPECT_THAT(table.Build().notes(), ElementsAre("1 cell was made by more than one engine, which do not round alike: Even Pairs / RoPE (lanes-avx2, spread-fp16)"));
}

TEST(ResultsTableTest, RefusesWhatItDoesNotKnowAndSaysWhatIsMeant) {
  struct Case {
    void (*change)(v1::TableSpec&);
    const char* says;
  };
  const Case cases[] = {
      {[](v1::TableSpec& s) { s.set_rows("taks"); }, "table.rows: unknown axis 'taks'\n  did you mean 'task'?"},
      {[](v1::TableSpec& s) { s.set_columns("encodings"); }, "did you mean 'encoding'?"},
      {[](v1::TableSpec& s) { s.set_metric("acuracy"); }, "table.metric: unknown metric 'acuracy'\n  did you mean 'accuracy'?"},
      {[](v1::TableSpec& s) { s.set_aggregate("maximum"); }, "known are max, min, mean, median"},
      {[](v1::TableSpec& s) { s.set_published("table_bb1"); }, "did you mean 'table_b1'?"},
      {[](v1::TableSpec& s) { s.set_length(-1); }, "-1 is negative"},
      {[](v1::TableSpec& s) { s.set_rows("seed"), s.set_columns("seed"); }, "both 'seed'"},
      {[](v1::TableSpec& s) { s.set_metric("loss"), s.set_published("table_b1"); }, "holds accuracy_percent, not loss"},
      {[](v1::TableSpec& s) { s.add_row_order(std::string("a")), s.add_row_order("a"); }, "table.row_order: 'a' is there twice"},
      {[](v1::TableSpec& s) { s.add_extra_columns()->set_key("a"); }, "needs a key and the name of a sweep"},
  };
  for (const Case& refused : cases) {
    v1::TableSpec spec;
    refused.change(spec);
    const absl::Status status = ResultsTable::Of(spec, "accuracy").status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << refused.says;
    EXPECT_THAT(std::string(status.message()), HasSubstr(refused.says));
  }
}

}  // namespace
}  // namespace longreach::service
