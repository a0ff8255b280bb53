// Settings as axes of tables: what the systems of a sweep differ in.
#include <gmock/gmock.h>

#include <map>
#include <tuple>

#include "scheduler/service/query_measurements.h"
#include "scheduler/service/query_table.h"
#include "tests/scheduler/service/query_fixture.h"

namespace longreach::service {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class SettingAxesTest : public QueryFixture {
 protected:
  // Layers 2 and 10, batches of 8 and 16, by systems whose names stand in another order; a job each of even_pairs with RoPE. Accuracies are
  // 0.1, 0.2, ... in the order of layers, then batches.
  void Measure() {
    v1::SweepSpec spec = SmallSweep("s");
    spec.mutable_axes()->mutable_task()->DeleteSubrange(1, spec.axes().task_size() - 1);
    spec.mutable_axes()->mutable_encoding()->DeleteSubrange(1, spec.axes().encoding_size() - 1);
    spec.mutable_axes()->mutable_learning_rate()->Truncate(1);
    spec.mutable_axes()->mutable_seed()->Truncate(1);
    spec.mutable_model()->set_layers(2);  // Of systems that say nothing else.
    int n = 0;
    for (const auto& [name, layers, batch] : {std::tuple("d", 0, 8), std::tuple("a", 0, 16), std::tuple("c", 10, 8), std::tuple("b", 10, 16)}) {
      v1::System& system = *spec.add_systems();
      system.set_name(name);
      if (layers > 0) system.mutable_with()->mutable_model()->set_layers(layers);
      system.mutable_with()->mutable_training()->set_batch_size(batch);
      scores_[name] = 0.1 * ++n;
    }
    const Made sweep = AddSweep(spec);
    AddWorker("w1", "box");
    const std::vector<std::string> by_position = {"a", "b", "c", "d"};
    for (size_t i = 0; i < sweep.jobs.size(); ++i) {
      const auto job = std::span(sweep.jobs).subspan(i, 1);
      const std::vector<double> score = {scores_.at(by_position[i])};
      const int64_t attempt = Lease("w1", job);
      Succeed(attempt, job, score);
      End(attempt, Outcome::kSucceeded);
    }
  }
  absl::StatusOr<v1::Table> Table(const std::string& rows, const std::string& columns, const std::vector<std::string>& only = {}) {
    store::Snapshot snapshot = Read();
    v1::GetTableRequest request;
    request.set_sweep("s");
    request.mutable_table()->set_rows(rows);
    request.mutable_table()->set_columns(columns);
    for (const std::string& one : only) request.mutable_table()->add_only(one);
    return GetTable(snapshot.db(), request);
  }
  static std::vector<std::string> Keys(const google::protobuf::RepeatedPtrField<v1::TableAxisEntry>& entries) {
    std::vector<std::string> keys;
    for (const v1::TableAxisEntry& entry : entries) keys.push_back(entry.key());
    return keys;
  }
  static std::vector<int> Percent(const v1::Table& table) {
    std::vector<int> values;
    for (const v1::TableCell& cell : table.cells()) values.push_back(cell.has_measured() ? static_cast<int>(cell.measured() + 0.5) : -1);
    return values;
  }

