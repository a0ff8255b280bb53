// Losses of training as a metric by step: in tables and lists, of jobs that run too.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "proto/base/text.h"
#include "scheduler/service/query_measurements.h"
#include "scheduler/service/query_table.h"
#include "store/measurements.h"
#include "tests/scheduler/service/query_fixture.h"

namespace longreach::service {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class LossCurvesTest : public QueryFixture {
 protected:
  void AddPoints(int64_t job, const std::vector<std::pair<int, double>>& points) {
    Write([&](sql::Transaction& tx) {
      std::vector<store::ProgressRow> rows;
      for (const auto& [step, loss] : points) rows.push_back({.step = step, .loss = loss, .at = now_});
      return store::AddProgress(tx, job, rows);
    });
  }
  // Of even pairs with plain RoPE: one that succeeded and one that runs, both with the first learning rate; one that failed and one that
  // diverged. All others wait.
  Made Mixed() {
    Made sweep = AddSweep(SmallSweep("s"));
    AddWorker("w1", "box");
    const std::span<const int64_t> jobs(sweep.jobs);
    const int64_t attempt = Lease("w1", jobs.first(4));
    AddPoints(jobs[0], {{9, 1.0}, {50, 0.75}, {100, 0.5}});
    AddPoints(jobs[1], {{9, 3.0}});
    AddPoints(jobs[2], {{9, 100.0}});
    AddPoints(jobs[3], {{9, 7.0}, {50, std::numeric_limits<double>::quiet_NaN()}});
    Succeed(attempt, jobs.first(1), std::vector{0.5});
    Fail(attempt, jobs[2], "out of memory");
    Diverge(attempt, jobs[3], 50);
    return sweep;
  }
  absl::StatusOr<v1::Table> Table(const v1::TableSpec& spec) {
    store::Snapshot snapshot = Read();
    v1::GetTableRequest request;
    request.set_sweep("s");
    *request.mutable_table() = spec;
    return GetTable(snapshot.db(), request);
  }
  // "STEP LOSS" of each row.
  std::vector<std::string> Losses(v1::ListMeasurementsRequest request) {
    request.set_sweep("s");
    store::Snapshot snapshot = Read();
    const absl::StatusOr<v1::ListMeasurementsResponse> page = ListMeasurements(snapshot.db(), request);
    EXPECT_TRUE(page.ok()) << page.status();
    std::vector<std::string> rows;
    for (const v1::JobMeasurements& job : page->jobs()) {
      for (const v1::Measurement& one : job.measurements()) rows.push_back(one.slice() + " " + ShortestNumber(one.value()));
    }
    return rows;
  }
};

v1::TableSpec ByStep() {
  v1::TableSpec spec;
  spec.set_rows("step");
  spec.set_columns("encoding");
  spec.set_aggregate("mean");
  return spec;
}

std::vector<std::string> KeysOf(const google::protobuf::RepeatedPtrField<v1::TableAxisEntry>& entries) {
  std::vector<std::string> keys;
  for (const v1::TableAxisEntry& entry : entries) keys.push_back(entry.key());
  return keys;
}

TEST_F(LossCurvesTest, ATableByStepIsOfLossesOfFinishedAndRunningJobs) {
  Mixed();
  const absl::StatusOr<v1::Table> table = Table(ByStep());
  ASSERT_TRUE(table.ok()) << table.status();

  EXPECT_EQ(table->metric(), "training_loss");
  EXPECT_EQ(table->unit(), "nats");
  EXPECT_THAT(KeysOf(table->rows()), ElementsAre("9", "50", "100")) << "by size, not as texts";
  ASSERT_THAT(KeysOf(table->columns()), ElementsAre("rope", "rope:randomized"));
  EXPECT_DOUBLE_EQ(table->cells(0).measured(), 2.0) << "neither that of the job that failed nor that of the one that diverged";
  EXPECT_DOUBLE_EQ(table->cells(2).measured(), 0.75);
  EXPECT_DOUBLE_EQ(table->cells(4).measured(), 0.5);
  EXPECT_FALSE(table->cells(1).has_measured());
  EXPECT_EQ(table->cells(0).builds(), 1);
  EXPECT_THAT(table->notes(), Contains(HasSubstr("13 jobs are not finished")));
  EXPECT_THAT(table->notes(), Contains(HasSubstr("1 job failed")));
  EXPECT_THAT(table->notes(), Contains(HasSubstr("1 job diverged")));
}

TEST_F(LossCurvesTest, WithoutThatAxisItIsTheNewestLossOfEachJob) {
  Mixed();
  v1::TableSpec spec;
  spec.set_rows("encoding");
  spec.set_columns("seed");
  spec.set_metric("training_loss");
  const absl::StatusOr<v1::Table> table = Table(spec);
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_DOUBLE_EQ(table->cells(0).measured(), 0.5);
  EXPECT_DOUBLE_EQ(table->cells(1).measured(), 3.0);

  spec.set_length(50);
  EXPECT_FALSE(Table(spec)->cells(0).has_measured()) << "no loss of training is of a test length";
  spec.set_length(0);
  spec.set_slice("step=50");
  EXPECT_DOUBLE_EQ(Table(spec)->cells(0).measured(), 0.75);
  EXPECT_FALSE(Table(spec)->cells(1).has_measured());
  spec.set_slice("depth=50");
  EXPECT_FALSE(Table(spec)->cells(0).has_measured());
}

TEST_F(LossCurvesTest, StepsAndJobsCanBeChosen) {
  Mixed();
  v1::TableSpec spec = ByStep();
  spec.add_only("step=9,100");
  spec.add_only("seed=0");
  const absl::StatusOr<v1::Table> table = Table(spec);
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_THAT(KeysOf(table->rows()), ElementsAre("9", "100"));
  EXPECT_DOUBLE_EQ(table->cells(0).measured(), 1.0);
}

TEST_F(LossCurvesTest, StepsAreTakenTogetherInEqualRanges) {
  const Made sweep = Mixed();
  v1::TableSpec spec = ByStep();
  spec.set_step_bins(2);
  absl::StatusOr<v1::Table> table = Table(spec);
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_THAT(KeysOf(table->rows()), ElementsAre("50", "100"));
  // Of the job that succeeded the mean of 1 and 0.75, of the one that runs 3: first the mean of each job, then that over jobs.
  EXPECT_DOUBLE_EQ(table->cells(0).measured(), (0.875 + 3.0) / 2);
  EXPECT_EQ(table->cells(0).jobs(), 8) << "those of both tasks, each once";
  EXPECT_DOUBLE_EQ(table->cells(2).measured(), 0.5);

  spec.set_step_bins(3);
  EXPECT_THAT(KeysOf(Table(spec)->rows()), ElementsAre("34", "68", "100")) << "the last ends with the newest step";
  spec.set_step_bins(1000);
  EXPECT_THAT(KeysOf(Table(spec)->rows()), ElementsAre("9", "50", "100"));

  AddPoints(sweep.jobs[1], {{200, 2.5}});
  spec.add_only("seed=0");
  spec.set_step_bins(1);
  EXPECT_THAT(KeysOf(Table(spec)->rows()), ElementsAre("100")) << "of the jobs that are asked for";

  spec.set_step_bins(-1);
  EXPECT_THAT(std::string(Table(spec).status().message()), HasSubstr("table.step_bins: -1 is negative"));
  spec.set_step_bins(3);
  spec.set_rows("task");
  EXPECT_THAT(std::string(Table(spec).status().message()), HasSubstr("neither rows nor columns are steps"));
}

TEST_F(LossCurvesTest, OtherMetricsHaveNoSteps) {
  Mixed();
  v1::TableSpec spec = ByStep();
  spec.set_metric("accuracy");
  const absl::StatusOr<v1::Table> table = Table(spec);
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->cells_size(), 0);
  EXPECT_THAT(table->notes(), Contains(HasSubstr("no job has a value of accuracy by step")));
}

