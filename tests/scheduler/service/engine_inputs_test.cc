// Jobs that need something of another: its weights, or a number.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/base/sha256.h"
#include "scheduler/service/query_jobs.h"
#include "scheduler/service/query_table.h"
#include "store/repair.h"
#include "tests/scheduler/service/engine_fixture.h"
#include "tests/store/fixture.h"

namespace longreach::service {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Steering = v1::SteerSweepRequest;

class EngineInputsTest : public EngineFixture {
 protected:
  // Why the sweep's first job failed.
  std::string FailureOfFirst(const std::string& sweep) {
    sql::Connection& db = store_->writer_connection();
    const absl::StatusOr<store::SweepRow> row = store::NewestSweep(db, sweep);
    const absl::StatusOr<store::JobRow> job = store::GetJob(db, store::SweepMembers(db, row->num).front());
    return job->failure;
  }

  // The weights that Upload() hands in at step 50.
  static constexpr const char* kWeights = "weights50";
  std::filesystem::path FileOfWeights() const { return store_->artifacts().PathOf(Sha256Of(kWeights)); }
  // As restoring from a copy does: another file under the same name.
  void PutBackWeights() {
    std::ofstream(FileOfWeights().string() + ".new") << kWeights;
    std::filesystem::rename(FileOfWeights().string() + ".new", FileOfWeights());
  }
  // What the sweep's jobs begin with is trained.
  void TrainWeights(TestWorker& worker) {
    const v1::Lease maker = worker.Take();
    ASSERT_TRUE(Upload(maker.jobs(0), static_cast<int64_t>(maker.attempt()), worker.id(), "weights", 50).ok());
    worker.Succeed(maker);
  }
};

v1::SweepSpec WithWeights(v1::SweepSpec spec) {
  spec.mutable_training()->set_steps(0);
  v1::Input* input = spec.add_inputs();
  input->set_name("weights");
  input->set_artifact("weights");
  input->mutable_from()->mutable_training()->set_steps(50);
  return spec;
}

// What began with the weights of before keeps its result, which is not of those that are there after a repair.
TEST_F(EngineInputsTest, WhatWasMadeOfAnInputThatHasRunAgainSinceIsSaidOfTheJobAndInTables) {
  Submit(WithWeights(Sweep("s", 1)));
  TestWorker worker = Worker("a");
  TrainWeights(worker);
  worker.Succeed(worker.Take());
  worker.Sync();
  ASSERT_EQ(Counts("s").succeeded(), 1);
  const auto notes = [&] {
    v1::GetTableRequest request;
    request.set_sweep("s");
    const absl::StatusOr<v1::Table> table = GetTable(store_->writer_connection(), request);
    EXPECT_TRUE(table.ok()) << table.status();
    std::vector<std::string> all;
    if (table.ok()) all.assign(table->notes().begin(), table->notes().end());
    return all;
  };
  const auto other_input = HasSubstr("1 job was made of another result of an input than the one that is here");
  EXPECT_THAT(notes(), Not(Contains(other_input)));
  sql::Connection& db = store_->writer_connection();
  const std::string job = store::GetJob(db, store::SweepMembers(db, 1).front())->id;
  const auto reasons = [&] {
    v1::GetJobRequest request;
    request.set_job(job);
    const absl::StatusOr<v1::ExplainJobResponse> explained = ExplainJob(db, request, {});
    const absl::StatusOr<v1::GetJobResponse> shown = GetJob(db, request, {});
    EXPECT_TRUE(explained.ok() && shown.ok()) << explained.status() << shown.status();
    if (!explained.ok() || !shown.ok()) return std::vector<std::string>();
    std::vector<std::string> all(explained->reasons().begin(), explained->reasons().end());
    for (const std::string& note : shown->notes()) EXPECT_THAT(all, Contains(note)) << "what is shown of a job is explained too";
    const auto of_inputs = std::ranges::count_if(all, [](const std::string& reason) { return reason.starts_with("Its result was made of"); });
    EXPECT_EQ(shown->notes_size(), of_inputs == 0 ? 0 : of_inputs + 1);
    return all;
  };
  EXPECT_THAT(reasons(), Not(Contains(HasSubstr("Its result was made of"))));
  {
    absl::StatusOr<sql::Transaction> tx = sql::Transaction::Begin(db);
    store::Mended mended;
    ASSERT_TRUE(tx->Run("DELETE FROM measurements WHERE length = 0 AND job = (SELECT source FROM job_inputs)").ok());
    ASSERT_TRUE(store::MendResults(*tx, mended).ok());
    ASSERT_TRUE(tx->Commit().ok());
    ASSERT_EQ(mended.done.size(), 1u);
  }
  RestartScheduler();
  EXPECT_THAT(notes(), Contains(other_input));
  EXPECT_THAT(reasons(), Contains(HasSubstr("a result of its input 'weights' that job ")));

  TestWorker next = Worker("b");
  TrainWeights(next);
  next.Sync();

  EXPECT_THAT(notes(), Contains(other_input)) << "its weights came later";
  EXPECT_THAT(reasons(), Contains(HasSubstr("another result of its input 'weights' than job ")));
  EXPECT_THAT(reasons(), Contains(HasSubstr("'longreach verify " + job.substr(0, 8) + "' trains it again")));
}

TEST_F(EngineInputsTest, AJobWaitsForItsInputAndGetsItWithTheLease) {
  const v1::SubmitSweepResponse submitted = Submit(WithWeights(Sweep("s", 1)));
  EXPECT_EQ(submitted.plan().jobs(), 1);
  EXPECT_EQ(submitted.plan().prerequisites(), 1);
  EXPECT_EQ(submitted.plan().prerequisites_done(), 0);
  EXPECT_EQ(Counts("s").waiting(), 1);
  TestWorker worker = Worker("a");
  const v1::Lease maker = worker.Take();
  EXPECT_EQ(maker.jobs(0).spec().training().steps(), 50);
  ASSERT_TRUE(Upload(maker.jobs(0), static_cast<int64_t>(maker.attempt()), "a", "weights", 50).ok());
  worker.Succeed(maker);

  const v1::Lease lease = worker.Take();

  ASSERT_EQ(lease.jobs(0).inputs_size(), 1);
  EXPECT_EQ(lease.jobs(0).inputs(0).name(), "weights");
  EXPECT_EQ(lease.jobs(0).inputs(0).artifact().step(), 50);
  EXPECT_EQ(lease.jobs(0).spec().training().steps(), 0);
  worker.Succeed(lease);
  worker.Sync();
  EXPECT_EQ(Counts("s").succeeded(), 1);
  EXPECT_EQ(Submit(WithWeights(Sweep("s", 1))).plan().prerequisites_done(), 1);
}

TEST_F(EngineInputsTest, AJobWhoseInputFailsFailsWithItsName) {
  Submit(WithWeights(Sweep("s", 1)));
  TestWorker worker = Worker("a");
  std::string maker;
  for (int i = 0; i < 3; ++i) {
    const v1::Lease lease = worker.Take();
    maker = lease.jobs(0).id();
    worker.Fail(lease, "crashed");
    worker.next().set_free_slots(0);
    worker.Sync();
    worker.next().set_free_slots(1);
  }
  EXPECT_EQ(Counts("s").failed(), 1);
  EXPECT_EQ(FailureOfFirst("s"), "input failed: weights (job " + maker.substr(0, 8) + ")");

  // Another sweep that needs it fails at once.
  v1::SweepSpec other = WithWeights(Sweep("other", 1));
  // What an input leaves out is its sweep's: the same job only if it says which evaluation it means.
  *other.mutable_inputs(0)->mutable_from()->mutable_evaluation() = other.evaluation();
  other.mutable_evaluation()->set_examples(3);
  Submit(other);
  EXPECT_EQ(Counts("other").failed(), 1);

  // A retry gives both another chance.
  ASSERT_TRUE(Steer("s", Steering::ACTION_RETRY).ok());
  EXPECT_EQ(Counts("s").waiting(), 1);
  EXPECT_EQ(worker.Take().jobs(0).id(), maker);
}

TEST_F(EngineInputsTest, AMakerThatHandsInNoWeightsFailsWhatNeedsThem) {
  Submit(WithWeights(Sweep("s", 1)));
  TestWorker worker = Worker("a");
  worker.Succeed(worker.Take());
  worker.Sync();
  EXPECT_EQ(Counts("s").failed(), 1);
}

// Trains what a sweep's input comes from: it diverges, and its weights of before are handed in. Its id.
std::string Diverge(TestWorker& worker, const std::function<absl::Status(const v1::LeasedJob&, int64_t, const std::string&)>& upload) {
  const v1::Lease maker = worker.Take();
  EXPECT_TRUE(upload(maker.jobs(0), static_cast<int64_t>(maker.attempt()), worker.id()).ok());
  v1::AttemptReport report = SuccessOf(maker);
  report.mutable_results(0)->clear_measurements();
  report.mutable_results(0)->set_diverged(true);
  report.mutable_results(0)->set_diverged_at(17);
  worker.Report(report);
  return maker.jobs(0).id();
}

TEST_F(EngineInputsTest, WeightsOfAJobThatDivergedAreNoInput) {
  Submit(WithWeights(Sweep("s", 1)));
  TestWorker worker = Worker("a");
  const std::string maker = Diverge(worker, [this](const v1::LeasedJob& job, int64_t attempt, const std::string& id) { return Upload(job, attempt, id, "weights", 50); });

  EXPECT_EQ(worker.Sync().leases_size(), 0);

  EXPECT_EQ(Counts("s").failed(), 1);
  EXPECT_EQ(FailureOfFirst("s"), "input failed: weights (job " + maker.substr(0, 8) + " diverged)");

  // Nor are they later on.
  v1::SweepSpec other = WithWeights(Sweep("other", 1));
  *other.mutable_inputs(0)->mutable_from()->mutable_evaluation() = other.evaluation();
  other.mutable_training()->set_steps(30);
  Submit(other);
  EXPECT_EQ(Counts("other").failed(), 1);
}

TEST_F(EngineInputsTest, ThatAnInputDivergedIsSaidHoweverDeepItIs) {
  v1::SweepSpec spec = WithWeights(Sweep("s", 1));
  spec.mutable_training()->set_steps(30);
  v1::Input& deeper = *spec.mutable_inputs(0)->mutable_from()->add_inputs();
  deeper.set_name("weights");
  deeper.set_artifact("weights");
  deeper.mutable_from()->mutable_training()->set_steps(70);
  ASSERT_EQ(Submit(spec).plan().prerequisites(), 2);
  TestWorker worker = Worker("a");
  Diverge(worker, [this](const v1::LeasedJob& job, int64_t attempt, const std::string& id) { return Upload(job, attempt, id, "weights", 50); });

  EXPECT_EQ(worker.Sync().leases_size(), 0);

  EXPECT_EQ(Counts("s").failed(), 1);
  EXPECT_THAT(FailureOfFirst("s"), ::testing::MatchesRegex("input failed: weights \\(job [0-9a-f]+, whose input diverged\\)"));
}

TEST_F(EngineInputsTest, WeightsOfAJobThatDivergedAreThereToDrawTheirAttention) {
  v1::SweepSpec spec = WithWeights(Sweep("s", 1));
  *spec.mutable_inputs(0)->mutable_from()->mutable_evaluation() = spec.evaluation();
  spec.mutable_evaluation()->add_lengths(50);
  spec.mutable_evaluation()->add_attention_lengths(50);
  spec.mutable_evaluation()->set_examples(1);
  Submit(spec);
  TestWorker worker = Worker("a");
  Diverge(worker, [this](const v1::LeasedJob& job, int64_t attempt, const std::string& id) { return Upload(job, attempt, id, "weights", 50); });

  const v1::Lease lease = worker.Take();

  ASSERT_EQ(lease.jobs(0).inputs_size(), 1);
  EXPECT_EQ(lease.jobs(0).inputs(0).artifact().step(), 50);
}

TEST_F(EngineInputsTest, ADamagedFileFailsTheJobsThatBeginWithItAndBlamesNoWorker) {
  Submit(WithWeights(Sweep("s", 1)));
  TestWorker worker = Worker("a");
  TrainWeights(worker);
  const v1::Lease lease = worker.Take();
  std::ofstream(FileOfWeights()) << "Weights50";
  EXPECT_FALSE(store_->artifacts().Verify(Sha256Of(kWeights)).ok());  // What the worker's download comes upon.

  worker.Fail(lease, "artifact is damaged");
  EXPECT_EQ(worker.Sync().leases_size(), 0);

  EXPECT_EQ(Attempt(lease.attempt()).outcome, Outcome::kGivenBack);
  EXPECT_EQ(Job(lease.jobs(0).id()).failures, 0);
  EXPECT_THAT(*store::FailuresOfWorker(store_->writer_connection(), "a"), IsEmpty());
  EXPECT_EQ(Counts("s").failed(), 1);
  EXPECT_THAT(FailureOfFirst("s"), HasSubstr("is damaged; 'longreach store merge' brings it back"));

  PutBackWeights();
  ASSERT_TRUE(Steer("s", Steering::ACTION_RETRY).ok());
  worker.Succeed(worker.Take());
  worker.Sync();
  EXPECT_EQ(Counts("s").succeeded(), 1);
}

TEST_F(EngineInputsTest, JobsWhoseFileIsMissingAreNotLeased) {
  Submit(WithWeights(Sweep("s", 1)));
  TestWorker worker = Worker("a");
  TrainWeights(worker);
  worker.next().set_free_slots(0);
  worker.Sync();
  std::filesystem::remove(FileOfWeights());
  int rung = 0;
  const Bell::Listening listening = engine_->board().ended().Listen([&rung] { ++rung; });

  worker.next().set_free_slots(1);
  EXPECT_EQ(worker.Sync().leases_size(), 0);

  EXPECT_THAT(FailureOfFirst("s"), HasSubstr("is missing"));
  EXPECT_EQ(rung, 1) << "the sweep is done, without an attempt that ended";
  PutBackWeights();
  ASSERT_TRUE(Steer("s", Steering::ACTION_RETRY).ok());
  EXPECT_EQ(worker.Sync().leases_size(), 1);
}

TEST_F(EngineInputsTest, AFailureThatHasNothingToDoWithFilesCounts) {
  Submit(WithWeights(Sweep("s", 1)));
  TestWorker worker = Worker("a");
  TrainWeights(worker);
  const v1::Lease lease = worker.Take();

  worker.Fail(lease, "crashed");
  worker.next().set_free_slots(0);
  worker.Sync();

  EXPECT_EQ(Job(lease.jobs(0).id()).failures, 1);
}

}  // namespace
}  // namespace longreach::service
