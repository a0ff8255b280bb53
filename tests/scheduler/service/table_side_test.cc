// Tables whose rows or columns are several axes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

#include "tests/scheduler/service/results_table_support.h"

namespace longreach::service {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TableJob OfSystem(std::string system, std::string task, std::string encoding, double value) {
  TableJob job = Done(std::move(task), std::move(encoding), 1e-4, 0, value);
  job.system = std::move(system);
  return job;
}

std::vector<std::string> Labels(const google::protobuf::RepeatedPtrField<v1::TableAxisEntry>& entries) {
  std::vector<std::string> labels;
  for (const v1::TableAxisEntry& entry : entries) labels.push_back(entry.label());
  return labels;
}

v1::TableSpec By(const std::string& rows, const std::string& columns) {
  v1::TableSpec spec;
  spec.set_rows(rows);
  spec.set_columns(columns);
  return spec;
}

// Two tasks of a sweep of two systems, as they come.
void AddAll(ResultsTable& table) {
  double value = 0;
  for (const char* system : {"layers-10", "layers-2"}) {
    for (const char* task : {"reverse_string", "parity_check"}) {
      for (const char* encoding : {"rope:randomized", "rope"}) table.Add(OfSystem(system, task, encoding, value += 0.1));
    }
  }
}

TEST(TableSideTest, ARowIsACombinationOfSeveralAxes) {
  v1::TableSpec spec = By("task,system", "encoding");
  spec.set_gain(true);
  ResultsTable table = Make(spec);
  AddAll(table);

  const v1::Table built = table.Build();

  EXPECT_THAT(Keys(built.rows()), ElementsAre("parity_check,layers-2", "parity_check,layers-10", "reverse_string,layers-2", "reverse_string,layers-10"));
  EXPECT_THAT(Labels(built.rows()), ElementsAre("Parity Check, layers-2", "Parity Check, layers-10", "Reverse String, layers-2", "Reverse String, layers-10"));
  EXPECT_EQ(built.rows(0).group(), "R");
  EXPECT_EQ(built.rows(1).mark(), "permutation_invariant");
  EXPECT_THAT(Keys(built.columns()), ElementsAre("rope", "rope:randomized"));
  EXPECT_NEAR(CellAt(built, "parity_check,layers-2", "rope").measured(), 80, 1e-9);
  EXPECT_NEAR(CellAt(built, "reverse_string,layers-10", "rope:randomized").measured(), 10, 1e-9);
  EXPECT_TRUE(CellAt(built, "parity_check,layers-2", "rope").best());
  EXPECT_EQ(built.gain_pairs(), 4);
  EXPECT_THAT(built.notes(), IsEmpty());
}

TEST(TableSideTest, GroupsAreThoseOfTheFirstAxis) {
  ResultsTable table = Make(By("system,task", "encoding"));
  AddAll(table);

  const v1::Table built = table.Build();

  EXPECT_EQ(Keys(built.rows()).front(), "layers-2,parity_check");
  EXPECT_EQ(built.rows(0).group(), "");
}

TEST(TableSideTest, AnOrderIsOfTheValuesOfEachAxis) {
  v1::TableSpec spec = By("task,system", "encoding");
  for (const char* key : {"layers-10", "reverse_string", "layers-2"}) spec.add_row_order(std::string(key));
  ResultsTable table = Make(spec);
  AddAll(table);

  EXPECT_THAT(Keys(table.Build().rows()), ElementsAre("reverse_string,layers-10", "reverse_string,layers-2", "parity_check,layers-10", "parity_check,layers-2"));
}

TEST(TableSideTest, ColumnsMayBeSeveralAxesBesideOneFromElsewhere) {
  v1::TableSpec spec = By("task", "encoding,seed");
  v1::ExtraColumn& extra = *spec.add_extra_columns();
  extra.set_key("other");
  extra.set_sweep("other");
  ResultsTable table = Make(spec);
  table.Add(Done("even_pairs", "rope", 1e-4, 10, 0.5));
  table.Add(Done("even_pairs", "rope", 1e-4, 9, 0.6));
  table.Add(Done("even_pairs", "alibi", 1e-4, 9, 0.7));
  table.AddExtra(0, Done("even_pairs", "none", 1e-4, 0, 0.8));

  const v1::Table built = table.Build();

  EXPECT_THAT(Keys(built.columns()), ElementsAre("alibi,9", "rope,9", "rope,10", "other"));
  EXPECT_EQ(built.columns(2).label(), "RoPE, seed 10");
  EXPECT_DOUBLE_EQ(CellAt(built, "even_pairs", "rope,10").measured(), 50);
  EXPECT_DOUBLE_EQ(CellAt(built, "even_pairs", "other").measured(), 80);
}

TEST(TableSideTest, WhichTaskIsEasiestIsNotAskedAmongSeveralAxesEither) {
  ResultsTable table = Make(By("system", "task,encoding"));
  AddAll(table);

  const v1::Table built = table.Build();
  EXPECT_GT(built.cells_size(), 0);
  for (const v1::TableCell& cell : built.cells()) EXPECT_FALSE(cell.best());
}

TEST(TableSideTest, AJobIsOneJobAtWhateverManyLengths) {
  ResultsTable table = Make(By("task,length", "encoding"));
  ASSERT_TRUE(table.ByLength());
  for (const int length : {50, 100}) {
    for (const uint32_t seed : {0u, 1u}) {
      TableJob job = Done("even_pairs", "rope", 1e-4, seed, 0.8);
      if (seed == 0) job.state = store::State::kFailed;
      job.value.reset();
      job.length = length;
      job.again = length != 50;
      table.Add(job);
    }
  }

  const v1::Table built = table.Build();

  EXPECT_THAT(Keys(built.rows()), ElementsAre("even_pairs,50", "even_pairs,100"));
  EXPECT_THAT(built.notes(), ElementsAre("1 job failed and counts in no cell", "1 job succeeded without a value of accuracy at some length"));
}

TEST(TableSideTest, PublishedValuesStandBesideTheSameOfSeveralAxes) {
  v1::TableSpec spec = By("task,encoding", "length");
  spec.set_metric("cross_entropy");
  spec.set_published("table_1");
  ResultsTable table = Make(spec);
  TableJob job = Done("enwik8", "rope", 1e-4, 0, 200);
  job.length = 256;
  table.Add(job);

  EXPECT_DOUBLE_EQ(CellAt(table.Build(), "enwik8,rope", "256").published(), 218.8);
}

TEST(TableSideTest, RefusesAnAxisTwiceAndOneThatIsUnknownOrMissing) {
  for (const auto& [rows, columns, says] : {std::tuple("task,task", "encoding", "table.rows: 'task' is there twice; name each axis once"),
                                            std::tuple("task,system", "encoding,task", "table.columns: rows and columns are both 'task'"),
                                            std::tuple("task,sytem", "encoding", "table.rows: unknown axis 'sytem'\n  did you mean 'system'?"),
                                            std::tuple("task", "encoding,", "table.columns: 'encoding,' lacks an axis beside a ','")}) {
    const absl::Status status = ResultsTable::Of(By(rows, columns), "accuracy").status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << says;
    EXPECT_THAT(std::string(status.message()), HasSubstr(says));
  }
}

}  // namespace
}  // namespace longreach::service
