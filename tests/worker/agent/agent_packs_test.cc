// What the agent does when it trains several packs at a time, each in a trainer child of its own.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/ptrace.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <string>
#include <thread>

#include "tests/worker/agent/agent_packs_fixture.h"
#include "tests/worker/agent/tracer.h"

namespace longreach::agent {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Seen = FakeScheduler::Seen;

TEST_F(AgentPacksTest, TrainsLeasesSideBySide) {
  AgentUnderTest agent(Options(2));
  WaitForFreeSlots(2);

  scheduler_.Offer(LeaseOf(7, kEndless));
  scheduler_.Offer(LeaseOf(8, kEndless, 1, 2));

  scheduler_.WaitForStep(7, 1);
  scheduler_.WaitForStep(8, 1);
  ExpectItAdvances(7);
  ExpectItAdvances(8);
  EXPECT_NE(agent.TrainerPid(0), agent.TrainerPid(1));
  EXPECT_EQ(WaitForAnotherCall().last.free_slots(), 0);
}

TEST_F(AgentPacksTest, TakesNoMoreLeasesThanItHasSlotsForWhateverItIsGiven) {
  AgentUnderTest agent(Options(2));
  TrainSevenAndEight();

  scheduler_.GiveMoreThanIsAskedFor();
  scheduler_.Offer(LeaseOf(9, 3, 1, 3));

  WaitForAnotherCall();
  const Seen seen = WaitForAnotherCall();  // The one before may have been made before the lease was given.
  EXPECT_EQ(seen.Held(9), nullptr);
  EXPECT_THAT(seen.last.held(), SizeIs(2));
  scheduler_.Direct(7, v1::Directive::ACTION_STOP);
  EXPECT_EQ(scheduler_.WaitForReport(9).outcome(), v1::AttemptReport::OUTCOME_SUCCEEDED);
}

TEST_F(AgentPacksTest, DividesItsMemoryAmongItsPacks) {
  v1::Abilities alone;
  {
    AgentUnderTest agent(Options(1, "alone"));
    alone = scheduler_.WaitFor("a call", [](const Seen& seen) { return seen.calls > 0; }).last.abilities();
  }

  AgentUnderTest agent(Options(3));

  EXPECT_DOUBLE_EQ(WaitForFreeSlots(3).last.abilities().memory_bytes(), alone.memory_bytes() / 3);
}

// The numbers of threads that a pack was told to compute with, one after the other, as its log has them.
std::string ThreadsByLog(const std::filesystem::path& log) {
  constexpr std::string_view kTold = " thread(s) from here on";
  std::ifstream lines(log);
  std::string all;
  for (std::string line; std::getline(lines, line);) {
    if (line.ends_with(kTold)) all += (all.empty() ? "" : " ") + line.substr(0, line.size() - kTold.size());
  }
  return all;
}

TEST_F(AgentPacksTest, DividesItsThreadsAmongThePacksThatAreTrained) {
  AgentOptions options = Options(3);
  options.threads = 5;
  AgentUnderTest agent(options);
  const auto wait_for_threads = [&](uint64_t attempt, const std::string& told) {
    const std::filesystem::path log = options.state / "attempts" / std::to_string(attempt) / "log";
    scheduler_.WaitFor(fmt::format("attempt {} with {} threads", attempt, told), [&](const Seen&) { return ThreadsByLog(log) == told; });
  };
  EXPECT_EQ(WaitForFreeSlots(3).last.abilities().threads(), 5);

  TrainSevenAndEight();
  scheduler_.Offer(LeaseOf(9, kEndless, 1, 3));

  wait_for_threads(7, "5 3 2");
  wait_for_threads(8, "2");
  wait_for_threads(9, "1");

  scheduler_.Direct(7, v1::Directive::ACTION_STOP);
  wait_for_threads(8, "2 3");
  wait_for_threads(9, "1 2");
  kill(agent.TrainerPid(1), SIGKILL);
  wait_for_threads(9, "1 2 5");
}

TEST_F(AgentPacksTest, MeasuresHowManyJobsAreWorthTrainingTogetherBeforeItsFirstCall) {
  AgentOptions options = Options(2);
  options.pack_limit = 0;
  AgentUnderTest agent(options);

  const int32_t limit = WaitForFreeSlots(2).last.abilities().pack_limit();

  EXPECT_THAT(limit, AnyOf(1, 2, 4, 8, 9, 16, 32, 64, 128));
  TrainSevenAndEight();  // The second trainer measures nothing, and changes nothing.
  EXPECT_EQ(WaitForAnotherCall().last.abilities().pack_limit(), limit);
}

TEST_F(AgentPacksTest, LeavesWhileItMeasures) {
  AgentOptions options = Options(1);
  options.pack_limit = 0;
  AgentUnderTest agent(options);

  agent.Leave();

  EXPECT_TRUE(agent.Join().ok());
}

TEST_F(AgentPacksTest, EndsWhenItsTrainerHangsWhileItMeasures) {
  std::string how;
  // On a busy machine it may have measured before it is stopped, or be taken for hung while it starts: then another one has more time for that.
  for (int run = 1; run <= 20 && how.find("measuring") == std::string::npos; ++run) {
    FakeScheduler scheduler(folder_.path() / fmt::format("scheduler-{}.sock", run));
    scheduler.Listen();
    AgentOptions options = OptionsFor(scheduler, folder_.path() / fmt::format("worker-{}", run));
    options.packs = 1;
    options.pack_limit = 0;
    options.threads = 2;
    options.hang_floor_s = 0.5 * run;
    AgentUnderTest agent(options);
    const int trainer = agent.TrainerPid();
    // Its first call tells what came of it.
    const auto has_measured = [&scheduler] {
      return scheduler.WaitFor("-", [](const FakeScheduler::Seen&) { return true; }).last.free_slots() > 0;
    };
    // It computes with threads of its own when it has begun to measure.
    const std::filesystem::path threads = fmt::format("/proc/{}/task", trainer);
    while (std::distance(std::filesystem::directory_iterator(threads), {}) < 2 && !has_measured()) std::this_thread::yield();

    kill(trainer, SIGSTOP);

    std::future<absl::Status> end = std::async(std::launch::async, [&agent] { return agent.Join(); });
    while (end.wait_for(std::chrono::milliseconds(10)) != std::future_status::ready) {
      if (!has_measured()) continue;
      kill(trainer, SIGCONT);
      agent.Leave();
      end.wait();
    }
    how = std::string(end.get().message());
  }

  EXPECT_THAT(how, AllOf(HasSubstr("hung: no sign of life"), HasSubstr("measuring"), HasSubstr("--pack-limit 16")));
}

TEST_F(AgentPacksTest, EndsWithTheReasonWhenItCannotMeasure) {
  AgentOptions options = Options(1);
  options.pack_limit = 0;
  options.engine = "lane";
  AgentUnderTest agent(options);

  const absl::Status how = agent.Join();

  EXPECT_EQ(how.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(how.message()), AllOf(HasSubstr("while measuring packs"), HasSubstr("unknown name 'lane'"), HasSubstr("--pack-limit 16")));
}

TEST_F(AgentPacksTest, RefusesAPackThatTakesMoreThanItsShareOfTheMemory) {
  AgentUnderTest agent(Options(4));
  const v1::SynchronizeRequest call = WaitForFreeSlots(4).last;
  v1::Lease lease = LeaseOf(7, 3);
  v1::Model& model = *MakeLlama(lease, "words").mutable_model();
  model.set_layers(1000);
  model.set_embedding_dim(65536);
  model.set_heads(8);
  model.set_kv_heads(8);
  model.set_mlp_dim(65536);

  scheduler_.Offer(lease);

  EXPECT_THAT(scheduler_.WaitForReport(7).detail(),
              HasSubstr(fmt::format("each of the packs that are trained here at a time has {}",
                                    static_cast<int64_t>(call.abilities().memory_bytes()))));
}

TEST_F(AgentPacksTest, StartsNoFurtherTrainerWhileOneIsIdle) {
  AgentUnderTest agent(Options(3));
  WaitForFreeSlots(3);

  for (int attempt = 1; attempt <= 3; ++attempt) {
    scheduler_.Offer(LeaseOf(attempt, 3, 1, attempt));
    EXPECT_EQ(scheduler_.WaitForReport(attempt).outcome(), v1::AttemptReport::OUTCOME_SUCCEEDED);
  }

  EXPECT_NE(agent.TrainerPid(0), 0);
  EXPECT_EQ(agent.TrainerPid(1), 0);
  EXPECT_EQ(agent.TrainerPid(2), 0);
}

TEST_F(AgentPacksTest, LosesNothingButItsOwnAttemptWhenATrainerIsKilled) {
  v1::AttemptReport undisturbed;
  {
    AgentUnderTest agent(Options(1, "undisturbed"));
    scheduler_.Offer(LeaseOf(1, /*steps=*/300, /*jobs=*/2));
    undisturbed = scheduler_.WaitForReport(1);
    ASSERT_THAT(undisturbed.results(), SizeIs(2)) << undisturbed.detail();
  }
  AgentUnderTest agent(Options(2));
  scheduler_.Offer(LeaseOf(7, kEndless));
  scheduler_.WaitForStep(7, 1);
  scheduler_.Offer(LeaseOf(8, /*steps=*/300, /*jobs=*/2));
  scheduler_.WaitForStep(8, 1);
  const int other = agent.TrainerPid(1);
  kill(other, SIGSTOP);  // So that it cannot end before all else is seen.

  kill(agent.TrainerPid(0), SIGKILL);

  const v1::AttemptReport lost = scheduler_.WaitForReport(7);
  EXPECT_EQ(lost.outcome(), v1::AttemptReport::OUTCOME_FAILED);
  EXPECT_THAT(lost.detail(), HasSubstr("SIGKILL"));
  scheduler_.Offer(LeaseOf(9, 3, 1, 50));  // Its slot is free again.
  EXPECT_EQ(scheduler_.WaitForReport(9).outcome(), v1::AttemptReport::OUTCOME_SUCCEEDED);
  EXPECT_EQ(agent.TrainerPid(1), other);
  kill(other, SIGCONT);
  const v1::AttemptReport report = scheduler_.WaitForReport(8);
  ASSERT_THAT(report.results(), SizeIs(2)) << report.detail();
  for (int member = 0; member < 2; ++member) {
    EXPECT_EQ(report.results(member).SerializeAsString(), undisturbed.results(member).SerializeAsString());
  }
}

TEST_F(AgentPacksTest, KillsTheTrainerThatHangsAndNoOther) {
  AgentOptions options = Options(2);
  options.hang_floor_s = 3;
  AgentUnderTest agent(options);
  TrainSevenAndEight();
  scheduler_.WaitForStep(7, 50);  // By then it is known how long a step takes.
  const int other = agent.TrainerPid(1);

  kill(agent.TrainerPid(0), SIGSTOP);

  const v1::AttemptReport report = scheduler_.WaitForReport(7);
  EXPECT_EQ(report.outcome(), v1::AttemptReport::OUTCOME_FAILED);
  EXPECT_THAT(report.detail(), HasSubstr("hung"));
  ExpectItAdvances(8);
  EXPECT_EQ(agent.TrainerPid(1), other);
  WaitForFreeSlots(1);
}

// A process that is killed and does not end, as the kernel holds one that waits for a device: not before its tracer lets go of it.
class Unkillable : public Tracer {
 public:
  explicit Unkillable(pid_t process) : Tracer([=] { return ptrace(PTRACE_SEIZE, process, nullptr, PTRACE_O_TRACEEXIT) == 0; }, [] {}) {}
};

TEST_F(AgentPacksTest, GoesOnWithTheOthersWhileAKilledTrainerDoesNotEnd) {
  AgentUnderTest agent(Options(2));
  TrainSevenAndEight();
  const int held = agent.TrainerPid(0);
  Unkillable trainer(held);
  if (!trainer.holds()) GTEST_SKIP() << "no process may trace another here";

  scheduler_.Direct(7, v1::Directive::ACTION_DROP);

  scheduler_.WaitFor("attempt 7 dropped", [](const Seen& seen) { return seen.Held(7) == nullptr; });
  ExpectItAdvances(8);
  EXPECT_EQ(WaitForAnotherCall().last.free_slots(), 0);
  EXPECT_EQ(agent.TrainerPid(0), held);
  trainer.LetGo();
  WaitForFreeSlots(1);
  EXPECT_NE(agent.TrainerPid(0), held);
}

TEST_F(AgentPacksTest, DropsOneAttemptAndGoesOnWithTheOther) {
  AgentUnderTest agent(Options(2));
  TrainSevenAndEight();
  const int other = agent.TrainerPid(1);

  scheduler_.Direct(7, v1::Directive::ACTION_DROP);

  const Seen seen = WaitForFreeSlots(1);
  EXPECT_EQ(seen.Held(7), nullptr);
  EXPECT_THAT(seen.reports, IsEmpty());
  ExpectItAdvances(8);
  EXPECT_EQ(agent.TrainerPid(1), other);
}

TEST_F(AgentPacksTest, GivesAllBackWithTheirCheckpointsWhenItLeaves) { ExpectToGiveAllBackWhenItLeaves(Options(2)); }

TEST_F(AgentPacksTest, ReportsAtItsNextStartWhatItCouldNotHandIn) {
  {
    AgentOptions options = Options(2);
    options.patience_s = 0.1;
    AgentUnderTest agent(options);
    TrainSevenAndEight();
    scheduler_.GoAway();
    agent.Leave();
    EXPECT_TRUE(agent.Join().ok());
  }
  scheduler_.Listen();

  AgentUnderTest restarted(Options(2));

  for (const uint64_t attempt : {7, 8}) {
    EXPECT_EQ(scheduler_.WaitForReport(attempt).outcome(), v1::AttemptReport::OUTCOME_GIVEN_BACK);
  }
  scheduler_.WaitFor("an idle worker without reports", [](const Seen& seen) {
    return seen.last.finished().empty() && seen.last.held().empty() && seen.last.free_slots() == 2;
  });
}

}  // namespace
}  // namespace longreach::agent
