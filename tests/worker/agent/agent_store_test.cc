// Attempts are numbered within a store: what a worker holds is for the scheduler of its store, and no other is told of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "tests/support/temporary_folder.h"
#include "tests/worker/agent/agent_under_test.h"
#include "tests/worker/agent/left_checkpoint.h"
#include "worker/agent/agent.h"

namespace longreach::agent {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Seen = FakeScheduler::Seen;
using longreach::testing::TemporaryFolder;

class AgentStoreTest : public ::testing::Test {
 protected:
  AgentStoreTest() : ours_(Socket()), other_(Socket()) {
    ours_.BeStore("aaaa");
    other_.BeStore("bbbb");
    // The same number, as every store counts from one.
    other_.Offer(LeaseOf(7, 3, 1, 50));
    ours_.Listen();
  }

  std::filesystem::path Socket() const { return folder_.path() / "scheduler.sock"; }
  AgentOptions Options() {
    AgentOptions options = OptionsFor(ours_, folder_.path() / "worker");
    options.patience_s = 0.1;
    return options;
  }

  TemporaryFolder folder_;
  FakeScheduler ours_, other_;
};

TEST_F(AgentStoreTest, WhatIsTrainedWaitsForTheSchedulerOfItsStore) {
  AgentUnderTest agent(Options());
  ours_.Offer(LeaseOf(7, /*steps=*/2000));
  ours_.WaitForStep(7, 1);
  ours_.GoAway();
  other_.Listen();
  const Seen met = other_.WaitFor("calls for the other store", [](const Seen& seen) { return seen.astray >= 2; });
  EXPECT_EQ(met.calls, 0);
  other_.GoAway();
  ours_.Listen();

  const v1::AttemptReport report = ours_.WaitForReport(7);

  EXPECT_EQ(report.outcome(), v1::AttemptReport::OUTCOME_SUCCEEDED) << report.detail();
  EXPECT_EQ(report.results(0).job(), JobId(1));
  EXPECT_THAT(other_.WaitFor("-", [](const Seen&) { return true; }).uploads, IsEmpty());
}

TEST_F(AgentStoreTest, KeptResultsEndAWorkerThatMeetsAnotherStoreAndAreHandedInLater) {
  {
    AgentUnderTest agent(Options());
    ours_.RefuseUploads({grpc::StatusCode::UNAVAILABLE, "no disk just now"});
    ours_.Offer(LeaseOf(7, 3));
    ours_.WaitFor("attempt 7 uploading", [](const Seen& seen) { return seen.Held(7) != nullptr && seen.Held(7)->phase() == "uploading"; });
    ours_.GoAway();
    agent.Leave();
    EXPECT_TRUE(agent.Join().ok());
  }
  other_.Listen();
  {
    AgentUnderTest astray(Options());
    const absl::Status ended = astray.Join();
    EXPECT_EQ(ended.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(ended.message()), HasSubstr("has store bbbb, and what this worker holds is of store aaaa: 1 result(s) wait in"));
    EXPECT_THAT(std::string(ended.message()), HasSubstr("or this worker with another --state"));
  }
  EXPECT_THAT(other_.WaitFor("-", [](const Seen&) { return true; }).reports, IsEmpty());
  other_.GoAway();
  ours_.RefuseUploads(grpc::Status::OK);
  ours_.Listen();

  AgentUnderTest restarted(Options());

  EXPECT_EQ(ours_.WaitForReport(7).outcome(), v1::AttemptReport::OUTCOME_SUCCEEDED);
  ours_.WaitFor("empty hands", [](const Seen& seen) { return seen.last.held().empty() && seen.last.finished().empty(); });
}

TEST_F(AgentStoreTest, CheckpointsOfAWorkerThatWasKilledDoNotKeepItFromAnotherStore) {
  LeaveFile(folder_.path() / "worker" / "store", "aaaa\n");
  LeaveFile(folder_.path() / "worker" / "attempts" / "7" / "checkpoint-5.safetensors", CheckpointOf(5, JobId(1), "parameters"));
  ours_.GoAway();
  other_.Listen();

  AgentUnderTest agent(Options());

  const v1::AttemptReport report = other_.WaitForReport(7);
  EXPECT_EQ(report.outcome(), v1::AttemptReport::OUTCOME_SUCCEEDED) << report.detail();
  EXPECT_EQ(report.results(0).job(), JobId(50));
  EXPECT_THAT(other_.WaitFor("-", [](const Seen&) { return true; }).UploadsOf("checkpoint"), IsEmpty());
}

TEST_F(AgentStoreTest, WithEmptyHandsItWorksForAnyStore) {
  AgentUnderTest agent(Options());
  ours_.Offer(LeaseOf(7, 3));
  ours_.WaitForReport(7);
  ours_.WaitFor("empty hands", [](const Seen& seen) { return seen.last.held().empty() && seen.last.finished().empty(); });
  ours_.GoAway();
  other_.Listen();

  const v1::AttemptReport report = other_.WaitForReport(7);

  EXPECT_EQ(report.outcome(), v1::AttemptReport::OUTCOME_SUCCEEDED) << report.detail();
  EXPECT_EQ(report.results(0).job(), JobId(50));
}

// Its disk is full, and says that it worked for another one before.
TEST_F(AgentStoreTest, WorksForAStoreThatItCannotWriteDown) {
  std::filesystem::create_directories(folder_.path() / "worker");
  std::ofstream(folder_.path() / "worker" / "store") << "bbbb\n";
  std::filesystem::create_symlink("/dev/full", folder_.path() / "worker" / "store.new");
  AgentUnderTest agent(Options());
  ours_.Offer(LeaseOf(7, /*steps=*/2000));
  ours_.WaitForStep(7, 1);
  ours_.GoAway();
  other_.Listen();
  other_.WaitFor("calls for the other store", [](const Seen& seen) { return seen.astray >= 2; });
  other_.GoAway();
  ours_.Listen();

  const v1::AttemptReport report = ours_.WaitForReport(7);

  EXPECT_EQ(report.outcome(), v1::AttemptReport::OUTCOME_SUCCEEDED) << report.detail();
  EXPECT_EQ(report.results(0).job(), JobId(1));
  EXPECT_THAT(other_.WaitFor("-", [](const Seen&) { return true; }).reports, IsEmpty());
}

TEST_F(AgentStoreTest, LeavesWithACheckpointThatItCannotHandIn) {
  AgentUnderTest agent(Options());
  ours_.Offer(LeaseOf(7, kEndless));
  ours_.WaitForStep(7, 1);
  ours_.GoAway();
  other_.Listen();
  other_.WaitFor("a call for the other store", [](const Seen& seen) { return seen.astray >= 1; });

  agent.Leave();

  EXPECT_TRUE(agent.Join().ok());
  EXPECT_THAT(other_.WaitFor("-", [](const Seen&) { return true; }).reports, IsEmpty());
}

}  // namespace
}  // namespace longreach::agent
