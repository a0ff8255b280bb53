#include "scheduler/service/query_table.h"

#include <sqlite3.h>

#include <gmock/gmock.h>

#include <array>
#include <utility>

#include "tests/scheduler/service/query_fixture.h"

namespace longreach::service {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class QueryTableTest : public QueryFixture {
 protected:
  v1::Table Table(const std::string& sweep, const v1::TableSpec& spec = {}) {
    store::Snapshot snapshot = Read();
    v1::GetTableRequest request;
    request.set_sweep(sweep);
    *request.mutable_table() = spec;
    absl::StatusOr<v1::Table> table = GetTable(snapshot.db(), request);
    EXPECT_TRUE(table.ok()) << table.status();
    return *std::move(table);
  }
  // All 16 jobs of a SmallSweep, each cell's four in a pack of their own, with these accuracies.
  void SucceedAll(const Made& sweep, const std::vector<double>& accuracies) {
    AddWorker("w1", "box");
    for (size_t first = 0; first < sweep.jobs.size(); first += 4) {
      const auto jobs = std::span(sweep.jobs).subspan(first, 4);
      const int64_t attempt = Lease("w1", jobs, first == 0 ? "1.0" : "1.1");
      Succeed(attempt, jobs, std::span(accuracies).subspan(first, 4));
      End(attempt, Outcome::kSucceeded);
    }
  }
};

// even_pairs: rope, then randomized; parity_check: the same. Four jobs a cell: learning rates, and seeds within.
const std::vector<double> kAccuracies = {0.50, 0.54, 0.58, 0.62, 0.70, 0.90, 0.80, 1.00,
                                         0.50, 0.50, 0.52, 0.48, 0.40, 0.45, 0.50, 0.55};

TEST_F(QueryTableTest, IsTheMaximumOverSeedsAndLearningRatesUnlessToldOtherwise) {
  SucceedAll(AddSweep(SmallSweep("s")), kAccuracies);
  v1::TableSpec spec;
  spec.set_gain(true);

  const v1::Table table = Table("s", spec);

  EXPECT_EQ(table.title(), "s");
  EXPECT_EQ(table.metric(), "accuracy");
  ASSERT_EQ(table.rows_size(), 2);
  ASSERT_EQ(table.columns_size(), 2);
  EXPECT_EQ(table.rows(0).key(), "even_pairs");
  EXPECT_EQ(table.columns(1).key(), "rope:randomized");
  EXPECT_DOUBLE_EQ(table.cells(0).measured(), 62);
  EXPECT_DOUBLE_EQ(table.cells(0).median(), 56);
  EXPECT_DOUBLE_EQ(table.cells(1).measured(), 100);
  EXPECT_DOUBLE_EQ(table.cells(2).measured(), 52);
  EXPECT_DOUBLE_EQ(table.cells(3).measured(), 55);
  EXPECT_EQ(table.cells(3).jobs(), 4);
  EXPECT_TRUE(table.cells(1).best());
  EXPECT_FALSE(table.cells(0).best());
  // (100 - 62 + 55 - 52) / 2.
  EXPECT_DOUBLE_EQ(table.gain(), 20.5);
  EXPECT_EQ(table.gain_pairs(), 2);
}

TEST_F(QueryTableTest, ABuildThatTrainedThePartBeforeACheckpointIsOneOfACellsBuilds) {
  const Made sweep = AddSweep(SmallSweep("s"));
  AddWorker("w1", "box");
  const std::array<int64_t, 1> job = {sweep.jobs[0]};
  const auto give_back = [&](const std::string& build, int start_step) {
    const int64_t attempt = Lease("w1", job, build, start_step);
    GiveBack(attempt, job);
    End(attempt, Outcome::kGivenBack);
  };
  give_back("0.8", 4);  // Of before the checkpoint was lost: trained anew since.
  give_back("0.9", 0);  // Ended before it had a checkpoint.
  give_back("1.0", 0);
  give_back("1.1", 5);  // Left none of its own.
  const int64_t last = Lease("w1", job, "1.2", 5);
  Succeed(last, job, std::array<double, 1>{0.5});
  End(last, Outcome::kSucceeded);

  const v1::Table table = Table("s");

  EXPECT_EQ(table.cells(0).builds(), 2) << "1.0 and 1.2";
  EXPECT_THAT(table.notes(), Contains(HasSubstr("1 cell was made by more than one build: Even Pairs / RoPE")));
}

TEST_F(QueryTableTest, ABuildThatTestedAPartIsOneOfACellsBuilds) {
  v1::SweepSpec trained = SmallSweep("trained");
  trained.mutable_axes()->mutable_encoding()->DeleteSubrange(1, 1);
  v1::SweepSpec tested = trained;
  tested.set_name("tested");
  tested.mutable_training()->set_steps(0);
  v1::Input& weights = *tested.add_inputs();
  weights.set_name("weights");
  weights.set_artifact("weights");
  *weights.mutable_from()->mutable_training() = trained.training();
  const std::array<int64_t, 1> after_training = {AddSweep(trained).jobs[0]}, only = {AddSweep(tested).jobs[0]};
  AddWorker("w1", "box");
  for (const auto& [job, steps] : {std::pair(after_training, 100), std::pair(only, 0)}) {
    const auto end = [&, &of = job](const std::string& build, int start_step, Outcome outcome) {
      const int64_t attempt = Lease("w1", of, build, start_step);
      GiveBack(attempt, of);
      End(attempt, outcome);
    };
    if (steps > 0) end("1.0", 0, Outcome::kGivenBack);
    end("1.1", steps, Outcome::kGivenBack);  // Stopped between two test lengths, as was the one that was lost.
    end("1.2", steps, Outcome::kLost);
    end("1.3", steps, Outcome::kFailed);
    const int64_t last = Lease("w1", job, "1.4", steps);
    Succeed(last, job, std::array<double, 1>{0.5});
    End(last, Outcome::kSucceeded);
  }

  EXPECT_EQ(Table("trained").cells(0).builds(), 4) << "1.0, 1.1, 1.2 and 1.4";
  EXPECT_EQ(Table("tested").cells(0).builds(), 3) << "1.1, 1.2 and 1.4";
}

TEST_F(QueryTableTest, ABuildWhoseTestsACrashLeftBehindIsOneOfACellsBuilds) {
  const std::array<int64_t, 1> job = {AddSweep(SmallSweep("s")).jobs[0]};
  AddWorker("w1", "box");
  const auto end_with_checkpoint = [&](const std::string& build, int start_step, Outcome outcome) {
    const int64_t attempt = Lease("w1", job, build, start_step);
    Checkpoint(attempt, job[0], 100);
    GiveBack(attempt, job);
    End(attempt, outcome);
  };
  end_with_checkpoint("1.0", 0, Outcome::kLost);
  end_with_checkpoint("1.1", 100, Outcome::kFailed);  // Out of memory at the next length.
  const int64_t last = Lease("w1", job, "1.2", 100);
  Succeed(last, job, std::array<double, 1>{0.5});
  End(last, Outcome::kSucceeded);

  EXPECT_EQ(Table("s").cells(0).builds(), 3) << "1.0, 1.1 and 1.2";
}

TEST_F(QueryTableTest, WhatBeganAnewAndLeftNothingIsNoneOfTheMakersOfWhatWentOnFromAnEarlierCheckpoint) {
  const std::array<int64_t, 1> job = {AddSweep(SmallSweep("s")).jobs[0]};
  AddWorker("w1", "box");
  const auto lose = [&](int64_t attempt) {
    GiveBack(attempt, job);
    End(attempt, Outcome::kLost);
  };
  const int64_t first = Lease("w1", job, "1.0");
  Checkpoint(first, job[0], 50);
  lose(first);
  const int64_t anew = Lease("w1", job, "1.1", 50);
  Write([&](sql::Transaction& tx) { return store::SetAttemptStart(tx, anew, 0); });  // It could not use the checkpoint.
  lose(anew);
  const int64_t last = Lease("w1", job, "1.2", 50);
  Succeed(last, job, std::array<double, 1>{0.5});
  Write([&](sql::Transaction& tx) { return store::EndAttempt(tx, last, Outcome::kSucceeded, "", "lanes-avx2", now_); });

  const v1::Table table = Table("s");

  EXPECT_EQ(table.cells(0).builds(), 2) << "1.0 and 1.2";
  EXPECT_THAT(table.notes(), Contains("1 cell was made by more than one engine, which do not round alike: Even Pairs / RoPE (lanes-avx2, libtorch)"));
}

TEST_F(QueryTableTest, OtherColumnsLengthsMetricsAndAggregatesOfTheSameJobs) {
  SucceedAll(AddSweep(SmallSweep("s")), kAccuracies);
  v1::TableSpec spec;
  spec.set_rows("learning_rate");
  spec.set_columns("seed");
  spec.set_length(50);  // Half of each accuracy.
  spec.set_aggregate("mean");

  const v1::Table by_rate = Table("s", spec);

  EXPECT_EQ(by_rate.rows(0).key(), "0.0001");
  EXPECT_EQ(by_rate.columns(1).label(), "seed 1");
  // Rate 1e-4, seed 0: 0.50, 0.70, 0.50, 0.40; their mean halved is 26.25 %.
  EXPECT_DOUBLE_EQ(by_rate.cells(0).measured(), 26.25);
  EXPECT_EQ(by_rate.cells(0).builds(), 2);
  EXPECT_THAT(by_rate.notes(0), HasSubstr("4 cells were made by more than one build"));

  v1::TableSpec loss;
  loss.set_metric("loss");
  loss.set_aggregate("min");
  const v1::Table losses = Table("s", loss);
  EXPECT_EQ(losses.unit(), "nats");
  EXPECT_DOUBLE_EQ(losses.cells(0).measured(), 1 - 0.62);
  EXPECT_TRUE(losses.cells(1).best());  // 0 is the lowest of even_pairs.

  v1::TableSpec elsewhere;
  elsewhere.set_length(60);
  const v1::Table missing = Table("s", elsewhere);
  EXPECT_FALSE(missing.cells(0).has_measured());
  EXPECT_THAT(missing.notes(), ElementsAre("16 jobs succeeded without a value of accuracy at length 60", "there are values of accuracy over all lengths and at length 50"));
}

TEST_F(QueryTableTest, WhatDecodersAloneAreMeasuredByIsSaidToBeSoWhereEncodersLackIt) {
  SucceedAll(AddSweep(SmallSweep("s")), kAccuracies);
  v1::TableSpec exact;
  exact.set_metric("exact_match");

  EXPECT_THAT(Table("s", exact).notes(), Contains("16 jobs succeeded without a value of exact_match over all lengths: it is measured of decoders alone (model.causal: true)"));
}

v1::TableSpec WithBestOfRuoss() {
  v1::TableSpec spec;
  v1::ExtraColumn& extra = *spec.add_extra_columns();
  extra.set_key("best_of_ruoss_2023");
  extra.set_label("Best of [1]");
  extra.set_sweep("ruoss-2023");
  return spec;
}

TEST_F(QueryTableTest, AnExtraColumnOfAnInputThatNoJobHasIsSaidToBeSo) {
  SucceedAll(AddSweep(SmallSweep("s")), kAccuracies);
  v1::TableSpec spec;
  v1::ExtraColumn& extra = *spec.add_extra_columns();
  extra.set_key("before");
  extra.set_input("weights");

  const v1::Table table = Table("s", spec);

  EXPECT_FALSE(table.cells(2).has_measured());
  EXPECT_THAT(table.notes(), ::testing::Contains("before: not measured, as no job of this sweep has an input 'weights'"));
}

TEST_F(QueryTableTest, AnExtraColumnComesFromTheNewestSweepOfItsName) {
  SucceedAll(AddSweep(SmallSweep("s")), kAccuracies);
  const v1::TableSpec spec = WithBestOfRuoss();
  EXPECT_FALSE(Table("s", spec).cells(2).has_measured());
  EXPECT_THAT(Table("s", spec).notes(), ::testing::Contains(HasSubstr("'ruoss-2023' has not been submitted")));

  // An older sweep of the name with better values, and a newer one, half of it done.
  v1::SweepSpec older = SmallSweep("ruoss-2023");
  older.mutable_training()->set_steps(200);
  SucceedAll(AddSweep(older), std::vector<double>(16, 1.0));
  v1::SweepSpec newer = SmallSweep("ruoss-2023");
  newer.mutable_training()->set_steps(300);
  const Made made = AddSweep(newer);
  const auto half = std::span(made.jobs).first(8);
  const int64_t attempt = Lease("w1", half);
  Succeed(attempt, half, std::vector{0.1, 0.2, 0.3, 0.4, 0.5, 0.91, 0.7, 0.6});

  const v1::Table table = Table("s", spec);

  ASSERT_EQ(table.columns_size(), 3);
  EXPECT_EQ(table.columns(2).label(), "Best of [1]");
  EXPECT_DOUBLE_EQ(table.cells(2).measured(), 91);
  EXPECT_EQ(table.cells(2).jobs(), 8);
  EXPECT_FALSE(table.cells(5).has_measured());
  EXPECT_THAT(table.notes(), ::testing::Contains("Best of [1]: 8 jobs of the sweep 'ruoss-2023' not finished yet"));
}

TEST_F(QueryTableTest, AnExtraColumnComesFromTheNewestSweepOfItsNameWithTheTablesOwnSettings) {
  SucceedAll(AddSweep(SmallSweep("s")), kAccuracies);
  const v1::TableSpec spec = WithBestOfRuoss();
  v1::SweepSpec same = SmallSweep("ruoss-2023");
  same.mutable_axes()->clear_encoding();
  same.mutable_axes()->add_encoding("alibi");
  const Made made = AddSweep(same);
  const int64_t attempt = Lease("w1", made.jobs);
  Succeed(attempt, made.jobs, std::vector{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8});
  End(attempt, Outcome::kSucceeded);
  v1::SweepSpec newer = SmallSweep("ruoss-2023");
  newer.mutable_training()->set_steps(300);
  newer.mutable_axes()->add_seed(2);
  AddSweep(newer);

  const v1::Table table = Table("s", spec);

  EXPECT_DOUBLE_EQ(table.cells(2).measured(), 40);
  EXPECT_THAT(table.notes(), ::testing::Not(::testing::Contains(HasSubstr("other settings"))));
  // Of another table no sweep of that name has the settings.
  v1::SweepSpec shorter = SmallSweep("t");
  shorter.mutable_training()->set_steps(50);
  AddSweep(shorter);
  EXPECT_THAT(Table("t", spec).notes(),
              ::testing::Contains("Best of [1]: of other settings: the sweep 'ruoss-2023' differs from this one in seed, training.steps"));
}

TEST_F(QueryTableTest, ALaterSweepOfSomeEncodingsDoesNotReplaceAWholeOneInAnExtraColumn) {
  SucceedAll(AddSweep(SmallSweep("s")), kAccuracies);
  const v1::TableSpec spec = WithBestOfRuoss();
  const auto add = [this](const std::vector<std::string>& encodings, double accuracy) {
    v1::SweepSpec sweep = SmallSweep("ruoss-2023");
    sweep.mutable_axes()->mutable_encoding()->Assign(encodings.begin(), encodings.end());
    const Made made = AddSweep(sweep);
    SucceedAll(made, std::vector<double>(made.jobs.size(), accuracy));
  };
  add({"alibi", "none"}, 0.9);
  add({"sin_cos"}, 0.95);

  EXPECT_DOUBLE_EQ(Table("s", spec).cells(2).measured(), 90);
}

TEST_F(QueryTableTest, WhichColumnsAreAskedForLeavesTheExtraOneAsItIs) {
  SucceedAll(AddSweep(SmallSweep("s")), kAccuracies);
  v1::SweepSpec other = SmallSweep("ruoss-2023");
  other.mutable_axes()->clear_encoding();
  other.mutable_axes()->add_encoding("alibi");
  const Made made = AddSweep(other);
  Succeed(Lease("w1", made.jobs), made.jobs, std::vector{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8});
  v1::TableSpec spec;
  v1::ExtraColumn& extra = *spec.add_extra_columns();
  extra.set_key("best_of_ruoss_2023");
  extra.set_sweep("ruoss-2023");
  spec.add_only("encoding=rope:randomized");
  spec.add_only("seed=0");

  const v1::Table table = Table("s", spec);

  ASSERT_EQ(table.columns_size(), 2);
  EXPECT_DOUBLE_EQ(table.cells(0).measured(), 80);
  EXPECT_DOUBLE_EQ(table.cells(1).measured(), 30) << "its encodings are others, its seeds are not";
  EXPECT_EQ(table.cells(1).jobs(), 2);
  EXPECT_THAT(table.notes(), ::testing::Not(::testing::Contains(HasSubstr("not measured"))));
}

TEST_F(QueryTableTest, WhatASweepComparesIsToldApartUnasked) {
  v1::SweepSpec spec = SmallSweep("s");
  for (const auto& [name, layers] : {std::pair("deep", 3), std::pair("flat", 1)}) {
    v1::System& system = *spec.add_systems();
    system.set_name(name);
    system.mutable_with()->mutable_model()->set_layers(layers);
  }
  AddSweep(spec);
  const auto keys = [](const auto& entries) {
    std::vector<std::string> all;
    for (const v1::TableAxisEntry& entry : entries) all.push_back(entry.key());
    return all;
  };

  const v1::Table table = Table("s");

  EXPECT_THAT(keys(table.rows()), ElementsAre("even_pairs,deep", "even_pairs,flat", "parity_check,deep", "parity_check,flat"));
  EXPECT_THAT(keys(table.columns()), ElementsAre("rope", "rope:randomized"));
  v1::TableSpec by_system;
  by_system.set_rows("system");
  EXPECT_THAT(keys(Table("s", by_system).columns()), ElementsAre("even_pairs,rope", "even_pairs,rope:randomized", "parity_check,rope", "parity_check,rope:randomized"));
  EXPECT_THAT(table.cells(), ::testing::Each(::testing::Property(&v1::TableCell::jobs, 4))) << "learning rates and seeds";
}

TEST_F(QueryTableTest, AJobOfTwoSweepsCountsInBoth) {
  SucceedAll(AddSweep(SmallSweep("s")), kAccuracies);
  v1::SweepSpec part = SmallSweep("part");
  part.mutable_axes()->clear_seed();
  part.mutable_axes()->add_seed(0);
  AddSweep(part);

  const v1::Table table = Table("part");

  EXPECT_EQ(table.cells(0).jobs(), 2);
  EXPECT_DOUBLE_EQ(table.cells(0).measured(), 58);  // Of 0.50 and 0.58.
}

// Table B.1 has 460 lengths per job: only the one that is asked for may be touched.
TEST_F(QueryTableTest, ReadsOneMeasurementOfEachJobWhateverElseThereIs) {
  const Made sweep = AddSweep(SmallSweep("s"));
  SucceedAll(sweep, kAccuracies);
  Write([&](sql::Transaction& tx) -> absl::Status {
    for (const int64_t job : sweep.jobs) {
      for (int length = 100; length < 600; ++length) {
        RETURN_IF_ERROR(tx.Run("INSERT INTO measurements(job, metric, length, slice, value) VALUES (?, 'accuracy', ?, '', 0.5)",
                               job, length)
                            .status());
      }
    }
    return absl::OkStatus();
  });
  store::Snapshot snapshot = Read();
  sqlite3* database = snapshot.db().raw();
  // Every 100 instructions of SQLite's machine; reading all 8,048 measurements would take more than 40,000 instructions.
  int64_t hundreds = 0;
  sqlite3_progress_handler(
      database, 100,
      [](void* count) {
        ++*static_cast<int64_t*>(count);
        return 0;
      },
      &hundreds);
  v1::GetTableRequest request;
  request.set_sweep("s");
  const absl::StatusOr<v1::Table> table = GetTable(snapshot.db(), request);
  sqlite3_progress_handler(database, 0, nullptr, nullptr);

  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_DOUBLE_EQ(table->cells(0).measured(), 62);
  EXPECT_GT(hundreds, 0);
  EXPECT_LT(hundreds, 50);
}

TEST_F(QueryTableTest, RefusesWhatIsNotThere) {
  AddSweep(SmallSweep("s"));
  store::Snapshot snapshot = Read();
  v1::GetTableRequest request;
  request.set_sweep("t-unknown");
  EXPECT_EQ(GetTable(snapshot.db(), request).status().code(), absl::StatusCode::kNotFound);
  request.set_sweep("s");
  request.mutable_table()->set_metric("happiness");
  EXPECT_EQ(GetTable(snapshot.db(), request).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(QueryTableTest, OfJobsWithoutLengthsAreNoneAndTheJobsAreThereStill) {
  v1::SweepSpec noop = SmallSweep("s");
  noop.set_experiment("noop");
  noop.clear_training();
  noop.clear_evaluation();
  AddSweep(noop);
  v1::TableSpec spec;
  spec.set_rows("encoding");
  spec.set_columns("length");
  spec.add_only("task=even_pairs");

  const v1::Table table = Table("s", spec);

  EXPECT_EQ(table.columns_size(), 0);
  EXPECT_THAT(table.notes(), ElementsAre("only jobs with task even_pairs", "8 jobs are not finished (8 queued): the table will change", "no job has a value of echo at a length"));
  // Programs are told the kind of those that they act on.
  ASSERT_EQ(table.typed_notes_size(), 2);
  EXPECT_EQ(table.typed_notes(0).kind(), v1::TableNote::KIND_ONLY);
  EXPECT_EQ(table.typed_notes(0).axis(), "task");
  EXPECT_EQ(table.typed_notes(0).text(), table.notes(0));
  EXPECT_EQ(table.typed_notes(1).kind(), v1::TableNote::KIND_NO_VALUE);
  EXPECT_EQ(table.typed_notes(1).axis(), "");
  EXPECT_EQ(table.typed_notes(1).text(), table.notes(2));
  // A word that no job has is refused as ever.
  spec.set_only(0, "task=even_pear");
  store::Snapshot snapshot = Read();
  v1::GetTableRequest request;
  request.set_sweep("s");
  *request.mutable_table() = spec;
  EXPECT_THAT(GetTable(snapshot.db(), request).status().message(), HasSubstr("unknown task 'even_pear'"));
}

TEST_F(QueryTableTest, ByLengthIsWhereSomethingWasMeasured) {
  const Made sweep = AddSweep(SmallSweep("s"));
  v1::TableSpec spec;
  spec.set_columns("length");
  spec.set_metric("attention_entropy");
  const auto lengths = [](const v1::Table& table) {
    std::vector<std::string> keys;
    for (const v1::TableAxisEntry& entry : table.columns()) keys.push_back(entry.key());
    return keys;
  };
  const std::vector<std::string> of_tests = lengths(Table("s", spec));  // As long as there is nothing.
  EXPECT_FALSE(of_tests.empty());
  SucceedAll(sweep, kAccuracies);
  Write([&](sql::Transaction& tx) -> absl::Status {
    for (const int length : {7, 14, 21}) {
      RETURN_IF_ERROR(tx.Run("INSERT INTO measurements(job, metric, length, slice, value) VALUES (?, 'attention_entropy', ?, '', 0.5)",
                             sweep.jobs[0], length)
                          .status());
    }
    return tx.Run("INSERT INTO measurements(job, metric, length, slice, value) VALUES (?, 'attention_entropy', 28, 'layer=0', 0.5)", sweep.jobs[0])
        .status();
  });

  EXPECT_THAT(lengths(Table("s", spec)), ElementsAre("7", "14", "21"));
  spec.set_slice("layer=0");
  EXPECT_THAT(lengths(Table("s", spec)), ElementsAre("28"));
  spec.clear_slice();
  spec.set_metric("accuracy");
  EXPECT_EQ(lengths(Table("s", spec)), of_tests);
}

TEST_F(QueryTableTest, EndsOnceAStopIsRequested) {
  AddSweep(LongSweep("s"));
  std::stop_source stop;
  stop.request_stop();
  store::Snapshot snapshot = Read();
  v1::GetTableRequest request;
  request.set_sweep("s");
  for (const char* rows : {"encoding", "length", "depth"}) {
    request.mutable_table()->set_rows(rows);
    EXPECT_EQ(GetTable(snapshot.db(), request, stop.get_token()).status().code(), absl::StatusCode::kUnavailable) << rows;
    EXPECT_TRUE(GetTable(snapshot.db(), request).ok()) << rows;
  }
}

}  // namespace
}  // namespace longreach::service
