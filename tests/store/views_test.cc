// The views that people read with the sqlite3 shell.
#include "proto/base/text.h"
#include "tests/store/fixture.h"

namespace longreach::store {
namespace {

using ::testing::AnyOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Not;
using ::testing::StartsWith;

class ViewsTest : public ::testing::Test {
 protected:
  ViewsTest() {
    test_.AddWorker("w1");
    test_.AddWorker("w2");
  }
  // All rows, columns joined by '|', NULL as '-'.
  std::vector<std::string> Lines(const std::string& query, int columns) {
    std::vector<std::string> lines;
    absl::StatusOr<sql::Rows> rows = test_.db().Query(query);
    EXPECT_OK(rows);
    while (rows->Next()) {
      std::vector<std::string> values;
      for (int i = 0; i < columns; ++i) values.push_back(rows->IsNull(i) ? std::string(1, '-') : rows->Get<std::string>(i));
      lines.push_back(Join(values, "|"));
    }
    EXPECT_OK(rows->status());
    return lines;
  }
  TestStore test_;
};

TEST_F(ViewsTest, TableB1IsTheBestOfSeedsAndLearningRatesOfEachSweep) {
  const std::vector<int64_t> jobs =
      test_.AddSweep("one", {MakeJob("even_pairs", "rope", false, 0.1, 0), MakeJob("even_pairs", "rope", false, 0.1, 1),
                             MakeJob("even_pairs", "rope", false, 0.2, 0), MakeJob("even_pairs", "rope", true, 0.1, 0),
                             MakeJob("bucket_sort", "none", false, 0.1, 0)});
  test_.AddSweep("two", {MakeJob("even_pairs", "rope", false, 0.1, 0)}, 0, 1);
  test_.Succeed(test_.Start("w1", {jobs[0]}), 0.25);
  test_.Succeed(test_.Start("w1", {jobs[1]}), 0.75);
  const int64_t diverged = test_.Start("w1", {jobs[2]});
  ASSERT_OK(test_.Write([&](sql::Transaction& tx) -> absl::Status {
    RETURN_IF_ERROR(CompleteJob(tx, jobs[2], diverged, {.diverged = true, .diverged_at = 5}));
    return EndAttempt(tx, diverged, Outcome::kSucceeded, "", "", At(30));
  }));
  test_.Succeed(test_.Start("w1", {jobs[3]}), 0.5);

  EXPECT_THAT(Lines("SELECT sweep, task, encoding, randomized, score, jobs, succeeded, diverged FROM table_b1 "
                    "ORDER BY sweep, task, encoding, randomized",
                    8),
              ElementsAre("one|bucket_sort|none|0|-|1|0|0", "one|even_pairs|rope|0|0.75|3|3|1", "one|even_pairs|rope|1|0.5|1|1|0",
                          "two|even_pairs|rope|0|0.25|1|1|0"));
}

NewJob OfKind(NewJob job, const std::string& experiment) {
  job.requirement.experiment = experiment;
  job.spec += "experiment=" + experiment + "\n";
  job.id = Sha256Of(job.spec);
  return job;
}

// Ends a job of a language or image model: its cross-entropy at 256 and at 1024, and over both.
void SucceedWith(TestStore& test, int64_t job, double at_256, double at_1024) {
  const int64_t attempt = test.Start("w1", {job});
  ASSERT_OK(test.Write([&](sql::Transaction& tx) -> absl::Status {
    RETURN_IF_ERROR(CompleteJob(tx, job, attempt, {.measurements = {{"cross_entropy", 256, "", at_256}, {"cross_entropy", 1024, "", at_1024},
                                                                    {"cross_entropy", 0, "", (at_256 + at_1024) / 2}, {"accuracy", 0, "", 0.5}}}));
    return EndAttempt(tx, attempt, Outcome::kSucceeded, "", "", At(30));
  }));
}

TEST_F(ViewsTest, Tables1And3AreTheLowestCrossEntropyOfSeedsAtEachLength) {
  for (const auto& [experiment, view] : {std::pair("language", "table_1"), std::pair("images", "table_3")}) {
    const std::vector<int64_t> jobs =
        test_.AddSweep(experiment, {OfKind(MakeJob("t", "rope", false, 0.1, 0), experiment), OfKind(MakeJob("t", "rope", false, 0.1, 1), experiment),
                                    OfKind(MakeJob("t", "alibi", true, 0.1, 0), experiment)});
    SucceedWith(test_, jobs[0], 100, 900);
    SucceedWith(test_, jobs[1], 110, 800);

    EXPECT_THAT(Lines(std::string("SELECT sweep, task, encoding, randomized, length, score, jobs, succeeded, diverged FROM ") + view +
                          " ORDER BY encoding, length", 9),
                ElementsAre(experiment + std::string("|t|alibi|1|256|-|1|0|0"), experiment + std::string("|t|alibi|1|1024|-|1|0|0"),
                            experiment + std::string("|t|rope|0|256|100.0|2|2|0"), experiment + std::string("|t|rope|0|1024|800.0|2|2|0")));
  }
  EXPECT_THAT(Lines("SELECT sweep FROM table_b1", 1), ElementsAre());
}

TEST_F(ViewsTest, Table2IsOfTunedModelsWithThoseThatTheyBeganWithBeside) {
  const NewJob trained = OfKind(MakeJob("t", "rope", false, 0.1, 0), "language");
  const int64_t maker = test_.AddSweep("table-1", {trained})[0];
  SucceedWith(test_, maker, 100, 900);
  NewJob tuned = OfKind(MakeJob("t", "alibi", false, 0.2, 0), "language");
  tuned.inputs = {{.name = "weights", .source = trained.id, .artifact = "weights", .metric = ""}};
  const int64_t job = test_.AddSweep("table-2", {tuned})[0];

  EXPECT_THAT(Lines("SELECT sweep, encoding, length, score, jobs FROM table_2 ORDER BY encoding, length", 5),
              ElementsAre("table-2|alibi|-|-|1", "table-2|pretrained|-|-|1")) << "no length yet";
  SucceedWith(test_, job, 80, 700);
  EXPECT_THAT(Lines("SELECT sweep, encoding, length, score, jobs FROM table_2 ORDER BY encoding, length", 5),
              ElementsAre("table-2|alibi|256|80.0|1", "table-2|alibi|1024|700.0|1", "table-2|pretrained|256|100.0|1", "table-2|pretrained|1024|900.0|1"));
  EXPECT_THAT(Lines("SELECT DISTINCT sweep FROM table_1", 1), ElementsAre("table-1")) << "what was tuned is not in Table 1";
}

TEST_F(ViewsTest, TablesFindTheirJobsByTheirSweeps) {
  for (const std::string query : {"table_b1 WHERE sweep = 'one'", "table_1", "table_2", "table_3", "nope_table_1", "nope_table_2", "nope_passkeys", "nope_positions",
                                  "nope_heads"}) {
    std::vector<std::string> plan;
    absl::StatusOr<sql::Rows> rows = test_.db().Query("EXPLAIN QUERY PLAN SELECT * FROM " + query);
    ASSERT_OK(rows);
    while (rows->Next()) plan.push_back(rows->Get<std::string>(3));
    ASSERT_OK(rows->status());
    EXPECT_FALSE(plan.empty());
    // Those of another kind may be millions.
    EXPECT_THAT(plan, Each(Not(AnyOf("SCAN j", StartsWith("SCAN j "), "SCAN sj", StartsWith("SCAN sj "), "SCAN m", StartsWith("SCAN m "))))) << query;
  }
}

TEST_F(ViewsTest, AJobsScoreIsOfTheMetricOfItsKind) {
  const std::vector<int64_t> jobs = test_.AddSweep("one", {MakeJob("even_pairs", "rope", false, 0.1, 0), OfKind(MakeJob("enwik8", "rope", false, 0.1, 0), "language"),
                                                           OfKind(MakeJob("t", "rope", false, 0.1, 0), "a kind of later")});
  test_.Succeed(test_.Start("w1", {jobs[0]}), 0.25);
  SucceedWith(test_, jobs[1], 100, 900);

  EXPECT_THAT(Lines("SELECT experiment, metric, score, accuracy FROM jobs_view ORDER BY experiment", 4),
              ElementsAre("a kind of later|-|-|-", "algorithmic|accuracy|0.25|0.25", "language|cross_entropy|500.0|0.5"));
}

TEST_F(ViewsTest, AJobsLineNamesWhatMadeItsResultAndWhen) {
  const int64_t job = test_.AddSweep("one", {MakeJob("even_pairs", "rope", true, 0.5, 3)})[0];
  test_.Succeed(test_.Start("w2", {job}, 10), 0.5, 70);

  EXPECT_THAT(Lines("SELECT task, encoding, learning_rate, seed, state, accuracy, attempt, worker, build, started_at, ended_at "
                    "FROM jobs_view",
                    11),
              ElementsAre("even_pairs|rope:randomized|0.5|3|succeeded|0.5|1|name of w2|build 1|2023-11-14T22:13:30Z|"
                          "2023-11-14T22:14:30Z"));
  EXPECT_THAT(Lines("SELECT attempt, worker, outcome, members, seconds FROM attempts_view", 5),
              ElementsAre("1|name of w2|succeeded|1|60.0"));
  EXPECT_THAT(Lines("SELECT name, state, jobs, succeeded, submitted_at FROM sweeps_view", 5),
              ElementsAre("one|live|1|1|2023-11-14T22:13:20Z"));
  EXPECT_THAT(Lines("SELECT name, state, seen_at FROM workers_view ORDER BY worker LIMIT 1", 3),
              ElementsAre("name of w1|active|2023-11-14T22:13:22Z"));
}

}  // namespace
}  // namespace longreach::store
