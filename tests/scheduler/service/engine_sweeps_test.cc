// Sweeps: submitted, shared, paused, cancelled, retried, in order of priority.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/service/query_sweeps.h"
#include "tests/scheduler/service/engine_fixture.h"

namespace longreach::service {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;
using Steering = v1::SteerSweepRequest;

using EngineSweepsTest = EngineFixture;

TEST_F(EngineSweepsTest, WhatIsSubmittedAsideIsNotTheLast) {
  const auto last = [this] { return store::NewestSweep(store_->writer_connection(), "last")->name; };
  const auto submit_aside = [this](const std::string& name) {
    v1::SubmitSweepRequest request;
    *request.mutable_spec() = Sweep(name, 1);
    request.set_aside(true);
    EXPECT_TRUE(engine_->SubmitSweep(request, *store_).ok());
  };
  submit_aside("only");
  EXPECT_EQ(last(), "only") << "there is no other";
  Submit(Sweep("mine", 1));
  submit_aside("figure");
  submit_aside("another");
  EXPECT_EQ(last(), "mine");
  submit_aside("figure");
  EXPECT_EQ(last(), "mine") << "submitted again";
  Submit(Sweep("only", 1));
  EXPECT_EQ(last(), "only");
  Submit(Sweep("figure", 1));
  EXPECT_EQ(last(), "figure") << "somebody works on it now";
}

TEST_F(EngineSweepsTest, SubmittingTwiceIsTheSameSweep) {
  const v1::SubmitSweepResponse first = Submit(Sweep("s", 3));
  TestWorker worker = Worker("a");
  worker.Succeed(worker.Take());
  worker.Sync();

  const v1::SubmitSweepResponse second = Submit(Sweep("s", 3));

  EXPECT_FALSE(second.created());
  EXPECT_EQ(first.state_before(), "");
  EXPECT_EQ(second.state_before(), "live");
  EXPECT_EQ(second.sweep().id(), first.sweep().id());
  EXPECT_EQ(second.plan().done(), 3);
  EXPECT_EQ(Counts("s").succeeded(), 3);
  ASSERT_TRUE(Steer("s", Steering::ACTION_CANCEL).ok());
  EXPECT_EQ(Submit(Sweep("s", 3)).state_before(), "cancelled");
}

TEST_F(EngineSweepsTest, ADryRunChangesNothingAndCountsWhatIsThere) {
  Submit(Sweep("s", 2));
  TestWorker worker = Worker("a");
  worker.Succeed(worker.Take());
  worker.next().set_leaving(true);
  worker.Sync();

  v1::SubmitSweepRequest request;
  *request.mutable_spec() = Sweep("other", 12);
  request.set_dry_run(true);
  const absl::StatusOr<v1::SubmitSweepResponse> response = engine_->SubmitSweep(request, *store_);

  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->plan().jobs(), 12);
  EXPECT_EQ(response->plan().done(), 2);
  EXPECT_EQ(response->plan().packs(), 2);  // 10 open jobs in packs of 9: no worker is at hand.
  // Ten jobs' checkpoints have three numbers for each parameter, the memory of nine has four.
  EXPECT_DOUBLE_EQ(response->plan().pack_memory_bytes(), response->plan().checkpoint_bytes() / 10 / 3 * 4 * 9);
  EXPECT_GT(response->plan().flops(), 0);
  EXPECT_FALSE(response->has_sweep());
  EXPECT_EQ(store::ListSweeps(store_->writer_connection())->size(), 1u);
}

