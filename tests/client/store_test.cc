// What 'longreach store' says beside the scheduler's answers.
#include <gmock/gmock.h>

#include <chrono>
#include <future>
#include <nlohmann/json.hpp>
#include <utility>

#include "tests/client/support.h"

namespace longreach::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

using StoreTest = WithFakeScheduler;

v1::Sweep MergedSweep(char digit, const std::string& name, const std::string& state, int queued) {
  v1::Sweep sweep;
  sweep.set_id(std::string(64, digit));
  sweep.set_name(name);
  sweep.set_state(state);
  sweep.mutable_counts()->set_queued(queued);
  return sweep;
}

TEST_F(StoreTest, AMergeSaysWhichSweepsAreTrainedHereNow) {
  scheduler_.other_sweeps = {MergedSweep('1', "ours", "live", 7)};
  scheduler_.merged_sweeps = {MergedSweep('2', "half", "live", 123), MergedSweep('3', "held", "paused", 50), MergedSweep('4', "done", "live", 0),
                              MergedSweep('5', "last-one", "live", 1)};

  const Outcome outcome = Run({"store", "merge", "other.db"});

  EXPECT_EQ(outcome.code, kDone);
  EXPECT_THAT(outcome.err, HasSubstr("2 sweeps came along and are live here now: workers of this store train their open jobs\n"));
  EXPECT_THAT(outcome.err, HasSubstr("  123 open jobs of half; 'longreach pause 22222222 --scheduler " + scheduler_.address() + "' holds them\n"));
  EXPECT_THAT(outcome.err, HasSubstr("  1 open job of last-one; 'longreach pause 55555555 --scheduler " + scheduler_.address() + "' holds it\n"));
  for (const char* other : {"ours", "held", "done"}) EXPECT_THAT(outcome.err, Not(HasSubstr(other)));
  EXPECT_THAT(outcome.err, HasSubstr("  some of these jobs were here before, or are of more than one sweep: 0 jobs came along, and each is trained once\n"));
  EXPECT_THAT(outcome.out, StartsWith("added 4 sweeps, 0 jobs, 0 results and 0 artifacts; "));
}

TEST_F(StoreTest, AMergeWhoseSweepsCountNoMoreThanCameAlongSpeaksOfNoOtherJobs) {
  scheduler_.merged_sweeps = {MergedSweep('2', "half", "live", 123)};
  scheduler_.jobs_added = 123;

  const Outcome outcome = Run({"store", "merge", "other.db"});

  EXPECT_THAT(outcome.err, HasSubstr("1 sweep came along and is live here now: workers of this store train its open jobs\n  123 open jobs of half; "));
  EXPECT_THAT(outcome.err, Not(HasSubstr("were here before")));
}

TEST_F(StoreTest, AStoreIsMendedByItsFileAlone) {
  const Outcome outcome = Run({"store", "check", "--repair"});

  EXPECT_EQ(outcome.code, kUsage);
  EXPECT_THAT(outcome.err, HasSubstr("--repair takes --store FILE: a store is mended while no scheduler has it\n  stop its scheduler, then 'longreach store check --repair --store FILE'"));
}

TEST_F(StoreTest, AMergeThatBringsNoSweepSpeaksOfNone) {
  EXPECT_THAT(Run({"store", "merge", "other.db"}).out, StartsWith("added 0 jobs, "));
  EXPECT_EQ(nlohmann::json::parse(Run({"store", "merge", "other.db", "-o", "json"}).out)["sweeps_added"], 0);
}

TEST_F(StoreTest, AMergeThatBringsNoOpenJobsSaysNothingOfSweeps) {
  scheduler_.merged_sweeps = {MergedSweep('4', "done", "live", 0)};
  EXPECT_THAT(Run({"store", "merge", "other.db"}).err, Not(HasSubstr("came along")));
}

TEST_F(StoreTest, WhatTakesLongSaysWhatItDoes) {
  // The scheduler answers once the client has said it, or, that it ends, very late.
  std::promise<void> said;
  scheduler_.when_checked = [heard = said.get_future().share()] { heard.wait_for(std::chrono::minutes(10)); };
  bool is_first = true;
  const auto when_said = [&] {
    if (std::exchange(is_first, false)) said.set_value();
  };

  const Outcome outcome = RunCommandLine({"store", "check", "--artifacts", "--scheduler", scheduler_.address()}, {}, "/nonexistent", when_said);

  EXPECT_EQ(outcome.code, kDone);
  EXPECT_EQ(outcome.err, "looking through the store of the scheduler at " + scheduler_.address() + " and its files\n") << "once";
  EXPECT_THAT(outcome.out, StartsWith("sound: ")) << "what it prints is as ever";
}

TEST_F(StoreTest, ACheckFailsOnContradictions) {
  scheduler_.check.add_violations("job 1f3a has two results");
  const Outcome outcome = Run({"store", "check"});
  EXPECT_EQ(outcome.code, kFailed);
  EXPECT_THAT(outcome.out, HasSubstr("job 1f3a has two results\nnot sound: "));
  EXPECT_EQ(Run({"store", "check", "-o", "json"}).code, kFailed);
}

TEST_F(StoreTest, ARemarkIsNoContradiction) {
  scheduler_.check.add_remarks("2 files that this store does not name");
  const Outcome outcome = Run({"store", "check", "--artifacts"});
  EXPECT_EQ(outcome.code, kDone);
  EXPECT_THAT(outcome.out, HasSubstr("remark: 2 files that this store does not name\nsound: "));
  EXPECT_EQ(nlohmann::json::parse(Run({"store", "check", "-o", "json"}).out)["remarks"].size(), 1U);
}

TEST_F(StoreTest, CommandsOfARemarkAreToldForTheStoreThatWasChecked) {
  scheduler_.check.add_remarks("'longreach verify JOB' trains it again");
  EXPECT_THAT(Run({"store", "check"}).out, HasSubstr("remark: 'longreach verify JOB --scheduler " + scheduler_.address() + "' trains it again\n"));
}

TEST_F(StoreTest, AMigrationSaysFromWhereToWhere) {
  EXPECT_THAT(Run({"store", "migrate"}).out, HasSubstr("version 3, was 1"));
}

}  // namespace
}  // namespace longreach::client