  std::map<std::string, double> scores_;
};

TEST_F(SettingAxesTest, TwoFieldsOfAGridAreRowsAndColumnsInTheirOrder) {
  Measure();
  const v1::Table table = *Table("model.layers", "training.batch_size");
  EXPECT_THAT(Keys(table.rows()), ElementsAre("2", "10"));
  EXPECT_THAT(Keys(table.columns()), ElementsAre("8", "16"));
  EXPECT_THAT(Percent(table), ElementsAre(10, 20, 30, 40));
  EXPECT_EQ(table.rows(1).label(), "layers 10");
}

TEST_F(SettingAxesTest, OneOfThemAggregatesOverTheOther) {
  Measure();
  const v1::Table table = *Table("training.batch_size", "task");
  EXPECT_THAT(Keys(table.rows()), ElementsAre("8", "16"));
  EXPECT_THAT(Percent(table), ElementsAre(30, 40));
  EXPECT_EQ(table.cells(0).jobs(), 2);
}

TEST_F(SettingAxesTest, WhatNobodySaysIsTheDefault) {
  Measure();
  const v1::Table table = *Table("model.heads", "training.weight_decay");
  EXPECT_THAT(Keys(table.rows()), ElementsAre("8"));
  EXPECT_EQ(table.rows(0).label(), "heads 8");
  EXPECT_THAT(Keys(table.columns()), ElementsAre(""));
  EXPECT_EQ(table.columns(0).label(), "weight_decay not set");
}

TEST_F(SettingAxesTest, ByLengthTheyAreThereToo) {
  Measure();
  const v1::Table table = *Table("length", "model.layers");
  EXPECT_THAT(Keys(table.columns()), ElementsAre("2", "10"));
  EXPECT_FALSE(table.rows().empty());
}

TEST_F(SettingAxesTest, OnlySomeValuesAreAskedFor) {
  Measure();
  EXPECT_THAT(Percent(*Table("system", "task", {"model.layers=10.0"})), ElementsAre(40, 30));
  EXPECT_THAT(Percent(*Table("model.layers", "task", {"training.batch_size=8"})), ElementsAre(10, 30));
  EXPECT_THAT(std::string(Table("system", "task", {"model.layers=3"}).status().message()), HasSubstr("table.only: unknown model.layers '3'\n  known are 2, 10"));
  EXPECT_THAT(Percent(*Table("system", "task", {"model.layers=5..10"})), ElementsAre(40, 30));
  EXPECT_THAT(std::string(Table("system", "task", {"model.layers=3..9"}).status().message()), HasSubstr("table.only: unknown model.layers '3..9'\n  known are 2, 10"));
  store::Snapshot snapshot = Read();
  v1::ListMeasurementsRequest request;
  request.set_sweep("s");
  request.add_only("model.layers=10");
  request.add_only("training.batch_size=16");
  const absl::StatusOr<v1::ListMeasurementsResponse> rows = ListMeasurements(snapshot.db(), request, MeasurementLimits{});
  ASSERT_TRUE(rows.ok()) << rows.status();
  ASSERT_EQ(rows->jobs_size(), 1);
  EXPECT_THAT(rows->jobs(0).job().systems(), ElementsAre("b"));
}

TEST_F(SettingAxesTest, JobsWithoutASettingAreAskedForByNothing) {
  Measure();
  const v1::Table table = *Table("model.layers", "task", {"data=", "training.batch_size=8"});
  EXPECT_THAT(Percent(table), ElementsAre(10, 30));
  EXPECT_THAT(table.notes(), ::testing::Contains("only jobs with data not set"));
}

TEST_F(SettingAxesTest, AValueThatNoJobHasIsRefusedWithThoseThatThereAre) {
  Measure();
  const auto why = [this](const std::string& only) { return std::string(Table("system", "task", {only}).status().message()); };
  EXPECT_THAT(why("data=words"), HasSubstr("table.only: unknown data 'words'\n  no job has this setting"));
  EXPECT_THAT(why("model.layers="), HasSubstr("table.only: no job is without the setting model.layers\n  known are 2, 10"));
  EXPECT_THAT(why("seed="), HasSubstr("'seed=' is not AXIS=VALUE"));
}

TEST_F(SettingAxesTest, LabelsTellSettingsFromEachOtherAndFromAxes) {
  Measure();
  EXPECT_EQ(Table("evaluation.seed", "task")->rows(0).label(), "evaluation.seed 0");
  EXPECT_EQ(Table("model.dropout", "task")->rows(0).label(), "model.dropout 0.1");
  EXPECT_EQ(Table("training.data_seed", "task")->rows(0).label(), "data_seed 0");
}

TEST_F(SettingAxesTest, AWordIsTakenForThePathThatItEnds) {
  AddSweep(SmallSweep("s"));
  const auto message = [](const absl::StatusOr<v1::Table>& table) { return std::string(table.status().message()); };
  EXPECT_THAT(message(Table("layers", "task")), HasSubstr("table.rows: unknown axis 'layers'\n  did you mean 'model.layers'? known are "));
  EXPECT_THAT(message(Table("layers", "task")), HasSubstr(", or a setting by its path, as model.layers"));
  EXPECT_THAT(message(Table("system", "task", {"=1"})), HasSubstr("table.only: unknown axis ''"));
  EXPECT_THAT(message(Table("system", "task", {"layers=1"})), HasSubstr("did you mean 'model.layers'?"));
}

TEST_F(SettingAxesTest, ASweepWithoutSystemsHasOneValue) {
  v1::SweepSpec spec = SmallSweep("s");
  spec.mutable_model()->set_layers(3);
  AddSweep(spec);
  EXPECT_THAT(Keys(Table("model.layers", "task")->rows()), ElementsAre("3"));
}

TEST_F(SettingAxesTest, AJobHasNoSettingThatItsEncodingDoesNotUse) {
  AddSweep(SmallSweep("s"));  // RoPE, plain and with positions that are drawn.
  const v1::Table table = *Table("positions.max_position", "encoding");
  EXPECT_THAT(Keys(table.rows()), ElementsAre("", "2048"));
  EXPECT_THAT(Keys(table.columns()), ElementsAre("rope", "rope:randomized"));
  std::vector<int> jobs;
  for (const v1::TableCell& cell : table.cells()) jobs.push_back(cell.jobs());
  EXPECT_THAT(jobs, ElementsAre(8, 0, 0, 8));
  EXPECT_THAT(Keys(Table("encoding", "task", {"positions.max_position=2048"})->rows()), ElementsAre("rope:randomized"));
  EXPECT_THAT(Keys(Table("encoding", "task", {"positions.max_position="})->rows()), ElementsAre("rope"));
}

TEST_F(SettingAxesTest, UnknownPathsAreRefusedWithThoseOfTheirGroup) {
  AddSweep(SmallSweep("s"));
  const absl::StatusOr<v1::Table> table = Table("model.layer", "task");
  EXPECT_EQ(table.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(table.status().message()), HasSubstr("table.rows: unknown setting 'model.layer'\n  did you mean 'model.layers'? known are model.attention_scale,"));
  EXPECT_EQ(std::string(Table("modl.layers", "task").status().message()),
            "table.rows: unknown setting 'modl.layers'\n  did you mean 'model.layers'? settings begin with model., positions., training., evaluation.; 'longreach list fields' shows all of them");
  EXPECT_EQ(Table("training.lengths", "task").status().code(), absl::StatusCode::kInvalidArgument) << "a list";
  EXPECT_EQ(Table("system", "task", {"model.layer=3"}).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace longreach::service
