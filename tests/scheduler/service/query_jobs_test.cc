#include "scheduler/service/query_jobs.h"

#include <gmock/gmock.h>

#include "proto/types/canonical.h"
#include "scheduler/experiments/expansion.h"
#include "scheduler/experiments/registry.h"
#include "store/artifacts.h"
#include "store/measurements.h"
#include "store/sweeps.h"
#include "tests/scheduler/service/query_fixture.h"

namespace longreach::service {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class QueryJobsTest : public QueryFixture {
 protected:
  absl::StatusOr<v1::ListJobsResponse> List(const v1::ListJobsRequest& request) {
    store::Snapshot snapshot = Read();
    return ListJobs(snapshot.db(), request, board_.Read());
  }
  absl::StatusOr<v1::ListJobsResponse> ListState(const std::string& state) {
    v1::ListJobsRequest request;
    request.set_sweep("last");
    request.set_state(state);
    return List(request);
  }
  absl::StatusOr<v1::GetJobResponse> Get(const std::string& job) {
    store::Snapshot snapshot = Read();
    v1::GetJobRequest request;
    request.set_job(job);
    return GetJob(snapshot.db(), request, board_.Read());
  }
};

TEST_F(QueryJobsTest, WhoNamesASweepIsToldWhatShowsItsJobs) {
  const Made sweep = AddSweep(SmallSweep("mine"));
  const auto refused = [this](const std::string& reference) {
    store::Snapshot snapshot = Read();
    v1::GetJobRequest request;
    request.set_job(reference);
    return ExplainJob(snapshot.db(), request, board_.Read()).status();
  };
  for (const std::string reference : {"mine", "last"}) {
    EXPECT_EQ(refused(reference).code(), absl::StatusCode::kInvalidArgument) << reference;
    EXPECT_THAT(std::string(refused(reference).message()), HasSubstr("(at least 4 hexadecimal digits); it is a sweep, whose jobs 'longreach jobs " + reference + "' shows"));
  }
  const std::string id = sweep.id.substr(0, 12);
  EXPECT_EQ(refused(id).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(std::string(refused(id).message()), "there is no job '" + id + "'; it is a sweep, whose jobs 'longreach jobs " + id + "' shows");
  EXPECT_THAT(std::string(refused("nothing").message()), HasSubstr("; 'longreach jobs SWEEP' shows a sweep's jobs"));
}

TEST_F(QueryJobsTest, PagesFollowTheOrderOfExpansionAndEndWithoutAToken) {
  const Made sweep = AddSweep(SmallSweep("s"));
  v1::ListJobsRequest request;
  request.set_sweep("s");
  request.set_limit(7);
  std::vector<std::string> ids;
  std::vector<int> sizes;
  do {
    const absl::StatusOr<v1::ListJobsResponse> page = List(request);
    ASSERT_TRUE(page.ok()) << page.status();
    for (const v1::Job& job : page->jobs()) ids.push_back(job.id());
    sizes.push_back(page->jobs_size());
    request.set_page_token(page->next_page_token());
  } while (!request.page_token().empty());

  EXPECT_EQ(ids, sweep.ids);
  EXPECT_THAT(sizes, ElementsAre(7, 7, 2));

  // A page that ends with the last job is the last page.
  request.set_limit(16);
  EXPECT_EQ(List(request)->next_page_token(), "");
}

TEST_F(QueryJobsTest, OnlyJobsWithSomeValuesOfAxesAreListed) {
  const Made sweep = AddSweep(SmallSweep("s"));
  v1::ListJobsRequest request;
  request.set_sweep("s");
  const absl::StatusOr<v1::ListJobsResponse> all = List(request);
  ASSERT_TRUE(all.ok()) << all.status();
  std::vector<std::string> expected;
  for (const v1::Job& job : all->jobs()) {
    if (job.encoding() == "rope:randomized" && job.seed() == 1) expected.push_back(job.id());
  }
  ASSERT_GT(expected.size(), 1u);
  request.add_only("encoding=rope:randomized");
  request.add_only("seed=1");
  for (const int limit : {1, 2, 100}) {
    request.set_limit(limit);
    request.clear_page_token();
    std::vector<std::string> ids;
    do {
      const absl::StatusOr<v1::ListJobsResponse> page = List(request);
      ASSERT_TRUE(page.ok()) << page.status();
      EXPECT_LE(page->jobs_size(), limit);
      for (const v1::Job& job : page->jobs()) ids.push_back(job.id());
      request.set_page_token(page->next_page_token());
    } while (!request.page_token().empty());
    EXPECT_EQ(ids, expected) << limit;
  }

  request.clear_page_token();
  request.add_only("task=even_pears");
  EXPECT_THAT(List(request).status().message(), HasSubstr("only: unknown task 'even_pears'"));
  *request.mutable_only(2) = "depth=0.3";
  EXPECT_THAT(List(request).status().message(), HasSubstr("only: 'depth' tells values of a job apart, not jobs; leave it out, or see the values with 'longreach results SWEEP --jobs'"));
}

// While a large sweep's jobs come, and without a look at each of those that are there.
TEST_F(QueryJobsTest, WhatTheSweepListsMayBeAskedForBeforeThereAreSuchJobs) {
  v1::SweepSpec spec = SmallSweep("s");
  const absl::StatusOr<experiments::Expansion> sweep = experiments::Expansion::Of(spec);
  ASSERT_TRUE(sweep.ok()) << sweep.status();
  Write([&](sql::Transaction& tx) {
    return store::InsertSweep(tx, {.id = sweep->id().value, .name = "s", .spec = sweep->canonical(), .submitted_at = now_, .jobs = sweep->size()}).status();
  });
  v1::ListJobsRequest request;
  request.set_sweep("s");
  request.add_only("task=even_pairs");
  request.add_only("encoding=rope:randomized");
  request.add_only("seed=1,0");
  request.add_only("learning_rate=3e-4");
  request.add_only("training.steps=100");

  const absl::StatusOr<v1::ListJobsResponse> none = List(request);

  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_EQ(none->jobs_size(), 0);
  *request.mutable_only(0) = "task=echo";
  EXPECT_THAT(List(request).status().message(), HasSubstr("only: unknown task 'echo'\n  no job is there yet"));
  *request.mutable_only(0) = "training.batch_size=7";
  EXPECT_THAT(List(request).status().message(), HasSubstr("only: unknown training.batch_size '7'"));
}

TEST_F(QueryJobsTest, AJobShowsItsAxesStateStepAndScore) {
  const Made sweep = AddSweep(SmallSweep("s"));
  AddWorker("w1", "box");
  const std::span<const int64_t> jobs(sweep.jobs);
  const int64_t done = Lease("w1", jobs.first(3));
  Succeed(done, jobs.first(1), std::vector{0.75});
  Diverge(done, jobs[1], 40);
  Fail(done, jobs[2], "out of memory");
  End(done, Outcome::kFailed);
  const int64_t running = Lease("w1", jobs.subspan(4, 1));
  Checkpoint(running, jobs[4], 30);
  board_.Set(running, {.worker = "w1", .worker_name = "box", .task = "even_pairs", .encoding = "rope:randomized", .members = 1,
                       .step = 44, .steps = 100, .phase = AttemptPhase::kTraining, .steps_per_second = 1});

  const absl::StatusOr<v1::ListJobsResponse> all = ListState("");

  ASSERT_TRUE(all.ok()) << all.status();
  ASSERT_EQ(all->jobs_size(), 16);
  EXPECT_EQ(all->jobs(0).task(), "even_pairs");
  EXPECT_EQ(all->jobs(0).encoding(), "rope");
  EXPECT_EQ(all->jobs(0).learning_rate(), 1e-4);
  EXPECT_EQ(all->jobs(0).seed(), 0u);
  EXPECT_EQ(all->jobs(0).state(), "succeeded");
  EXPECT_EQ(all->jobs(0).score(), 0.75);
  EXPECT_EQ(all->jobs(0).step(), 100);
  EXPECT_EQ(all->jobs(0).steps(), 100);
  EXPECT_TRUE(all->jobs(1).diverged());
  EXPECT_FALSE(all->jobs(1).has_score());
  EXPECT_EQ(all->jobs(1).step(), 40);
  EXPECT_EQ(all->jobs(2).state(), "failed");
  EXPECT_EQ(all->jobs(2).failure(), "out of memory");
  EXPECT_EQ(all->jobs(2).failures(), 3);
  EXPECT_EQ(all->jobs(2).losses(), 1);
  EXPECT_EQ(all->jobs(4).encoding(), "rope:randomized");
  EXPECT_EQ(all->jobs(4).state(), "leased");
  EXPECT_EQ(all->jobs(4).step(), 44);
  EXPECT_EQ(all->jobs(15).task(), "parity_check");
  EXPECT_EQ(all->jobs(15).state(), "queued");

  // Without the worker's word the checkpoint counts.
  board_.Remove(running);
  EXPECT_EQ(ListState("leased")->jobs(0).step(), 30);
  // And what it told of before this scheduler began.
  Write([&](sql::Transaction& tx) { return tx.Run("UPDATE attempts SET step = 35 WHERE id IN (?, ?)", running, done).status(); });
  EXPECT_EQ(ListState("leased")->jobs(0).step(), 35);
  EXPECT_EQ(ListState("failed")->jobs(0).step(), 0) << "not of an attempt that has ended";
  EXPECT_EQ(ListState("failed")->jobs_size(), 1);
  EXPECT_EQ(ListState("failed")->jobs(0).id(), sweep.ids[2]);
  EXPECT_EQ(ListState("succeeded")->jobs_size(), 2);
  ASSERT_EQ(ListState("diverged")->jobs_size(), 1);
  EXPECT_EQ(ListState("diverged")->jobs(0).id(), sweep.ids[1]);
  EXPECT_EQ(ListState("queued")->jobs_size(), 12);

  EXPECT_EQ(ListState("queued,leased")->jobs_size(), 13);
  ASSERT_EQ(ListState("failed,diverged")->jobs_size(), 2);
  EXPECT_EQ(ListState("failed,diverged")->jobs(0).id(), sweep.ids[1]);
  EXPECT_EQ(ListState("succeeded,diverged")->jobs_size(), 2) << "one that diverged has succeeded";
  EXPECT_EQ(ListState("waiting,cancelled")->jobs_size(), 0);
}

TEST_F(QueryJobsTest, UnknownStatesLimitsAndTokensAreRefused) {
  AddSweep(SmallSweep("s"));
  const absl::Status unknown = ListState("faild").status();
  EXPECT_EQ(unknown.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(unknown.message()), HasSubstr("did you mean 'failed'?"));
  EXPECT_THAT(std::string(ListState("queued,faild").status().message()), HasSubstr("unknown state 'faild'"));
  EXPECT_EQ(ListState("queued,").status().code(), absl::StatusCode::kInvalidArgument);
  v1::ListJobsRequest request;
  request.set_sweep("s");
  request.set_limit(-1);
  EXPECT_EQ(List(request).status().code(), absl::StatusCode::kInvalidArgument);
  request.set_limit(1);
  request.set_page_token("x1");
  EXPECT_EQ(List(request).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(QueryJobsTest, AJobTellsAllThatIsKnownOfIt) {
  const Made sweep = AddSweep(SmallSweep("s"));
  AddWorker("w1", "box");
  const std::span<const int64_t> jobs(sweep.jobs);
  const int64_t lost = Lease("w1", jobs.first(2));
  GiveBack(lost, jobs.first(2));
  End(lost, Outcome::kLost, "silent for 15 s");
  const int64_t done = Lease("w1", jobs.first(1), "1.1");
  Write([&](sql::Transaction& tx) {
    return store::AddProgress(tx, jobs[0], std::vector<store::ProgressRow>{{10, 0.7, now_}, {20, 0.6, now_}});
  });
  Succeed(done, jobs.first(1), std::vector{0.75});
  End(done, Outcome::kSucceeded);
  PutLog(done, jobs[0], "hello\n");

  const absl::StatusOr<v1::GetJobResponse> response = Get(sweep.ids[0].substr(0, 8));

  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->job().id(), sweep.ids[0]);
  EXPECT_EQ(response->job().score(), 0.75);
  EXPECT_EQ(JobIdOf(response->canonical()).value, sweep.ids[0]);
  EXPECT_EQ(response->spec().training().steps(), 100);
  EXPECT_EQ(response->spec().model().layers(), 5);  // Defaults are filled in.
  ASSERT_EQ(response->attempts_size(), 2);
  EXPECT_EQ(response->attempts(0).outcome(), "succeeded");
  EXPECT_EQ(response->attempts(0).build(), "1.1");
  EXPECT_EQ(response->attempts(0).engine(), "libtorch");
  EXPECT_EQ(response->attempts(0).worker_name(), "box");
  EXPECT_EQ(response->attempts(1).outcome(), "lost");
  EXPECT_EQ(response->attempts(1).detail(), "silent for 15 s");
  EXPECT_EQ(response->attempts(1).members(), 2);
  ASSERT_EQ(response->measurements_size(), 2);  // Over all lengths; length 50 is left out.
  EXPECT_EQ(response->measurements(0).metric(), "accuracy");
  EXPECT_EQ(response->measurements(0).value(), 0.75);
  EXPECT_EQ(response->measurements(1).metric(), "loss");
  ASSERT_EQ(response->progress_size(), 2);
  EXPECT_EQ(response->progress(1).step(), 20);
  EXPECT_EQ(response->progress(1).loss(), 0.6);
  ASSERT_EQ(response->artifacts_size(), 1);
  EXPECT_EQ(response->artifacts(0).kind(), "log");
  EXPECT_THAT(response->sweeps(), ElementsAre(sweep.id));
}

// Who made a job's numbers must be told from who had the job.
TEST_F(QueryJobsTest, OneAttemptAtMostHasSucceededForAJob) {
  const Made sweep = AddSweep(SmallSweep("s"));
  AddWorker("w1", "box");
  const std::span<const int64_t> jobs(sweep.jobs);
  const int64_t first = Lease("w1", jobs.first(2), "1.0");
  Write([&](sql::Transaction& tx) { return store::DropMember(tx, first, jobs[0]); });
  GiveBack(first, jobs.first(1));
  Succeed(first, jobs.subspan(1, 1), std::vector{0.5});
  End(first, Outcome::kSucceeded);

  EXPECT_EQ(Get(sweep.ids[0])->attempts(0).outcome(), "dropped") << "it has no result at all";
  EXPECT_EQ(Get(sweep.ids[1])->attempts(0).outcome(), "succeeded");

  const int64_t second = Lease("w1", jobs.first(1), "1.1");
  Succeed(second, jobs.first(1), std::vector{0.75});
  End(second, Outcome::kSucceeded);

  const absl::StatusOr<v1::GetJobResponse> job = Get(sweep.ids[0]);
  ASSERT_EQ(job->attempts_size(), 2);
  EXPECT_EQ(job->attempts(0).outcome(), "succeeded");
  EXPECT_EQ(job->attempts(0).build(), "1.1");
  EXPECT_EQ(job->attempts(1).outcome(), "dropped");
}

TEST_F(QueryJobsTest, AWrongJobIsRefused) {
  AddSweep(SmallSweep("s"));
  EXPECT_EQ(Get("abc").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Get("no such job").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Get(std::string(64, '0')).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(QueryJobsTest, OfAnAttemptItIsToldWhatItWentOnFrom) {
  const Made sweep = AddSweep(SmallSweep("s"));
  AddWorker("w1", "box");
  const std::span<const int64_t> job = std::span(sweep.jobs).first(1);
  const int64_t first = Lease("w1", job);
  Checkpoint(first, sweep.jobs[0], 40);
  GiveBack(first, job);
  End(first, Outcome::kGivenBack);
  Lease("w1", job, "1.0", 40);

  const absl::StatusOr<v1::GetJobResponse> response = Get(sweep.ids[0]);

  ASSERT_TRUE(response.ok()) << response.status();
  ASSERT_EQ(response->attempts_size(), 2);
  EXPECT_EQ(response->attempts(0).went_on_from().attempt(), first);
  EXPECT_EQ(response->attempts(0).went_on_from().step(), 40);
  EXPECT_FALSE(response->attempts(1).has_went_on_from());
}

TEST_F(QueryJobsTest, OfAnAttemptThatRunsItIsToldWhatItDoes) {
  const Made sweep = AddSweep(SmallSweep("s"));
  AddWorker("w1", "box");
  const std::span<const int64_t> job = std::span(sweep.jobs).first(1);
  const auto phase = [&]() -> std::string {
    const absl::StatusOr<v1::GetJobResponse> response = Get(sweep.ids[0]);
    EXPECT_TRUE(response.ok()) << response.status();
    return response.ok() && response->attempts_size() > 0 ? response->attempts(0).phase() : "none";
  };
  const int64_t attempt = Lease("w1", job);
  EXPECT_EQ(phase(), "") << "its worker has not told it yet";

  board_.Set(attempt, {.worker = "w1", .worker_name = "box", .task = "even_pairs", .encoding = "rope", .members = 1, .step = 100, .steps = 100,
                       .phase = AttemptPhase::kWaitingForDisk});
  EXPECT_EQ(phase(), "waits for its disk");

  GiveBack(attempt, job);
  End(attempt, Outcome::kGivenBack);
  EXPECT_EQ(phase(), "") << "it has ended";
}

TEST_F(QueryJobsTest, NamesTheSystemOfAJobInTheSweepThatIsListedAndInAllOfThem) {
  // The jobs of `slow` are those of a sweep of another system too; that of `plain` is one without systems.
  v1::SweepSpec spec = SmallSweep("both");
  v1::System& slow = *spec.add_systems();
  slow.set_name("slow");
  slow.mutable_with()->mutable_training()->set_steps(200);
  spec.add_systems()->set_name("quick");
  v1::SweepSpec other = spec;
  other.set_name("other");
  other.mutable_systems(0)->set_name("other-slow");
  other.mutable_systems()->RemoveLast();
  AddSweep(SmallSweep("plain"));
  AddSweep(other);
  const Made made = AddSweep(spec);

  v1::ListJobsRequest request;
  request.set_sweep("both");
  const absl::StatusOr<v1::ListJobsResponse> listed = List(request);

  ASSERT_TRUE(listed.ok()) << listed.status();
  ASSERT_EQ(listed->jobs_size(), 32);
  for (const v1::Job& job : listed->jobs()) EXPECT_THAT(job.systems(), ElementsAre(job.steps() == 200 ? "slow" : "quick"));
  request.set_sweep("plain");
  const absl::StatusOr<v1::ListJobsResponse> plain = List(request);
  ASSERT_TRUE(plain.ok() && plain->jobs_size() > 0) << plain.status();
  for (const v1::Job& job : plain->jobs()) EXPECT_TRUE(job.systems().empty());
  EXPECT_THAT(Get(made.ids.front())->job().systems(), ElementsAre("quick"));
  EXPECT_THAT(Get(made.ids.back())->job().systems(), ElementsAre("other-slow", "slow"));
}

// The view cannot ask the kinds themselves.
TEST_F(QueryJobsTest, TheStoresViewsHaveTheMainMetricOfEveryKind) {
  store::Snapshot snapshot = Read();
  for (const std::string& kind : experiments::KindNames()) {
    const absl::StatusOr<std::optional<std::string>> metric =
        snapshot.db().First<std::string>("SELECT metric FROM main_metrics WHERE experiment = ?", kind);
    ASSERT_TRUE(metric.ok()) << metric.status();
    EXPECT_EQ(*metric, std::string(experiments::FindKind(kind)->MainMetric())) << kind;
  }
}

TEST_F(QueryJobsTest, AListEndsOnceAStopIsRequested) {
  AddSweep(LongSweep("s"));
  std::stop_source stop;
  stop.request_stop();
  store::Snapshot snapshot = Read();
  v1::ListJobsRequest request;
  request.set_sweep("s");
  EXPECT_EQ(ListJobs(snapshot.db(), request, {}, stop.get_token()).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(ListJobs(snapshot.db(), request, {}).ok());
}

}  // namespace
}  // namespace longreach::service
