// What `longreach workers` says besides its list, which commands_test.cc has.
#include <gmock/gmock.h>

#include <string>

#include "client/errors.h"
#include "tests/client/support.h"

namespace longreach::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

using WorkersTest = WithFakeScheduler;

TEST_F(WorkersTest, PacksThatWaitAreANumber) {
  scheduler_.workers.set_packs_waiting(0);
  EXPECT_EQ(Run({"workers", "--waiting"}).out, "0\n");
  scheduler_.workers.set_packs_waiting(7);
  EXPECT_EQ(Run({"workers", "--waiting"}).out, "7\n");
  EXPECT_EQ(Run({"workers", "--waiting", "-q"}).out, "7\n");
  EXPECT_THAT(Run({"workers", "--waiting", "-o", "json"}).out, HasSubstr("\"packs_waiting\":7"));
}

TEST_F(WorkersTest, ASchedulerThatCountsNoneIsNotTakenForOneWithoutWork) {
  const Outcome outcome = Run({"workers", "--waiting"});
  EXPECT_EQ(outcome.code, kFailed);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, HasSubstr("of an older build, which does not count the packs that wait"));
  EXPECT_THAT(Run({"workers", "-o", "json"}).out, Not(HasSubstr("packs_waiting")));
}

TEST_F(WorkersTest, SaysOfWhatAWorkerDoesThatItWaitsForItsDisk) {
  v1::WorkerInfo& worker = *scheduler_.workers.mutable_workers(0);
  worker.clear_running();
  v1::RunningAttempt& attempt = *worker.add_running();
  attempt.set_task("even_pairs");
  attempt.set_encoding("rope");
  attempt.set_members(9);
  attempt.set_step(10);
  attempt.set_steps(10);
  attempt.set_phase("uploading");
  EXPECT_THAT(Run({"workers"}).out, Not(HasSubstr("disk")));

  attempt.set_phase("waits for its disk");
  EXPECT_THAT(Run({"workers"}).out, HasSubstr("even_pairs rope x9 10/10, waits for its disk"));
  const v1::RunningAttempt same = attempt;
  *worker.add_running() = same;
  EXPECT_THAT(Run({"workers"}).out, HasSubstr("even_pairs rope x9 10/10 and 1 more, 2 of these waiting for its disk"));
}

// 'status' and 'explain' say the same, and send for no worker either.
TEST_F(WorkersTest, BesideASchedulerWhoseDiskIsFullNoWorkerIsSentFor) {
  scheduler_.workers.clear_workers();
  EXPECT_THAT(Run({"workers"}).err, HasSubstr("no worker has come yet; start one with 'longreach-worker run"));

  scheduler_.workers.set_store_trouble("the store takes nothing: the disk is full\x1b[2J");
  const Outcome outcome = Run({"workers"});
  EXPECT_EQ(outcome.code, kDone);
  EXPECT_EQ(outcome.err, "the store takes nothing: the disk is full\\x1b[2J, so that workers that have come meanwhile are not known; it goes on by itself\n");
  EXPECT_EQ(Run({"workers", "-q"}).err, "");
  EXPECT_THAT(Run({"workers", "-o", "json"}).out, HasSubstr("\"store_trouble\":\"the store takes nothing: the disk is full"));
}

TEST_F(WorkersTest, WhatIsDamagedIsNamedWithTheWorkersThatSaySo) {
  EXPECT_THAT(Run({"workers"}).out, Not(HasSubstr("DAMAGED DATA")));
  EXPECT_THAT(Run({"workers", "-o", "csv"}).out, HasSubstr(",reason,damaged_data_sets\n"));
  const v1::WorkerInfo whole = scheduler_.workers.workers(0);
  for (const char* name : {"b", "c"}) {
    v1::WorkerInfo& worker = *scheduler_.workers.add_workers();
    worker = whole;
    worker.set_name(name);
    for (const char* data_set : {"words", "novels"}) {
      v1::DamagedDataSet& damaged = *worker.add_damaged_data_sets();
      damaged.set_name(data_set);
      damaged.set_reason(std::string(data_set) + "/corpus.bin: its bytes\x1b[2J have changed");
    }
  }

  const Outcome shown = Run({"workers"});

  EXPECT_EQ(shown.code, kDone);
  EXPECT_THAT(shown.out, HasSubstr("DAMAGED DATA"));
  EXPECT_THAT(shown.out, HasSubstr("words, novels"));
  EXPECT_THAT(shown.err, HasSubstr("workers 'b', 'c': the data set 'words' is damaged: words/corpus.bin: its bytes\\x1b[2J have changed\n"));
  EXPECT_THAT(shown.err, HasSubstr("workers 'b', 'c': the data set 'novels' is damaged: "));
  EXPECT_EQ(Run({"workers", "-q"}).err, "");
  EXPECT_THAT(Run({"workers", "-o", "csv"}).out, HasSubstr(",\"words, novels\"\n"));
  EXPECT_THAT(Run({"workers", "-o", "json"}).out, HasSubstr("\"damaged_data_sets\":[{\"name\":\"words\",\"reason\":\"words/corpus.bin: its bytes"));
}

TEST_F(WorkersTest, OfManyDamagedDataSetsTheFirstAreTold) {
  v1::WorkerInfo& worker = *scheduler_.workers.mutable_workers(0);
  for (int i = 0; i < 23; ++i) {
    v1::DamagedDataSet& damaged = *worker.add_damaged_data_sets();
    damaged.set_name("set-" + std::to_string(i));
    damaged.set_reason("it is damaged");
  }

  const std::string said = Run({"workers"}).err;

  EXPECT_THAT(said, HasSubstr("the data set 'set-19' is damaged"));
  EXPECT_THAT(said, Not(HasSubstr("the data set 'set-20' is damaged")));
  EXPECT_THAT(said, HasSubstr("and 3 more; 'longreach workers -o json' has all reasons"));
}

}  // namespace
}  // namespace longreach::client
