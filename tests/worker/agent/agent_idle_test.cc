// When the agent leaves by itself, for want of work.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <limits>

#include "tests/support/temporary_folder.h"
#include "tests/worker/agent/agent_under_test.h"

namespace longreach::agent {
namespace {

using ::testing::IsEmpty;
using Seen = FakeScheduler::Seen;

// The shortest time that is not at once: two answers are further apart.
constexpr double kMomentS = 1e-9;

class AgentIdleTest : public ::testing::Test {
 protected:
  AgentIdleTest() : scheduler_(folder_.path() / "scheduler.sock") { scheduler_.Listen(); }

  AgentOptions Options(double leave_when_idle_s) {
    AgentOptions options = OptionsFor(scheduler_, folder_.path() / "worker");
    options.leave_when_idle_s = leave_when_idle_s;
    return options;
  }

  Seen SeenNow() {
    return scheduler_.WaitFor("-", [](const Seen&) { return true; });
  }

  // Waits until it has gone without being told, and returns what was seen then.
  Seen ExpectItLeaves(AgentUnderTest& agent) {
    const Seen seen = scheduler_.WaitFor("a goodbye", [](const Seen& now) { return now.goodbyes > 0; });
    if (seen.goodbyes == 0) return seen;
    const absl::Status how = agent.Join();
    EXPECT_TRUE(how.ok()) << how;
    EXPECT_THAT(seen.last.held(), IsEmpty());
    EXPECT_THAT(seen.last.finished(), IsEmpty());
    EXPECT_TRUE(std::filesystem::is_empty(folder_.path() / "worker" / "outbox"));
    return seen;
  }

  testing::TemporaryFolder folder_;
  FakeScheduler scheduler_;
};

TEST_F(AgentIdleTest, LeavesOnceTheSchedulerHasNothing) {
  AgentUnderTest agent(Options(0));

  const Seen seen = ExpectItLeaves(agent);

  EXPECT_EQ(seen.calls, 2);  // It asked once, and said goodbye.
}

TEST_F(AgentIdleTest, TrainsWhatThereIsAndHandsItInBefore) {
  for (int attempt = 1; attempt <= 3; ++attempt) scheduler_.Offer(LeaseOf(attempt, 3, 1, attempt));
  AgentUnderTest agent(Options(0));

  Seen seen = ExpectItLeaves(agent);

  for (int attempt = 1; attempt <= 3; ++attempt) {
    EXPECT_EQ(seen.reports[attempt].outcome(), v1::AttemptReport::OUTCOME_SUCCEEDED) << attempt;
  }
}

TEST_F(AgentIdleTest, StaysWhileItTrains) {
  scheduler_.Offer(LeaseOf(7, kEndless));
  AgentUnderTest agent(Options(0));
  scheduler_.WaitForStep(7, 1);

  const int calls = SeenNow().calls;
  const Seen later = scheduler_.WaitFor("ten more calls", [&](const Seen& seen) { return seen.calls >= calls + 10; });

  EXPECT_EQ(later.goodbyes, 0);
  scheduler_.Direct(7, v1::Directive::ACTION_STOP);
  Seen seen = ExpectItLeaves(agent);
  EXPECT_EQ(seen.reports[7].outcome(), v1::AttemptReport::OUTCOME_GIVEN_BACK);
}

TEST_F(AgentIdleTest, StaysUntilItsTrainerIsThereAgain) {
  scheduler_.Offer(LeaseOf(7, kEndless));
  AgentUnderTest agent(Options(0));
  scheduler_.WaitForStep(7, 1);
  scheduler_.Offer(LeaseOf(8, 3, 1, 2));

  kill(agent.TrainerPid(), SIGKILL);

  Seen seen = ExpectItLeaves(agent);
  EXPECT_EQ(seen.reports[7].outcome(), v1::AttemptReport::OUTCOME_FAILED);
  EXPECT_EQ(seen.reports[8].outcome(), v1::AttemptReport::OUTCOME_SUCCEEDED);
}

TEST_F(AgentIdleTest, WaitsForASchedulerThatIsAway) {
  scheduler_.RefuseCalls({grpc::StatusCode::UNAVAILABLE, "not there yet"});
  AgentUnderTest agent(Options(0));
  scheduler_.WaitFor("three calls in vain", [](const Seen& seen) { return seen.turned_away >= 3; });
  scheduler_.Offer(LeaseOf(7, 3));

  scheduler_.RefuseCalls(grpc::Status::OK);

  Seen seen = ExpectItLeaves(agent);
  EXPECT_EQ(seen.reports[7].outcome(), v1::AttemptReport::OUTCOME_SUCCEEDED);
}

// Of a wrong certificate or token: whoever has just started it can do something about that, and a task of a cluster would hold its GPU for nothing.
TEST_F(AgentIdleTest, EndsWhenItIsNotLetInFromTheBeginning) {
  for (const grpc::StatusCode code : {grpc::StatusCode::PERMISSION_DENIED, grpc::StatusCode::UNAUTHENTICATED}) {
    scheduler_.RefuseCalls({code, "certificate client has the role client, and this call is for worker"});
    AgentUnderTest agent(Options(std::numeric_limits<double>::infinity()));
    const absl::Status status = agent.Join();
    EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("this call is for worker"));
  }
}

TEST_F(AgentIdleTest, WaitsWhenItIsNotLetInAnyMore) {
  scheduler_.Offer(LeaseOf(7, 3));
  // The first call brings it the lease.
  scheduler_.RefuseCalls({grpc::StatusCode::UNAUTHENTICATED, "this token is not known here (any more)"}, /*before=*/1);
  AgentUnderTest agent(Options(0));
  scheduler_.WaitFor("two calls in vain", [](const Seen& seen) { return seen.turned_away >= 2; });

  scheduler_.RefuseCalls(grpc::Status::OK);

  EXPECT_EQ(ExpectItLeaves(agent).reports[7].outcome(), v1::AttemptReport::OUTCOME_SUCCEEDED);
}

TEST_F(AgentIdleTest, BeginsToCountAnewWhenTheSchedulerIsBack) {
  // The first answer says that there is nothing; the second would be the end.
  scheduler_.RefuseCalls({grpc::StatusCode::UNAVAILABLE, "away"}, /*before=*/1);
  AgentUnderTest agent(Options(kMomentS));
  scheduler_.WaitFor("a call in vain", [](const Seen& seen) { return seen.turned_away > 0; });

  scheduler_.RefuseCalls(grpc::Status::OK);

  const Seen seen = ExpectItLeaves(agent);
  EXPECT_EQ(seen.calls, 4);  // Before; the first when it is back; one that a moment lies before; the goodbye.
}

}  // namespace
}  // namespace longreach::agent
