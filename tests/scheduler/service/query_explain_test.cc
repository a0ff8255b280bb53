#include "scheduler/service/query_jobs.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "store/sweeps.h"
#include "store/workers.h"
#include "tests/scheduler/service/query_fixture.h"

namespace longreach::service {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Abilities for all of SmallSweep.
constexpr char kAble[] =
    R"({"name":"box","experiments":["algorithmic"],"tasks":[{"name":"even_pairs","revision":1},{"name":"parity_check","revision":1}],)"
    R"("encodings":[{"name":"rope","revision":1}],"model_revision":1})";
constexpr char kWithoutRope[] =
    R"({"name":"old","experiments":["algorithmic"],"tasks":[{"name":"even_pairs","revision":1},{"name":"parity_check","revision":1}],)"
    R"("encodings":[{"name":"alibi","revision":1}],"model_revision":1})";

class QueryExplainTest : public QueryFixture {
 protected:
  std::vector<std::string> Explain(const std::string& job) {
    store::Snapshot snapshot = Read();
    v1::GetJobRequest request;
    request.set_job(job);
    const absl::StatusOr<v1::ExplainJobResponse> response = ExplainJob(snapshot.db(), request, board_.Read());
    EXPECT_TRUE(response.ok()) << response.status();
    return {response->reasons().begin(), response->reasons().end()};
  }
};

TEST_F(QueryExplainTest, ExplainsAQueuedJobByTheWorkersAndTheLine) {
  const Made sweep = AddSweep(SmallSweep("s"));
  EXPECT_THAT(Explain(sweep.ids[3]), ElementsAre("It is ready; 3 jobs are in line before it.",
                                                 "There is no worker; start one with 'longreach-worker run'."));

  // A worker that lacks the encoding, and one that is put aside.
  AddWorker("w1", "old", kWithoutRope);
  AddWorker("w2", "box", kAble);
  board_.SetWorker("w1", now_);
  board_.SetWorker("w2", now_);
  Write([&](sql::Transaction& tx) {
    return store::SetWorkerState(tx, "w2", WorkerState::kPutAside, "its last 3 attempts failed");
  });
  const std::vector<std::string> reasons = Explain(sweep.ids[0]);
  EXPECT_EQ(reasons[0], "It is ready, and first in line.");
  EXPECT_THAT(reasons, Contains("Worker 'old' has no encoding 'rope'."));
  EXPECT_THAT(reasons, Contains("Worker 'box' does not get it: its last 3 attempts failed."));
}

TEST_F(QueryExplainTest, AWorkerThatIsPutAsideForOneSweepIsThereForAnother) {
  const Made large = AddSweep(SmallSweep("large"));
  v1::SweepSpec spec = SmallSweep("small");
  spec.mutable_training()->set_steps(7);
  const Made small = AddSweep(spec);
  AddWorker("w1", "box", kAble);
  board_.SetWorker("w1", now_);
  Write([&](sql::Transaction& tx) -> absl::Status {
    RETURN_IF_ERROR(store::SetWorkerFailures(tx, "w1", fmt::format("{};{};{}", large.jobs[0], large.jobs[1], large.jobs[2])));
    return store::SetWorkerState(tx, "w1", WorkerState::kPutAside, "its last 3 attempts failed");
  });
  EXPECT_THAT(Explain(large.ids[3]), Contains("Worker 'box' does not get it: its last 3 attempts failed."));
  EXPECT_THAT(Explain(small.ids[0]), Contains("A worker that can take it is idle: it will be leased at that worker's next call."));
}

TEST_F(QueryExplainTest, TheLineIsByPriorityThenSubmission) {
  const Made first = AddSweep(SmallSweep("first"));
  v1::SweepSpec longer = SmallSweep("urgent");
  longer.mutable_training()->set_steps(200);
  const Made urgent = AddSweep(longer, 5);

  EXPECT_EQ(Explain(urgent.ids[1])[0], "It is ready; 1 job is in line before it.");
  EXPECT_EQ(Explain(first.ids[1])[0], "It is ready; 17 jobs are in line before it.");
}

TEST_F(QueryExplainTest, ExplainsARunningJobAndAFailedOneWithWhereToLookFurther) {
  const Made sweep = AddSweep(SmallSweep("s"));
  AddWorker("w1", "box", kAble);
  const int64_t attempt = Lease("w1", std::span(sweep.jobs).first(2));
  board_.Set(attempt, {.worker = "w1", .worker_name = "box", .task = "even_pairs", .encoding = "rope", .members = 2,
                       .step = 12, .steps = 100, .phase = AttemptPhase::kTraining, .steps_per_second = 1});
  EXPECT_EQ(Explain(sweep.ids[0])[0], "Worker 'box' has it as attempt " + std::to_string(attempt) +
                                          ", in a pack of 2: training, step 12 of 100.");
  EXPECT_EQ(Explain(sweep.ids[0]).back(), "'longreach logs " + sweep.ids[0].substr(0, 8) + " --follow' shows what it prints.");

  Fail(attempt, sweep.jobs[0], "killed by signal 9");
  PutLog(attempt, sweep.jobs[0], "last words\n");
  const std::vector<std::string> reasons = Explain(sweep.ids[0]);
  EXPECT_EQ(reasons[0], "It failed: killed by signal 9.");
  EXPECT_EQ(reasons[1], "'longreach retry " + sweep.id.substr(0, 8) + "' gives the failed jobs of its sweep another chance.");
  EXPECT_EQ(reasons.back(), "'longreach logs " + sweep.ids[0].substr(0, 8) + "' shows what attempt " +
                                std::to_string(attempt) + " wrote.");
}

TEST_F(QueryExplainTest, OfARunningJobTheLogOfAnEarlierAttemptIsNamedByItsNumber) {
  const Made sweep = AddSweep(SmallSweep("s"));
  AddWorker("w1", "box", kAble);
  const std::span<const int64_t> job = std::span(sweep.jobs).first(1);
  const int64_t first = Lease("w1", job);
  PutLog(first, sweep.jobs[0], "last words\n");
  GiveBack(first, job);
  End(first, Outcome::kGivenBack);
  const std::string logs = "'longreach logs " + sweep.ids[0].substr(0, 8);
  EXPECT_EQ(Explain(sweep.ids[0]).back(), logs + "' shows what attempt " + std::to_string(first) + " wrote.");

  Lease("w1", job);

  const std::vector<std::string> reasons = Explain(sweep.ids[0]);
  EXPECT_THAT(reasons, Contains(logs + " --follow' shows what it prints."));
  EXPECT_EQ(reasons.back(), logs + " --attempt " + std::to_string(first) + "' shows what attempt " + std::to_string(first) + " wrote.");
}

TEST_F(QueryExplainTest, ExplainsAWaitingJobByTheInputThatIsNotThere) {
  const Made sweep = AddSweep(SmallSweep("s"));
  Write([&](sql::Transaction& tx) -> absl::Status {
    RETURN_IF_ERROR(tx.Run("INSERT INTO job_inputs(job, name, source, artifact) VALUES (?, 'weights', ?, 'weights')",
                           sweep.jobs[5], sweep.jobs[0])
                        .status());
    return tx.Run("UPDATE jobs SET state = 'waiting' WHERE num = ?", sweep.jobs[5]).status();
  });

  EXPECT_THAT(Explain(sweep.ids[5]),
              ElementsAre("It waits for its inputs.",
                          "It needs the input 'weights' of job " + sweep.ids[0].substr(0, 8) + ", which is queued."));
}

// A worker that came meanwhile is not in the store, so that there seems to be none.
TEST_F(QueryExplainTest, AStoreThatTakesNothingIsSaidOfWhatIsNotDoneYet) {
  const Made sweep = AddSweep(SmallSweep("s"));
  AddWorker("w1", "box", kAble);
  const std::span<const int64_t> done = std::span(sweep.jobs).first(1);
  Succeed(Lease("w1", done), done, std::vector<double>{0.5});
  board_.SetStoreTrouble("the disk is full");

  EXPECT_EQ(Explain(sweep.ids[1])[0], "The scheduler has trouble with its disk (the store takes nothing: the disk is full), and goes on by itself once that is over.");
  EXPECT_THAT(Explain(sweep.ids[0]), ::testing::Each(::testing::Not(HasSubstr("disk"))));

  board_.SetStoreTrouble("");
  EXPECT_THAT(Explain(sweep.ids[1]), ::testing::Each(::testing::Not(HasSubstr("disk"))));
}

// By what 'status', 'watch' and 'wait' ask whether they send for a worker.
TEST_F(QueryExplainTest, WhereTheStoreTakesNothingNoWorkerIsLacking) {
  const Made sweep = AddSweep(SmallSweep("s"));
  const auto lacks_worker = [&] {
    store::Snapshot snapshot = Read();
    v1::GetJobRequest request;
    request.set_job(sweep.ids[0]);
    const absl::StatusOr<v1::ExplainJobResponse> response = ExplainJob(snapshot.db(), request, board_.Read());
    EXPECT_TRUE(response.ok()) << response.status();
    return response->no_worker();
  };
  EXPECT_TRUE(lacks_worker());
  board_.SetStoreTrouble("the disk is full");
  EXPECT_FALSE(lacks_worker());
  EXPECT_THAT(Explain(sweep.ids[0]), ::testing::Each(::testing::Not(HasSubstr("start one"))));

  board_.SetStoreTrouble("");
  board_.SetFilesTrouble("no room for files of jobs");
  EXPECT_TRUE(lacks_worker());
}

TEST_F(QueryExplainTest, ExplainsAJobOfAPausedSweep) {
  const Made sweep = AddSweep(SmallSweep("s"));
  Write([&](sql::Transaction& tx) -> absl::Status {
    RETURN_IF_ERROR(store::SetSweepState(tx, sweep.num, SweepState::kPaused));
    return store::RefreshWanted(tx, sweep.num);
  });
  EXPECT_THAT(Explain(sweep.ids[0])[0], HasSubstr("paused; 'longreach resume " + sweep.id.substr(0, 8) + "' lets it run"));
}

}  // namespace
}  // namespace longreach::service
