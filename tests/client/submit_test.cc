// What `plan`, `submit` and `run` ask a scheduler for, and say of a sweep that is not trained here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <cmath>
#include <string>

#include "tests/client/support.h"

namespace longreach::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class SubmitTest : public WithFakeScheduler {};

TEST_F(SubmitTest, PlanAsksForADryRunAndHasItsNumbersAtTheTop) {
  scheduler_.plan.set_hours(std::nan(""));
  const Outcome outcome = Run({"plan", "table-b1", "-o", "json", "--set", "training.steps=2"});
  EXPECT_TRUE(scheduler_.submitted.dry_run());
  EXPECT_EQ(scheduler_.submitted.spec().training().steps(), 2);
  EXPECT_EQ(scheduler_.submitted.spec().axes().task_size(), 15);
  const nlohmann::json json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json["jobs"], 945);
  for (const char* key :
       {"done", "failed", "prerequisites", "prerequisites_done", "packs", "flops", "pack_memory_bytes", "checkpoint_bytes", "hours", "hours_low", "hours_high"}) {
    EXPECT_TRUE(json.contains(key)) << key;
  }
}

TEST_F(SubmitTest, HoursThatAreNotKnownAreNullInJson) {
  const nlohmann::json plan = nlohmann::json::parse(Run({"plan", "quickstart", "-o", "json"}).out);
  for (const char* key : {"hours", "hours_low", "hours_high"}) {
    ASSERT_TRUE(plan.contains(key)) << key;
    EXPECT_TRUE(plan[key].is_null()) << plan;
  }
  const nlohmann::json submitted = nlohmann::json::parse(Run({"submit", "quickstart", "-o", "json"}).out);
  EXPECT_TRUE(submitted["plan"]["hours_high"].is_null()) << submitted;

  scheduler_.plan.set_hours(1.5);
  EXPECT_EQ(nlohmann::json::parse(Run({"plan", "quickstart", "-o", "json"}).out)["hours"], 1.5);
  scheduler_.plan.set_hours(0);
  scheduler_.plan.set_done(scheduler_.plan.jobs());
  EXPECT_EQ(nlohmann::json::parse(Run({"plan", "quickstart", "-o", "json"}).out)["hours"], 0);
}

TEST_F(SubmitTest, WhatHasFailedIsNotToRunAndTheCommandThatRunsItIsSaid) {
  scheduler_.plan.set_done(900);
  EXPECT_THAT(Run({"plan", "table-b1"}).out, StartsWith("table-b1: 945 jobs, 900 done, 45 to run\n  packs "));
  EXPECT_THAT(Run({"submit", "table-b1"}).out, HasSubstr(": 945 jobs, 900 done\n"));
  scheduler_.plan.set_failed(1);
  EXPECT_THAT(Run({"plan", "table-b1"}).out,
              StartsWith("table-b1: 945 jobs, 900 done, 1 failed, 44 to run\n  failed         1 job, which stays so; 'longreach retry SWEEP', once it is submitted, or "
                         "'run --retry-failed' tries it again\n"));
  EXPECT_EQ(nlohmann::json::parse(Run({"plan", "table-b1", "-o", "json"}).out)["failed"], 1);
  scheduler_.plan.set_failed(20);
  const Outcome submitted = Run({"submit", "table-b1"});
  EXPECT_THAT(submitted.out, HasSubstr(": 945 jobs, 900 done, 20 failed\n"));
  EXPECT_THAT(submitted.err, HasSubstr("20 jobs have failed, and stay so; 'longreach retry aaaaaaaa --scheduler " + scheduler_.address() + "' queues them again\n"));
  EXPECT_THAT(Run({"run", "table-b1"}).err, HasSubstr(": 945 jobs, 900 done, 20 failed\n"));
}

TEST_F(SubmitTest, SubmitNamesNoRetryThatWouldBeInVain) {
  scheduler_.plan.set_failed(1);
  scheduler_.jobs.mutable_jobs(0)->set_failure("input failed: weights (job 01234567 diverged)");
  const Outcome submitted = Run({"submit", "table-b1"});
  EXPECT_THAT(submitted.err, HasSubstr("1 job has failed, and stays so\nwhat it begins with diverged, which is a result that no retry changes"));
  EXPECT_THAT(submitted.err, Not(HasSubstr("longreach retry")));
}