TEST_F(EngineSweepsTest, APlanNamesTheDataSetsOfOpenJobs) {
  v1::SweepSpec spec;
  spec.set_name("s");
  spec.set_experiment("llama");
  spec.set_data("lict");
  spec.mutable_axes()->add_task("tokens");
  spec.mutable_axes()->add_encoding("none");
  spec.mutable_axes()->add_learning_rate(1e-3);
  spec.mutable_axes()->add_seed(0);
  spec.mutable_model()->set_folder("tinyllama");
  spec.mutable_training()->set_steps(10);
  spec.mutable_training()->set_warmup_steps(2);
  for (const char* name : {"novels", "lict"}) {
    spec.mutable_training()->add_mixture(name);
    spec.mutable_training()->add_mixture_weights(1);
  }
  const auto named = [this](const v1::SweepSpec& asked) {
    v1::SubmitSweepRequest request;
    *request.mutable_spec() = asked;
    request.set_dry_run(true);
    const absl::StatusOr<v1::SubmitSweepResponse> response = engine_->SubmitSweep(request, *store_);
    EXPECT_TRUE(response.ok()) << response.status();
    return response.ok() ? std::vector<std::string>(response->plan().data_sets().begin(), response->plan().data_sets().end()) : std::vector<std::string>();
  };
  EXPECT_THAT(named(spec), ElementsAre("lict", "novels", "tinyllama"));
  EXPECT_THAT(named(Sweep("made", 2)), ElementsAre()) << "its data are made up";
}

TEST_F(EngineSweepsTest, ANameThatIsTheBeginningOfAnotherSweepsIdIsNotGuessedAt) {
  const std::string id = Submit(Sweep("first", 1)).sweep().id();
  v1::SweepSpec named = Sweep(id.substr(0, 8), 2);
  const std::string other = Submit(named).sweep().id();

  const absl::Status refused = Steer(id.substr(0, 8), Steering::ACTION_CANCEL).status();

  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("is the name of one sweep (" + other.substr(0, 8) + ") and the beginning of another's id"));
  const absl::StatusOr<v1::Sweep> cancelled = Steer(id.substr(0, 12), Steering::ACTION_CANCEL);
  ASSERT_TRUE(cancelled.ok()) << cancelled.status();
  EXPECT_EQ(cancelled->name(), "first");
}

class EnginePlanTest : public EngineSweepsTest {
 protected:
  // Two jobs, together in so many times ten seconds.
  void Train(int tens) {
    Submit(Sweep("s", 2));
    TestWorker worker = Worker("a");
    const v1::Lease lease = worker.Take();
    worker.next().set_free_slots(0);
    for (int i = 0; i < tens; ++i) {
      worker.Sync();
      Advance(seconds(10));
    }
    worker.Succeed(lease);
    worker.Sync();
  }
};

TEST_F(EnginePlanTest, ThePairsOfFireAreMemoryOfThePackAndOfNoCheckpoint) {
  // Of nine members, beside their parameters, gradients and moments.
  const auto beside = [this](const char* task, int tested) {
    v1::SubmitSweepRequest request;
    *request.mutable_spec() = Sweep("fire", 12);
    request.mutable_spec()->mutable_axes()->set_encoding(0, "fire");
    request.mutable_spec()->mutable_axes()->set_task(0, task);
    request.mutable_spec()->mutable_model()->set_fire_width(64);
    request.mutable_spec()->mutable_evaluation()->add_lengths(tested);
    request.set_dry_run(true);
    const absl::StatusOr<v1::SubmitSweepResponse> response = engine_->SubmitSweep(request, *store_);
    EXPECT_TRUE(response.ok()) << response.status();
    return response.ok() ? response->plan().pack_memory_bytes() - response->plan().checkpoint_bytes() / 12 / 3 * 4 * 9 : 0;
  };
  // LibTorch's: 5 layers, 64 features of each pair of the 41 tokens of length 40, before and after ReLU.
  EXPECT_DOUBLE_EQ(beside("even_pairs", 41), 9.0 * 5 * 64 * 41 * 41 * 2 * 4);
  // Of the fast engine for CPUs: a table for each of 8 heads in 5 layers, of the longest test, and of the 41 tokens a gradient for each of 8 groups.
  EXPECT_DOUBLE_EQ(beside("even_pairs", 500), 9.0 * 5 * 8 * (501 * 501 + 8 * 41 * 41) * 4);
  EXPECT_DOUBLE_EQ(beside("even_pairs", 2000), (1 << 30) + 9.0 * 5 * 8 * 8 * 41 * 41 * 4) << "not all members' tables are there at a time";
  EXPECT_DOUBLE_EQ(beside("reverse_string", 1296), 9.0 * 5 * 64 * 80 * 80 * 2 * 4) << "where one's are too large LibTorch trains it";
}

