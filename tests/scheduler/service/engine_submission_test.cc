// Large sweeps: their jobs come in slices, others go in between, and what breaks off is gone on with.
#include <gmock/gmock.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "proto/base/sha256.h"
#include "scheduler/service/query_jobs.h"
#include "scheduler/service/query_sweeps.h"
#include "scheduler/service/query_table.h"
#include "tests/scheduler/service/engine_fixture.h"

namespace longreach::service {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Steering = v1::SteerSweepRequest;

class EngineSubmissionTest : public EngineFixture {
 protected:
  EngineSubmissionTest() {
    options_.jobs_in_slice = 2;
    RestartScheduler();
  }
  absl::StatusOr<v1::SubmitSweepResponse> TrySubmit(const v1::SweepSpec& spec) {
    v1::SubmitSweepRequest request;
    *request.mutable_spec() = spec;
    return engine_->SubmitSweep(request, *store_);
  }
  // Before the second slice is written.
  void BetweenSlices(std::function<void()> happens) {
    during_event_ = [this, happens = std::move(happens)] { during_event_ = happens; };
  }
  absl::Status BreakOff(const v1::SweepSpec& spec) {
    BetweenSlices([this] { disk_full_ = true; });
    const absl::Status status = TrySubmit(spec).status();
    disk_full_ = false;
    return status;
  }
  int64_t ToCome(const std::string& sweep) { return store::NewestSweep(store_->writer_connection(), sweep)->to_come; }

};

TEST_F(EngineSubmissionTest, TheFirstJobsAreLeasedWhileOthersAreToCome) {
  TestWorker worker = Worker("a");
  v1::Lease lease;
  BetweenSlices([&] {
    EXPECT_EQ(Counts("s").queued(), 2);
    EXPECT_EQ(Counts("s").waiting(), 3);  // Those to come.
    lease = worker.Take();
  });

  const v1::SubmitSweepResponse submitted = Submit(Sweep("s", 5));

  EXPECT_EQ(lease.jobs_size(), 2);
  EXPECT_TRUE(submitted.created());
  EXPECT_EQ(submitted.plan().jobs(), 5);
  EXPECT_EQ(submitted.sweep().jobs(), 5);
  EXPECT_EQ(submitted.sweep().counts().leased(), 2);
  EXPECT_EQ(submitted.sweep().counts().queued(), 3);
  EXPECT_EQ(ToCome("s"), 0);
}

TEST_F(EngineSubmissionTest, WhatCannotBePrintedIsNotTrained) {
  v1::SubmitSweepRequest request;
  *request.mutable_spec() = Sweep("s", 5);
  request.mutable_table()->set_rows("taks");
  for (const bool dry_run : {true, false}) {
    request.set_dry_run(dry_run);
    const absl::Status refused = engine_->SubmitSweep(request, *store_).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(refused.message(), HasSubstr("table.rows: unknown axis 'taks'"));
  }
  EXPECT_FALSE(store::FindSweep(store_->writer_connection(), experiments::Expansion::Of(request.spec())->id().value)->has_value());

  // Seeds are 0 to 4; other values than those of the axes may still come, of slices and settings.
  request.mutable_table()->set_rows("task");
  request.mutable_table()->add_only("seed=1,7");
  EXPECT_THAT(engine_->SubmitSweep(request, *store_).status().message(), HasSubstr("only: unknown seed '7'\n  known are 0, 1, 2, 3, 4"));
  request.mutable_table()->set_only(0, "system=small");
  EXPECT_THAT(engine_->SubmitSweep(request, *store_).status().message(), HasSubstr("only: unknown system 'small'"));
  request.mutable_table()->set_only(0, "seed=1,4");
  request.mutable_table()->add_only("learning_rate=1e-3");
  request.mutable_table()->add_only("step=7");
  EXPECT_TRUE(engine_->SubmitSweep(request, *store_).ok());
}

TEST_F(EngineSubmissionTest, ATableIsKeptUntilAnotherIsGiven) {
  v1::SubmitSweepRequest request;
  *request.mutable_spec() = Sweep("s", 5);
  const auto submit = [&] {
    const absl::Status status = engine_->SubmitSweep(request, *store_).status();
    EXPECT_TRUE(status.ok()) << status;
  };
  const auto kept = [&] {
    v1::GetSweepRequest asked;
    asked.set_sweep("s");
    const absl::StatusOr<v1::Sweep> sweep = GetSweep(store_->writer_connection(), asked);
    EXPECT_TRUE(sweep.ok()) << sweep.status();
    return sweep.ok() ? *sweep : v1::Sweep();
  };
  v1::TableSpec& table = *request.mutable_table();
  table.set_rows("seed");
  table.set_columns("task");
  table.set_title("\xc3\x9c \"{over}\"\n\x01");
  table.add_only("seed=0..3");
  table.set_published_gain(7.4);
  submit();
  const std::string first = table.SerializeAsString();
  EXPECT_EQ(kept().table().SerializeAsString(), first);

  // Neither a submission without one nor what only asks changes it.
  request.clear_table();
  submit();
  request.mutable_table()->set_rows("learning_rate");
  request.set_dry_run(true);
  submit();
  RestartScheduler();
  EXPECT_EQ(kept().table().SerializeAsString(), first);

  request.set_dry_run(false);
  submit();
  EXPECT_EQ(kept().table().SerializeAsString(), request.table().SerializeAsString());
}

TEST_F(EngineSubmissionTest, ASweepSubmittedWithoutATableMayGetOne) {
  Submit(Sweep("s", 5));
  const int64_t num = store::NewestSweep(store_->writer_connection(), "s")->num;
  EXPECT_EQ(*store::TableOfSweep(store_->writer_connection(), num), "");
  v1::SubmitSweepRequest request;
  *request.mutable_spec() = Sweep("s", 5);
  request.mutable_table()->set_rows("seed");
  EXPECT_TRUE(engine_->SubmitSweep(request, *store_).ok());
  EXPECT_EQ(*store::TableOfSweep(store_->writer_connection(), num), R"({"rows":"seed"})");

  for (int i = 0; i < 600; ++i) request.mutable_table()->add_row_order(std::to_string(i) + std::string(1000, 'x'));
  const absl::Status refused = engine_->SubmitSweep(request, *store_).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(refused.message(), HasSubstr("bytes as JSON; at most 524288: shorten what it lists, such as row_order"));
  EXPECT_EQ(*store::TableOfSweep(store_->writer_connection(), num), R"({"rows":"seed"})");
}

// Of millions of jobs it takes half a minute, in which others would wait for its thread.
TEST_F(EngineSubmissionTest, APlanThatNobodyWaitsForEnds) {
  v1::SubmitSweepRequest request;
  *request.mutable_spec() = Sweep("s", 2500);
  request.set_dry_run(true);
  int looks = 0;
  EXPECT_EQ(engine_->SubmitSweep(request, *store_, [&] { return ++looks > 1; }).status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(looks, 2) << "in the middle";
  const absl::StatusOr<v1::SubmitSweepResponse> planned = engine_->SubmitSweep(request, *store_, [&] { return ++looks, false; });
  ASSERT_TRUE(planned.ok()) << planned.status();
  EXPECT_EQ(planned->plan().jobs(), 2500);
  EXPECT_EQ(looks, 5);
}

// Whatever a worker takes, a report with the values of all members has to fit into a message.
TEST_F(EngineSubmissionTest, APlanCountsThePacksThatJobsWithManyValuesAreLeasedIn) {
  TestWorker worker = Worker("a");
  worker.next().mutable_abilities()->set_pack_limit(128);
  worker.next().set_free_slots(0);
  worker.Sync();
  v1::SweepSpec spec = Sweep("s", 200);
  for (int length = 41; length < 540; ++length) spec.mutable_evaluation()->add_lengths(length);
  EXPECT_EQ(Submit(spec).plan().packs(), 2);
  ASSERT_TRUE(Steer("s", Steering::ACTION_CANCEL).ok());

  spec.set_name("curves");
  spec.mutable_evaluation()->set_curve_every(50);
  const v1::SubmitSweepResponse made = Submit(spec), again = Submit(spec);

  worker.next().set_free_slots(10);
  const v1::SynchronizeResponse given = worker.Sync();
  EXPECT_GT(given.leases_size(), 2);
  EXPECT_EQ(made.plan().packs(), given.leases_size());
  EXPECT_EQ(again.plan().packs(), made.plan().packs()) << "counted by what the store has";
  const double members = given.leases(0).jobs_size();
  EXPECT_DOUBLE_EQ(made.plan().pack_memory_bytes(), made.plan().checkpoint_bytes() / 200 / 3 * 4 * members);
}

TEST_F(EngineSubmissionTest, ATableSaysThatJobsAreToCome) {
  EXPECT_FALSE(BreakOff(Sweep("s", 5)).ok());
  v1::GetTableRequest request;
  request.set_sweep("s");

  const absl::StatusOr<v1::Table> table = GetTable(store_->writer_connection(), request);

  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_THAT(table->notes(), ElementsAre("5 jobs are not finished (3 waiting, 2 queued): the table will change"));
}

TEST_F(EngineSubmissionTest, ATableOfSomeJobsDoesNotCountAllThatAreToComeAsTheirs) {
  v1::SweepSpec spec = Sweep("s", 5);
  spec.mutable_axes()->add_encoding("alibi");
  EXPECT_FALSE(BreakOff(spec).ok());
  v1::GetTableRequest request;
  request.set_sweep("s");
  request.mutable_table()->add_only("seed=0,4");
  const auto notes = [&] {
    const absl::StatusOr<v1::Table> table = GetTable(store_->writer_connection(), request);
    EXPECT_TRUE(table.ok()) << table.status();
    return table.ok() ? std::vector<std::string>(table->notes().begin(), table->notes().end()) : std::vector<std::string>();
  };

  EXPECT_THAT(notes(), ElementsAre("only jobs with seed 0 or 4", "1 job is not finished (1 queued): the table will change",
                                   "8 jobs of the sweep are still to come, some of which may be asked for: the table may change"))
      << "of seed 4 none is there yet, and it is no slip";

  ASSERT_TRUE(Steer("s", v1::SteerSweepRequest::ACTION_CANCEL).ok());
  EXPECT_THAT(notes(), ElementsAre("only jobs with seed 0 or 4", "1 job was cancelled and counts in no cell",
                                   "8 jobs of the sweep were cancelled before they were there, some of which may be asked for"));
  request.mutable_table()->set_only(0, "seed=7");
  EXPECT_EQ(GetTable(store_->writer_connection(), request).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(EngineSubmissionTest, WhatBrokeOffIsGoneOnWithAfterAStart) {
  const absl::Status broken_off = BreakOff(Sweep("s", 5));
  EXPECT_EQ(broken_off.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(broken_off.message()), ::testing::StartsWith("the sweep 's' is in the store, with 2 of its 5 jobs, and the scheduler goes on by itself once it can: "));
  EXPECT_EQ(ToCome("s"), 3);

  RestartScheduler();
  RunDeadlines();

  EXPECT_EQ(ToCome("s"), 0);
  EXPECT_EQ(Counts("s").queued(), 5);
  EXPECT_EQ(engine_->NextDeadline(), std::nullopt);
  EXPECT_FALSE(Submit(Sweep("s", 5)).created()) << "the same jobs";
  EXPECT_EQ(Counts("s").queued(), 5);
}

TEST_F(EngineSubmissionTest, WhatBrokeOffIsGoneOnWithAsSoonAsThereIsRoom) {
  EXPECT_FALSE(BreakOff(Sweep("s", 7)).ok());
  disk_full_ = true;
  RunDeadlines();
  EXPECT_EQ(ToCome("s"), 5);
  disk_full_ = false;

  Advance(std::chrono::seconds(1));

  EXPECT_EQ(ToCome("s"), 0);
  EXPECT_EQ(Counts("s").queued(), 7);
}

TEST_F(EngineSubmissionTest, TheEndOfTheSchedulerBreaksOffWhatIsToComeAndNothingElse) {
  BetweenSlices([this] { engine_->Shutdown(); });
  EXPECT_EQ(TrySubmit(Sweep("large", 100)).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_GT(ToCome("large"), 0);
  RestartScheduler();
  RunDeadlines();
  EXPECT_EQ(ToCome("large"), 0);

  BetweenSlices([this] { engine_->Shutdown(); });
  const absl::StatusOr<v1::SubmitSweepResponse> whole = TrySubmit(Sweep("small", 10));
  EXPECT_TRUE(whole.ok()) << whole.status() << ": its last jobs are on disk";
  EXPECT_EQ(ToCome("small"), 0);
}

TEST_F(EngineSubmissionTest, SubmittingAgainGoesOnWhereItBrokeOff) {
  EXPECT_FALSE(BreakOff(Sweep("s", 5)).ok());

  const v1::SubmitSweepResponse again = Submit(Sweep("s", 5));

  EXPECT_FALSE(again.created());
  EXPECT_EQ(again.plan().jobs(), 5);
  EXPECT_EQ(again.plan().packs(), 1);
  EXPECT_EQ(again.sweep().counts().queued(), 5);
  RunDeadlines();
  EXPECT_EQ(Counts("s").queued(), 5);
}

TEST_F(EngineSubmissionTest, TwoCallersOfTheSameSweepAddEachJobOnce) {
  BetweenSlices([&] { EXPECT_FALSE(Submit(Sweep("s", 9)).created()); });

  EXPECT_TRUE(Submit(Sweep("s", 9)).created());

  EXPECT_EQ(Counts("s").queued(), 9);
}

TEST_F(EngineSubmissionTest, ASweepThatIsCancelledWhileItsJobsComeGetsNoMore) {
  BetweenSlices([&] { ASSERT_TRUE(Steer("s", Steering::ACTION_CANCEL).ok()); });

  const absl::Status status = TrySubmit(Sweep("s", 5)).status();

  EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("'s' was cancelled while its jobs came, and 3 of them are to come"));
  RunDeadlines();
  EXPECT_EQ(ToCome("s"), 3);
  EXPECT_EQ(Counts("s").cancelled(), 5);
  EXPECT_EQ(Submit(Sweep("s", 5)).sweep().counts().queued(), 5);
}

TEST_F(EngineSubmissionTest, JobsOfAPausedSweepComeAndAreWantedOnceItGoesOn) {
  BetweenSlices([&] { ASSERT_TRUE(Steer("s", Steering::ACTION_PAUSE).ok()); });
  Submit(Sweep("s", 5));
  TestWorker worker = Worker("a");
  EXPECT_EQ(worker.Sync().leases_size(), 0);

  ASSERT_TRUE(Steer("s", Steering::ACTION_RESUME).ok());

  EXPECT_EQ(worker.Take().jobs_size(), 5);
}

TEST_F(EngineSubmissionTest, APriorityGivenInBetweenHoldsForAllJobs) {
  BetweenSlices([&] { ASSERT_TRUE(Steer("s", Steering::ACTION_SET_PRIORITY, 7).ok()); });

  Submit(Sweep("s", 5), 2);

  const absl::StatusOr<int> with_it = store_->writer_connection().One<int>("SELECT count(*) FROM jobs WHERE priority = 7");
  EXPECT_EQ(*with_it, 5);
}

TEST_F(EngineSubmissionTest, JobsOfACancelledSweepAreRevivedByASweepThatSharesThem) {
  Submit(Sweep("before", 3));
  ASSERT_TRUE(Steer("before", Steering::ACTION_CANCEL).ok());

  Submit(Sweep("s", 5));

  EXPECT_EQ(Counts("s").queued(), 5);
  EXPECT_EQ(Counts("before").queued(), 3);
}

TEST_F(EngineSubmissionTest, ARaisedRevisionRunsExactlyTheJobsItTouchesAgain) {
  v1::SweepSpec spec = Sweep("s", 2);
  spec.mutable_axes()->add_encoding("none");
  const v1::Sweep before = Submit(spec).sweep();
  TestWorker worker = Worker("a");
  worker.Succeed(worker.Take());
  worker.Succeed(worker.Take());  // The call reports the pack before.
  worker.Sync();
  ASSERT_EQ(Counts("s").succeeded(), 4);

  options_.revisions.encoding["rope"] = 2;
  RestartScheduler();
  const v1::SubmitSweepResponse after = Submit(spec);

  EXPECT_TRUE(after.created()) << "another sweep of the same specification";
  EXPECT_NE(after.sweep().id(), before.id());
  EXPECT_EQ(after.plan().jobs(), 4);
  EXPECT_EQ(after.plan().done(), 2) << "those with the encoding 'none'";
  EXPECT_EQ(Counts(after.sweep().id()).queued(), 2);
  EXPECT_EQ(Counts(before.id()).succeeded(), 4) << "what was measured stays";
  EXPECT_FALSE(Submit(spec).created());
}

TEST_F(EngineSubmissionTest, ASweepThatBrokeOffGoesOnWithTheRevisionsOfItsTime) {
  EXPECT_FALSE(BreakOff(Sweep("s", 5)).ok());

  options_.revisions.model = 2;
  RestartScheduler();
  RunDeadlines();

  EXPECT_EQ(ToCome("s"), 0);
  const absl::StatusOr<int> of_then = store_->writer_connection().One<int>(
      "SELECT count(*) FROM jobs AS j JOIN requirements AS r ON r.num = j.requirement WHERE r.model_revision = 1");
  EXPECT_EQ(*of_then, 5);
}

// Another version took it, which knew more tasks.
TEST_F(EngineSubmissionTest, WhatThisProgramCannotGoOnWithIsToldOnce) {
  EXPECT_FALSE(BreakOff(Sweep("s", 5)).ok());
  const absl::StatusOr<store::SweepRow> before = store::NewestSweep(store_->writer_connection(), "s");
  ASSERT_TRUE(before.ok()) << before.status();
  std::string spec = before->spec;
  ASSERT_NE(spec.find("even_pairs"), std::string::npos);
  spec.replace(spec.find("even_pairs"), 10, "odd_pears");
  ASSERT_TRUE(store_->writer_connection().Run("UPDATE sweeps SET id = ?, spec = ?", Sha256Of(spec), spec).ok());
  std::vector<std::string> log;
  options_.log = [&log](const std::string& line) { log.push_back(line); };

  RestartScheduler();
  RunDeadlines();
  ASSERT_TRUE(Steer("s", Steering::ACTION_SET_PRIORITY, 7).ok());
  RunDeadlines();

  EXPECT_EQ(ToCome("s"), 3);
  ASSERT_EQ(log.size(), 1u);
  EXPECT_THAT(log[0], HasSubstr(fmt::format("the sweep 's' ({}) stays as it is, with 2 of its 5 jobs, as this scheduler cannot make the others: ", ShortId(Sha256Of(spec)))));
  EXPECT_THAT(log[0], HasSubstr("odd_pears"));
  TestWorker worker = Worker("a");
  v1::GetJobRequest job;
  job.set_job(worker.Take().jobs(0).id());
  const auto reasons = [&] {
    const absl::StatusOr<v1::ExplainJobResponse> explained = ExplainJob(store_->writer_connection(), job, engine_->board().Read());
    EXPECT_TRUE(explained.ok()) << explained.status();
    return explained.ok() ? std::vector<std::string>(explained->reasons().begin(), explained->reasons().end()) : std::vector<std::string>();
  };
  const auto told = ::testing::HasSubstr("Of the sweep 's' 3 jobs are to come, which this scheduler cannot make: ");
  EXPECT_THAT(reasons(), ::testing::Contains(told));
  v1::GetSweepRequest of_sweep;
  of_sweep.set_sweep("s");
  const auto stalled = [&] { return GetSweepUpdate(store_->writer_connection(), of_sweep, engine_->board().Read())->stalled(); };
  EXPECT_THAT(stalled(), told);
  ASSERT_TRUE(Steer("s", Steering::ACTION_CANCEL).ok());
  EXPECT_THAT(reasons(), ::testing::Not(::testing::Contains(told)));
  EXPECT_EQ(stalled(), "");
}

TEST_F(EngineSubmissionTest, ASweepWithInputsComesAtOnce) {
  v1::SweepSpec spec = Sweep("s", 5);
  spec.mutable_training()->set_steps(0);
  v1::Input* input = spec.add_inputs();
  input->set_name("weights");
  input->set_artifact("weights");
  input->mutable_from()->mutable_training()->set_steps(50);
  const int before = events_;

  const v1::SubmitSweepResponse submitted = Submit(spec);

  EXPECT_EQ(events_ - before, 1);
  EXPECT_EQ(submitted.plan().jobs(), 5);
  EXPECT_EQ(submitted.plan().prerequisites(), 5);
  EXPECT_EQ(Counts("s").waiting(), 5);
}

}  // namespace
}  // namespace longreach::service
