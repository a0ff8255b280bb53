// The views that people read with the sqlite3 shell.
#include "proto/base/text.h"
#include "tests/store/fixture.h"

namespace longreach::store {
namespace {

using ::testing::ElementsAre;

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
  TestStore test_{":memory:"};
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