TEST_F(EnginePlanTest, APlanEstimatesFromWhatWasMeasured) {
  Train(10);

  // As many jobs of the same kind again: the two took 100 s together.
  v1::SweepSpec same = Sweep("same", 4);
  const v1::SubmitSweepResponse response = Submit(same);

  EXPECT_EQ(response.plan().done(), 2);
  EXPECT_NEAR(response.plan().hours(), 100 / 3600.0, 1e-9);
  EXPECT_LT(response.plan().hours_low(), response.plan().hours());
  EXPECT_GT(response.plan().hours_high(), response.plan().hours());
}

TEST_F(EnginePlanTest, WhatASweepWasExpectedToTakeIsKeptAndHeldAgainstWhatItTook) {
  const auto state = [this](const std::string& name) {
    v1::GetSweepRequest request;
    request.set_sweep(name);
    const absl::StatusOr<v1::SweepUpdate> update = GetSweepUpdate(store_->writer_connection(), request, engine_->board().Read());
    EXPECT_TRUE(update.ok()) << update.status();
    return update.ok() ? *update : v1::SweepUpdate();
  };
  Train(10);
  EXPECT_FALSE(state("s").sweep().has_expected()) << "nobody knew";
  EXPECT_NEAR(state("s").sweep().seconds_taken(), 100, 0.1);

  const v1::SubmitSweepResponse submitted = Submit(Sweep("same", 4));
  EXPECT_NEAR(submitted.sweep().expected().seconds(), 100, 1e-6);
  Advance(seconds(50));
  const v1::SubmitSweepResponse again = Submit(Sweep("same", 4));
  EXPECT_EQ(again.sweep().expected().seconds(), submitted.sweep().expected().seconds());
  EXPECT_EQ(again.sweep().expected().made_at().seconds(), submitted.sweep().expected().made_at().seconds());
  EXPECT_FALSE(state("same").sweep().has_seconds_taken()) << "it is not at its end";

  TestWorker worker = Worker("b");
  const v1::Lease lease = worker.Take();
  worker.next().set_free_slots(0);
  for (int i = 0; i < 12; ++i) {
    worker.Sync();
    Advance(seconds(10));
  }
  worker.Succeed(lease);
  worker.Sync();
  Advance(seconds(1000));

  EXPECT_TRUE(state("same").finished());
  EXPECT_NEAR(state("same").sweep().seconds_taken(), 170, 0.1);
  EXPECT_EQ(state("same").sweep().expected().seconds(), submitted.sweep().expected().seconds());
  // All that it asks for was there before.
  Submit(Sweep("all-there", 4));
  EXPECT_TRUE(state("all-there").finished());
  EXPECT_FALSE(state("all-there").sweep().has_seconds_taken());
  EXPECT_FALSE(state("all-there").sweep().has_expected());
}

TEST_F(EnginePlanTest, NothingIsEstimatedFromOtherModels) {
  Train(10);

  v1::SweepSpec wide = Sweep("wide", 1);
  wide.mutable_model()->set_embedding_dim(512);

  EXPECT_EQ(Submit(wide).plan().hours(), 0);
}

TEST_F(EnginePlanTest, OfLongJobsNothingIsEstimatedFromOnesThatHardlyBegan) {
  Train(1);

  v1::SweepSpec longer = Sweep("longer", 1);
  longer.mutable_training()->set_steps(200);
  EXPECT_GT(Submit(longer).plan().hours(), 0);
  v1::SweepSpec longest = Sweep("longest", 1);
  longest.mutable_training()->set_steps(10'000'000);
  EXPECT_EQ(Submit(longest).plan().hours(), 0);
}