TEST_F(SubmitTest, WhereAllThatIsLeftHasFailedNothingIsToRunAndItTakesNoTime) {
  scheduler_.plan.set_done(900);
  scheduler_.plan.set_failed(45);
  EXPECT_THAT(Run({"plan", "table-b1"}).out, HasSubstr("  time           not known")) << "what they need is open still";
  scheduler_.plan.set_packs(0);
  EXPECT_THAT(Run({"plan", "table-b1"}).out, HasSubstr(", 45 failed, 0 to run\n"));
  EXPECT_THAT(Run({"plan", "table-b1"}).out, HasSubstr("  time           none, nothing is to run\n"));
  EXPECT_EQ(nlohmann::json::parse(Run({"plan", "table-b1", "-o", "json"}).out)["hours"], 0);
}

TEST_F(SubmitTest, ASweepThatIsTooLargeToBeSentIsRefusedWithItsNumber) {
  const Outcome outcome = Run({"plan", "table-b1", "--set", "seed=0..9999999"});
  EXPECT_EQ(outcome.code, kFailed);
  EXPECT_THAT(outcome.err, HasSubstr("x 10000000 seeds = 3150000000 jobs; at most 10000000"));
  EXPECT_EQ(scheduler_.calls, 0);
}

TEST_F(SubmitTest, ListsThatAreTooLongToBeSentAreRefusedWithWhatToSplit) {
  const Outcome outcome = Run({"plan", "noop", "--set", "task=even_pairs", "--set", "encoding=rope", "--set", "learning_rate=1e-3", "--set", "seed=0..9999999"});
  EXPECT_EQ(outcome.code, kFailed);
  EXPECT_THAT(outcome.err, HasSubstr("axes.seed has too many values: the specification of these 10000000 jobs takes "));
  EXPECT_THAT(outcome.err, HasSubstr("and a sweep's may take 15.7 MB (and it may have 10000000 jobs)\n  split it into 3 sweeps or more, each with a part of axes.seed"));
  EXPECT_EQ(scheduler_.calls, 0);
}

TEST_F(SubmitTest, SubmitSendsThePriorityOnlyWhenItIsGiven) {
  Run({"submit", "table-b1"});
  EXPECT_FALSE(scheduler_.submitted.has_priority());
  EXPECT_FALSE(scheduler_.submitted.dry_run());
  Run({"submit", "table-b1", "--priority", "-3"});
  EXPECT_EQ(scheduler_.submitted.priority(), -3);
}

TEST_F(SubmitTest, PartsAreSubmittedAndPlannedOneByOne) {
  std::string five_ids;
  for (int i = 0; i < 5; ++i) five_ids += std::string(64, 'a') + "\n";
  EXPECT_EQ(Run({"submit", "nope-tinyllama", "-q"}).out, five_ids);
  EXPECT_EQ(scheduler_.calls, 10) << "of each a dry run before any is submitted";
  EXPECT_EQ(scheduler_.submitted.spec().name(), "nope-passkey");
  EXPECT_FALSE(scheduler_.submitted.dry_run());

  const nlohmann::json json = nlohmann::json::parse(Run({"plan", "nope-tinyllama", "-o", "json", "--set", "training.batch_size=2"}).out);
  EXPECT_EQ(scheduler_.submitted.spec().training().batch_size(), 2);
  ASSERT_EQ(json["parts"].size(), 5u);
  EXPECT_EQ(json["parts"][1]["name"], "nope-table-1-proof-pile");
  EXPECT_EQ(json["parts"][1]["plan"]["jobs"], 945);
  EXPECT_FALSE(json.contains("jobs"));
}

TEST_F(SubmitTest, OfPartsNoneIsSubmittedWhereOneWouldBeRefused) {
  scheduler_.refusals["SubmitSweep"] = grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "training.steps: -1\nset it");
  for (const char* command : {"submit", "run"}) {
    const Outcome outcome = Run({command, "nope-tinyllama"});
    EXPECT_EQ(outcome.code, kUsage) << command;
    EXPECT_THAT(outcome.err, HasSubstr("error: part 'nope-table-1': training.steps: -1\n  set it\n")) << command;
    EXPECT_FALSE(outcome.err.find("goes on") != std::string::npos) << command;
  }
  EXPECT_THAT(Run({"plan", "nope-tinyllama"}).err, HasSubstr("error: part 'nope-table-1': training.steps: -1\n  set it\n"));
  EXPECT_THAT(Run({"plan", "quickstart"}).err, HasSubstr("error: training.steps: -1\n"));
}

TEST_F(SubmitTest, OptionsOfAWorkerAreRefusedWhereTheSweepGoesToAScheduler) {
  const Outcome outcome = Run({"run", "table-b1", "--device", "cuda", "--packs", "2"});
  EXPECT_EQ(outcome.code, kUsage);
  EXPECT_THAT(outcome.err, HasSubstr("--device"));
  EXPECT_THAT(outcome.err, HasSubstr("workers have options of their own"));
  EXPECT_EQ(scheduler_.calls, 0);
}

}  // namespace
}  // namespace longreach::client