TEST_F(LossCurvesTest, AreListedWhereTheyAreAskedFor) {
  Mixed();
  EXPECT_THAT(Losses({}), ::testing::Each(::testing::StartsWith(" "))) << "measurements alone, which have no slice here";
  v1::ListMeasurementsRequest request;
  request.set_metric("training_loss");
  EXPECT_THAT(Losses(request), ElementsAre("step=9 1", "step=50 0.75", "step=100 0.5", "step=9 3", "step=9 100", "step=9 7"))
      << "whatever came of the job, but no loss that is none";
  request.set_slice("step=50");
  EXPECT_THAT(Losses(request), ElementsAre("step=50 0.75"));
  request.set_slice("");
  EXPECT_THAT(Losses(request), ElementsAre(" 0.5", " 3", " 100")) << "the newest, where that is a number";
  request.clear_slice();
  request.add_only("step=100");
  EXPECT_THAT(Losses(request), ElementsAre("step=100 0.5"));
  request.set_length(40);
  EXPECT_THAT(Losses(request), IsEmpty());
}

TEST_F(LossCurvesTest, InfiniteOnesAreLeftOutAlsoOfAStoreThatHasThem) {
  const Made sweep = AddSweep(SmallSweep("s"));
  AddPoints(sweep.jobs[0], {{9, 1.0}, {50, std::numeric_limits<double>::infinity()}});
  AddPoints(sweep.jobs[1], {{9, 3.0}, {50, 2.0}});
  // As programs of before wrote what AddProgress() keeps as none.
  Write([&](sql::Transaction& tx) { return tx.Run("UPDATE progress SET loss = -9e999 WHERE job = ? AND step = 50", sweep.jobs[1]).status(); });

  v1::ListMeasurementsRequest request;
  request.set_metric("training_loss");
  EXPECT_THAT(Losses(request), ElementsAre("step=9 1", "step=9 3"));
  request.set_slice("");
  EXPECT_THAT(Losses(request), IsEmpty()) << "the newest are no numbers";
  const absl::StatusOr<v1::Table> by_step = Table(ByStep());
  ASSERT_TRUE(by_step.ok()) << by_step.status();
  EXPECT_THAT(KeysOf(by_step->rows()), ElementsAre("9"));
  v1::TableSpec newest;
  newest.set_rows("encoding");
  newest.set_columns("seed");
  newest.set_metric("training_loss");
  for (const char* slice : {"", "step=50"}) {
    newest.set_slice(slice);
    const absl::StatusOr<v1::Table> table = Table(newest);
    ASSERT_TRUE(table.ok()) << table.status();
    for (const v1::TableCell& cell : table->cells()) EXPECT_FALSE(cell.has_measured()) << slice;
  }
}

}  // namespace
}  // namespace longreach::service