// Each took 100 s, and the worker trained both in that time.
TEST_F(EngineSweepsTest, APlanKnowsThatAWorkerTrainsSeveralPacksAtATime) {
  Submit(Sweep("s", 2));
  TestWorker worker = Worker("a");
  worker.next().mutable_abilities()->set_pack_limit(1);
  worker.next().set_free_slots(2);
  const v1::SynchronizeResponse given = worker.Sync();
  ASSERT_EQ(given.leases_size(), 2);
  worker.next().set_free_slots(0);
  for (int i = 0; i < 10; ++i) {
    worker.Sync();
    Advance(seconds(10));
  }
  for (const v1::Lease& lease : given.leases()) worker.Succeed(lease);
  worker.Sync();

  const v1::SubmitSweepResponse response = Submit(Sweep("same", 4));

  EXPECT_EQ(response.plan().done(), 2);
  EXPECT_NEAR(response.plan().hours(), 100 / 3600.0, 1e-9);
}

TEST_F(EngineSweepsTest, APlanCountsTheScalesAloneOfTestsOfTunedHeads) {
  v1::SweepSpec sweep = Sweep("s", 1);
  sweep.set_experiment("llama");
  sweep.set_data("texts");
  sweep.mutable_axes()->clear_task();
  sweep.mutable_axes()->add_task("tokens");
  sweep.mutable_axes()->clear_encoding();
  sweep.mutable_axes()->add_encoding("none");
  sweep.clear_model();
  sweep.clear_training();
  sweep.clear_evaluation();
  sweep.mutable_model()->set_folder("tinyllama");
  sweep.mutable_training()->set_steps(0);
  v1::Input& weights = *sweep.add_inputs();
  weights.set_name("weights");
  weights.set_artifact("weights");
  v1::Training& tuning = *weights.mutable_from()->mutable_training();
  tuning.set_steps(10);
  tuning.set_warmup_steps(1);
  tuning.set_trainable("head_scales");
  tuning.set_weight_decay(0);
  for (v1::Model* model : {sweep.mutable_model(), weights.mutable_from()->mutable_model()}) {
    model->set_folder("tinyllama");
    model->set_layers(22);
    model->set_embedding_dim(2048);
    model->set_heads(32);
    model->set_kv_heads(4);
    model->set_mlp_dim(5632);
  }

  const v1::SubmitSweepResponse first = Submit(sweep), again = Submit(sweep);

  // The tuning stores them with two moments each, the test as they are.
  EXPECT_EQ(first.plan().checkpoint_bytes(), (3 + 1) * 4 * 22 * 32);
  EXPECT_EQ(again.plan().checkpoint_bytes(), first.plan().checkpoint_bytes());
  // Where all weights are trained the test has them too.
  weights.mutable_from()->mutable_training()->set_trainable("all");
  EXPECT_GT(Submit(sweep).plan().checkpoint_bytes(), 1e7);
}

