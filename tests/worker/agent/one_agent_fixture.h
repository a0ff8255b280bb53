// A scheduler of the test's own for one agent.
#pragma once

#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"
#include "tests/worker/agent/agent_under_test.h"

namespace longreach::agent {

class OneAgentTest : public ::testing::Test {
 protected:
  OneAgentTest() : scheduler_(folder_.path() / "scheduler.sock") { scheduler_.Listen(); }

  AgentOptions Options() { return OptionsFor(scheduler_, folder_.path() / "worker"); }

  // The next lease is trained as if nothing had happened.
  void ExpectItStillWorks(uint64_t attempt) {
    scheduler_.Offer(LeaseOf(attempt, 3, 1, 50));
    EXPECT_EQ(scheduler_.WaitForReport(attempt).outcome(), v1::AttemptReport::OUTCOME_SUCCEEDED);
  }

  // While no scheduler is there.
  void LeaveAlone(AgentUnderTest& agent) {
    scheduler_.GoAway();
    agent.Leave();
    EXPECT_TRUE(agent.Join().ok());
  }

  testing::TemporaryFolder folder_;
  FakeScheduler scheduler_;
};

}  // namespace longreach::agent
