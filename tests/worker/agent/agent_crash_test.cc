// What the agent does when its trainer crashes or hangs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <string>

#include "tests/worker/agent/one_agent_fixture.h"
#include "worker/agent/agent.h"

namespace longreach::agent {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Seen = FakeScheduler::Seen;

class AgentCrashTest : public OneAgentTest {};

// A sanitizer that a child was built with leaves SIGSEGV to the system: its own end would be another one.
class WithoutSanitizersHandler {
 public:
  WithoutSanitizersHandler() : before_(std::getenv("ASAN_OPTIONS") == nullptr ? "" : std::getenv("ASAN_OPTIONS")) {
    setenv("ASAN_OPTIONS", (before_ + ":handle_segv=0").c_str(), 1);
  }
  ~WithoutSanitizersHandler() { setenv("ASAN_OPTIONS", before_.c_str(), 1); }

 private:
  std::string before_;
};

TEST_F(AgentCrashTest, ReportsATrainerThatCrashed) {
  const WithoutSanitizersHandler none;
  AgentUnderTest agent(Options());
  scheduler_.Offer(LeaseOf(7, kEndless));
  scheduler_.WaitForStep(7, 1);

  kill(agent.TrainerPid(), SIGSEGV);

  const v1::AttemptReport report = scheduler_.WaitForReport(7);
  EXPECT_EQ(report.outcome(), v1::AttemptReport::OUTCOME_FAILED);
  EXPECT_THAT(report.detail(), HasSubstr("SIGSEGV"));
  EXPECT_THAT(report.detail(), HasSubstr("the log ends with"));
  ExpectItStillWorks(8);
}

TEST_F(AgentCrashTest, HandsInTheCheckpointThatWasOnItsWayWhenItsTrainerCrashed) {
  const WithoutSanitizersHandler none;
  AgentOptions options = Options();
  options.checkpoint_every_s = 0.05;
  AgentUnderTest agent(options);
  scheduler_.RefuseUploads({grpc::StatusCode::UNAVAILABLE, "not now"});
  scheduler_.Offer(LeaseOf(7, kEndless));
  scheduler_.WaitFor("a refused checkpoint", [](const Seen& seen) { return !seen.refused.empty(); });

  kill(agent.TrainerPid(), SIGSEGV);
  scheduler_.RefuseUploads(grpc::Status::OK);

  EXPECT_EQ(scheduler_.WaitForReport(7).outcome(), v1::AttemptReport::OUTCOME_FAILED);
  EXPECT_THAT(scheduler_.WaitFor("-", [](const Seen&) { return true; }).UploadsOf("checkpoint"), ::testing::Not(IsEmpty()));
}

TEST_F(AgentCrashTest, SaysThatATrainerThatWasKilledRanOutOfMemory) {
  AgentUnderTest agent(Options());
  scheduler_.Offer(LeaseOf(7, kEndless));
  scheduler_.WaitForStep(7, 1);

  kill(agent.TrainerPid(), SIGKILL);

  EXPECT_THAT(scheduler_.WaitForReport(7).detail(), HasSubstr("out of memory"));
  ExpectItStillWorks(8);
}

TEST_F(AgentCrashTest, KillsATrainerThatHangs) {
  AgentOptions options = Options();
  options.hang_floor_s = 3;
  AgentUnderTest agent(options);
  scheduler_.Offer(LeaseOf(7, kEndless));
  scheduler_.WaitForStep(7, 50);  // By then it is known how long a step takes.

  kill(agent.TrainerPid(), SIGSTOP);

  const v1::AttemptReport report = scheduler_.WaitForReport(7);
  EXPECT_EQ(report.outcome(), v1::AttemptReport::OUTCOME_FAILED);
  EXPECT_THAT(report.detail(), HasSubstr("hung"));
}

}  // namespace
}  // namespace longreach::agent