TEST_F(EngineSweepsTest, ASweepThatCannotBeLeavesNothing) {
  v1::SubmitSweepRequest request;
  *request.mutable_spec() = Sweep("s", 1);
  request.mutable_spec()->mutable_axes()->set_encoding(0, "roep");
  EXPECT_EQ(engine_->SubmitSweep(request, *store_).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(events_, 0);
}

TEST_F(EngineSweepsTest, ALargeSweepIsWrittenInSeveralEvents) {
  const v1::SubmitSweepResponse response = Submit(Sweep("s", 4500));
  EXPECT_EQ(response.sweep().counts().queued(), 4500);
  EXPECT_EQ(events_, 18);  // With 250 jobs each; the first makes the sweep.
}

TEST_F(EngineSweepsTest, TwoSweepsShareAJobAndTrainItOnce) {
  Submit(Sweep("one", 2));
  Submit(Sweep("two", 3));
  TestWorker worker = Worker("a");

  const v1::Lease lease = worker.Take();
  EXPECT_EQ(lease.jobs_size(), 3);
  worker.Succeed(lease);
  worker.Sync();

  EXPECT_EQ(Counts("one").succeeded(), 2);
  EXPECT_EQ(Counts("two").succeeded(), 3);
}

TEST_F(EngineSweepsTest, HigherPriorityGoesFirstThenTheOrderOfSubmission) {
  v1::SweepSpec first = Sweep("first", 1);
  v1::SweepSpec second = Sweep("second", 1);
  v1::SweepSpec third = Sweep("third", 1);
  second.mutable_axes()->set_task(0, "bucket_sort");
  third.mutable_axes()->set_task(0, "parity_check");
  Submit(first);
  Submit(second);
  Submit(third, 5);
  ASSERT_TRUE(Steer("second", Steering::ACTION_SET_PRIORITY, 9).ok());
  TestWorker worker = Worker("a");
  worker.next().set_free_slots(3);

  const v1::SynchronizeResponse answer = worker.Sync();

  ASSERT_EQ(answer.leases_size(), 3);
  EXPECT_EQ(answer.leases(0).jobs(0).spec().task(), "bucket_sort");
  EXPECT_EQ(answer.leases(1).jobs(0).spec().task(), "parity_check");
  EXPECT_EQ(answer.leases(2).jobs(0).spec().task(), "even_pairs");
}

TEST_F(EngineSweepsTest, APauseStopsWhatRunsAndHoldsTheRest) {
  Submit(Sweep("s", 2));
  TestWorker worker = Worker("a");
  const v1::Lease lease = worker.Take();
  worker.Sync();
  ASSERT_TRUE(Steer("s", Steering::ACTION_PAUSE).ok());

  EXPECT_EQ(worker.Sync().directives(0).action(), v1::Directive::ACTION_STOP);
  ASSERT_TRUE(Upload(lease.jobs(0), static_cast<int64_t>(lease.attempt()), "a", "checkpoint", 30).ok());
  worker.GiveBack(lease);
  EXPECT_EQ(worker.Sync().leases_size(), 0);
  EXPECT_EQ(Counts("s").queued(), 2);

  const absl::StatusOr<v1::Sweep> resumed = Steer("s", Steering::ACTION_RESUME);
  ASSERT_TRUE(resumed.ok());
  EXPECT_EQ(resumed->state(), "live");
  EXPECT_EQ(worker.Sync().leases_size(), 1);
}

TEST_F(EngineSweepsTest, AResultThatComesWhileItsSweepIsPausedCounts) {
  Submit(Sweep("s", 1));
  TestWorker worker = Worker("a");
  const v1::Lease lease = worker.Take();
  ASSERT_TRUE(Steer("s", Steering::ACTION_PAUSE).ok());
  worker.Succeed(lease);
  worker.Sync();
  EXPECT_EQ(Counts("s").succeeded(), 1);
}

TEST_F(EngineSweepsTest, ACancelDropsAPackThatNobodyWants) {
  Submit(Sweep("s", 2));
  TestWorker worker = Worker("a");
  const v1::Lease lease = worker.Take();
  worker.Sync();
  ASSERT_TRUE(Steer("s", Steering::ACTION_CANCEL).ok());
  EXPECT_EQ(Counts("s").cancelled(), 2);
  EXPECT_EQ(Attempt(lease.attempt()).outcome, Outcome::kDropped);

  EXPECT_EQ(worker.Sync().directives(0).action(), v1::Directive::ACTION_DROP);
  // A result that was on its way is not taken.
  worker.Report(SuccessOf(lease));
  worker.Sync();
  EXPECT_EQ(Counts("s").cancelled(), 2);

  EXPECT_EQ(Steer("s", Steering::ACTION_RESUME).status().code(), absl::StatusCode::kFailedPrecondition);
  const v1::SubmitSweepResponse revived = Submit(Sweep("s", 2));
  EXPECT_FALSE(revived.created());
  EXPECT_EQ(revived.sweep().state(), "live");
  EXPECT_EQ(Counts("s").queued(), 2);
  EXPECT_EQ(worker.Sync().leases_size(), 1);
}

TEST_F(EngineSweepsTest, ACancelTakesOnlyItsOwnMembersOutOfASharedPack) {
  Submit(Sweep("small", 1));
  Submit(Sweep("large", 3));
  TestWorker worker = Worker("a");
  const v1::Lease lease = worker.Take();
  ASSERT_EQ(lease.jobs_size(), 3);
  worker.Sync();
  ASSERT_TRUE(Steer("large", Steering::ACTION_CANCEL).ok());
  EXPECT_EQ(Counts("large").cancelled(), 2);
  EXPECT_EQ(Counts("large").leased(), 1);

  const v1::SynchronizeResponse answer = worker.Sync();
  ASSERT_EQ(answer.directives_size(), 1);
  EXPECT_EQ(answer.directives(0).action(), v1::Directive::ACTION_CONTINUE);
  EXPECT_THAT(answer.directives(0).dropped_jobs(), UnorderedElementsAre(lease.jobs(1).id(), lease.jobs(2).id()));

  worker.Succeed(lease);  // With results for all three: it had not heard of it.
  worker.Sync();
  EXPECT_EQ(Counts("small").succeeded(), 1);
  EXPECT_EQ(Counts("large").succeeded(), 1);
  EXPECT_EQ(Counts("large").cancelled(), 2);
}

TEST_F(EngineSweepsTest, APausedSweepHoldsAJobThatACancelledOneHad) {
  Submit(Sweep("one", 1));
  Submit(Sweep("two", 1));
  ASSERT_TRUE(Steer("one", Steering::ACTION_PAUSE).ok());
  ASSERT_TRUE(Steer("two", Steering::ACTION_CANCEL).ok());
  EXPECT_EQ(Counts("two").queued(), 1);
  EXPECT_EQ(Worker("a").Sync().leases_size(), 0);
}

TEST_F(EngineSweepsTest, AWorkerThatBeginsIsWhatItWasUntilItSaysMore) {
  TestWorker worker = Worker("a");
  worker.Sync();
  worker.Restart();
  const v1::Abilities abilities = worker.next().abilities();
  worker.next().mutable_abilities()->Clear();  // Its trainer is not ready, but it has a report to hand in.
  worker.next().set_free_slots(0);
  worker.Sync();

  const absl::StatusOr<v1::WorkerInfo> info = Drain("name-of-a", false);

  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->build(), abilities.build());
  EXPECT_EQ(info->device(), abilities.device());
}

TEST_F(EngineSweepsTest, ADrainStopsAWorkerUntilItIsToldToGoOn) {
  Submit(Sweep("s", 1));
  TestWorker worker = Worker("a");
  const v1::Lease lease = worker.Take();
  worker.Sync();
  const absl::StatusOr<v1::WorkerInfo> drained = Drain("name-of-a", true);
  ASSERT_TRUE(drained.ok()) << drained.status();
  EXPECT_EQ(drained->state(), "draining");

  const v1::SynchronizeResponse answer = worker.Sync();
  EXPECT_EQ(answer.directives(0).action(), v1::Directive::ACTION_STOP);
  EXPECT_THAT(answer.refused(), HasSubstr("drained"));
  EXPECT_THAT(answer.refused(), HasSubstr("'longreach drain --undo name-of-a'"));
  worker.GiveBack(lease);
  worker.Sync();
  worker.Restart();
  EXPECT_EQ(worker.Sync().leases_size(), 0);

  ASSERT_TRUE(Drain("name-of-a", false).ok());
  EXPECT_EQ(worker.Sync().leases_size(), 1);
  EXPECT_EQ(Drain("nobody", true).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(EngineSweepsTest, AWorkerOfANameThatAnotherHasTooIsToldOfByItsId) {
  Submit(Sweep("s", 1));
  TestWorker worker = Worker("aaaabbbb-0000");
  worker.Take();
  TestWorker twin = Worker("aaaacccc-0000");
  twin.next().mutable_abilities()->set_name("name-of-aaaabbbb-0000");
  twin.Call();

  const absl::StatusOr<v1::WorkerInfo> drained = Drain("aaaabbbb-0000", true);

  ASSERT_TRUE(drained.ok()) << drained.status();
  EXPECT_THAT(drained->reason(), HasSubstr("'longreach drain --undo aaaabbbb'"));
}

TEST_F(EngineSweepsTest, UnknownSweepsAndActionsAreRefused) {
  Submit(Sweep("s", 1));
  EXPECT_EQ(Steer("t", Steering::ACTION_PAUSE).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Steer("s", Steering::ACTION_UNSPECIFIED).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace longreach::service
