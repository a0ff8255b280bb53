// What the agent does when the trainers of its packs share a process, as on a GPU. Here they are on the CPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/worker/agent/agent_packs_fixture.h"
#include "tests/worker/agent/tracer.h"

namespace longreach::agent {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using Seen = FakeScheduler::Seen;

class AgentOneProcessTest : public AgentPacksTest {
 protected:
  AgentOptions InOneProcess(int packs) {
    AgentOptions options = Options(packs);
    options.one_process = true;
    return options;
  }

  static std::string Text(const std::filesystem::path& file) {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  // Of the trainer of a slot, from 0; 0: there is none.
  static pid_t ThreadOf(int process, int slot) {
    const std::string name = "trainer " + std::to_string(slot + 1) + "\n";
    for (const auto& task : std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/task")) {
      if (Text(task.path() / "comm") == name) return std::stoi(task.path().filename());
    }
    return 0;
  }

  v1::AttemptReport ReportOf(const v1::Lease& lease) {
    scheduler_.Offer(lease);
    return scheduler_.WaitForReport(lease.attempt());
  }

  // While another pack is trained in the same process, which goes on, and is lent the free trainer again.
  void ExpectThatItFailsAlone(const v1::Lease& lease, const ::testing::Matcher<std::string>& detail) {
    AgentUnderTest agent(InOneProcess(2));
    scheduler_.Offer(LeaseOf(7, kEndless));
    scheduler_.WaitForStep(7, 1);
    const int process = agent.TrainerPid(0);

    const v1::AttemptReport report = ReportOf(lease);

    EXPECT_EQ(report.outcome(), v1::AttemptReport::OUTCOME_FAILED);
    EXPECT_THAT(report.detail(), detail);
    ExpectItAdvances(7);
    EXPECT_EQ(ReportOf(LeaseOf(9, 3, 1, 50)).outcome(), v1::AttemptReport::OUTCOME_SUCCEEDED);
    EXPECT_EQ(agent.TrainerPid(0), process);
  }

  static bool HasCheckpointOf(const Seen& seen, uint64_t attempt) {
    return std::ranges::any_of(seen.uploads, [attempt](const v1::UploadHeader& upload) { return upload.attempt() == attempt && upload.kind() == "checkpoint"; });
  }

  // How often a trainer has begun attempts 7, 8, ...; -1: of this one it does not matter.
  void WaitForBegins(const AgentOptions& options, const std::vector<int>& times) {
    scheduler_.WaitFor("begun so often", [&](const Seen&) {
      for (size_t i = 0; i < times.size(); ++i) {
        const std::string attempt = std::to_string(7 + i), line = "attempt " + attempt + ": 1 job(s)", log = Text(options.state / "attempts" / attempt / "log");
        int begins = 0;
        for (size_t at = log.find(line); at != std::string::npos; at = log.find(line, at + 1)) ++begins;
        if (times[i] >= 0 && begins != times[i]) return false;
      }
      return true;
    });
  }

  // After an end of the process of which nobody knows whose fault it was.
  void ExpectThatSevenGivesWayToEight() {
    const v1::AttemptReport first = scheduler_.WaitForReport(7);
    EXPECT_EQ(first.outcome(), v1::AttemptReport::OUTCOME_GIVEN_BACK);
    EXPECT_THAT(first.detail(), AllOf(HasSubstr("gives way to others: it has come past step"), HasSubstr("ended while it trained 2 packs, and nobody knows whose fault")));
    EXPECT_TRUE(HasCheckpointOf(SeenNow(), 7));
    WaitForFreeSlots(1);
    ExpectItAdvances(8);
    EXPECT_THAT(SeenNow().reports, SizeIs(1));
  }

  void ExpectBothSlotsWork() {
    WaitForFreeSlots(2);
    for (const uint64_t attempt : {21, 22}) scheduler_.Offer(LeaseOf(attempt, 3, 1, static_cast<int>(attempt)));
    for (const uint64_t attempt : {21, 22}) EXPECT_EQ(scheduler_.WaitForReport(attempt).outcome(), v1::AttemptReport::OUTCOME_SUCCEEDED);
  }
};

TEST_F(AgentOneProcessTest, TrainsLeasesSideBySideWithTheBitsOfOneAlone) {
  v1::AttemptReport alone;
  {
    AgentUnderTest agent(Options(1, "alone"));
    alone = ReportOf(LeaseOf(1, /*steps=*/300, /*jobs=*/2));
    ASSERT_THAT(alone.results(), SizeIs(2)) << alone.detail();
  }
  AgentUnderTest agent(InOneProcess(3));
  TrainSevenAndEight();

  const v1::AttemptReport report = ReportOf(LeaseOf(9, /*steps=*/300, /*jobs=*/2));

  ASSERT_THAT(report.results(), SizeIs(2)) << report.detail();
  for (int member = 0; member < 2; ++member) EXPECT_EQ(report.results(member).SerializeAsString(), alone.results(member).SerializeAsString());
  EXPECT_NE(agent.TrainerPid(0), 0);
  EXPECT_EQ(agent.TrainerPid(0), agent.TrainerPid(1));
  EXPECT_EQ(agent.TrainerPid(0), agent.TrainerPid(2));
  ExpectItAdvances(7);
  ExpectItAdvances(8);
}

TEST_F(AgentOneProcessTest, EachAttemptHasALogOfItsOwn) {
  const AgentOptions options = InOneProcess(2);
  AgentUnderTest agent(options);
  TrainSevenAndEight();

  EXPECT_THAT(Text(options.state / "attempts" / "7" / "log"), AllOf(HasSubstr("attempt 7: 1 job(s)"), Not(HasSubstr("attempt 8"))));
  EXPECT_THAT(Text(options.state / "attempts" / "8" / "log"), AllOf(HasSubstr("attempt 8: 1 job(s)"), Not(HasSubstr("attempt 7"))));
}

TEST_F(AgentOneProcessTest, BlamesTheTrainerThatCrashedAndGivesTheOthersBackWithTheirCheckpoints) {
  AgentOptions options = InOneProcess(2);
  options.checkpoint_every_s = 0.05;
  AgentUnderTest agent(options);
  TrainSevenAndEight();
  scheduler_.WaitFor("a checkpoint of attempt 7", [](const Seen& seen) { return HasCheckpointOf(seen, 7); });
  const int process = agent.TrainerPid(0);
  const pid_t crashes = ThreadOf(process, 1);
  ASSERT_NE(crashes, 0);

  syscall(SYS_tgkill, process, crashes, SIGSEGV);

  const v1::AttemptReport crashed = scheduler_.WaitForReport(8), other = scheduler_.WaitForReport(7);
  EXPECT_EQ(crashed.outcome(), v1::AttemptReport::OUTCOME_FAILED);
  EXPECT_THAT(crashed.detail(), AllOf(HasSubstr("crashed: trainer killed by SIGSEGV"), HasSubstr("the log ends with")));
  EXPECT_EQ(other.outcome(), v1::AttemptReport::OUTCOME_GIVEN_BACK);
  EXPECT_THAT(other.detail(), HasSubstr("interrupted with the other packs of its process: killed by SIGSEGV"));
  ExpectBothSlotsWork();
}

TEST_F(AgentOneProcessTest, TheOneThatWasAloneInItHasFailed) {
  AgentUnderTest agent(InOneProcess(2));
  scheduler_.Offer(LeaseOf(7, kEndless));
  scheduler_.WaitForStep(7, 1);

  kill(agent.TrainerPid(0), SIGKILL);

  const v1::AttemptReport report = scheduler_.WaitForReport(7);
  EXPECT_EQ(report.outcome(), v1::AttemptReport::OUTCOME_FAILED);
  EXPECT_THAT(report.detail(), HasSubstr("out of memory"));
  ExpectBothSlotsWork();
}

TEST_F(AgentOneProcessTest, WhereNobodyKnowsWhoseFaultTheEndWasEachGoesOnByItselfAndNobodyHasFailed) {
  AgentOptions options = InOneProcess(2);
  options.checkpoint_every_s = 0.05;
  AgentUnderTest agent(options);
  TrainSevenAndEight();

  kill(agent.TrainerPid(0), SIGKILL);

  // The first makes room once it has come further than it was, and the second stays, as nobody waits for it.
  ExpectThatSevenGivesWayToEight();
  EXPECT_THAT(Text(options.state / "attempts" / "8" / "log"), HasSubstr("nobody knows whose fault that was: crashed: trainer killed by SIGKILL"));
  scheduler_.Offer(LeaseOf(9, kEndless, 1, 3));
  scheduler_.WaitForStep(9, 1);
  ExpectItAdvances(8);
}

TEST_F(AgentOneProcessTest, FindsTheOneThatEndsTheProcessByTrainingEverFewerAtATime) {
  const AgentOptions options = InOneProcess(4);
  AgentUnderTest agent(options);
  TrainSevenAndEight();
  for (const uint64_t attempt : {9, 10}) {
    scheduler_.Offer(LeaseOf(attempt, kEndless, 1, static_cast<int>(attempt)));
    scheduler_.WaitForStep(attempt, 1);
  }
  const auto end_process = [&] { kill(agent.TrainerPid(0), SIGKILL); };

  end_process();
  WaitForBegins(options, {2, 2, 1, 1});
  end_process();
  WaitForBegins(options, {3, 2, 1, 1});
  EXPECT_EQ(WaitForAnotherCall().last.free_slots(), 0);
  EXPECT_THAT(SeenNow().reports, IsEmpty());
  end_process();

  const v1::AttemptReport culprit = scheduler_.WaitForReport(7);
  EXPECT_EQ(culprit.outcome(), v1::AttemptReport::OUTCOME_FAILED);
  EXPECT_THAT(culprit.detail(), HasSubstr("crashed: trainer killed by SIGKILL"));
  WaitForBegins(options, {-1, 3, 1, 1});
  const Seen seen = WaitForAnotherCall();
  EXPECT_THAT(seen.reports, SizeIs(1));
  EXPECT_THAT(seen.last.held(), SizeIs(3));
}

TEST_F(AgentOneProcessTest, GivesBackTheSuspectsThatWaitWhenTheyAreToStop) {
  const AgentOptions options = InOneProcess(2);
  AgentUnderTest agent(options);
  TrainSevenAndEight();
  kill(agent.TrainerPid(0), SIGKILL);
  WaitForBegins(options, {2, 1});

  scheduler_.Direct(8, v1::Directive::ACTION_STOP);

  EXPECT_EQ(scheduler_.WaitForReport(8).outcome(), v1::AttemptReport::OUTCOME_GIVEN_BACK);
  ExpectItAdvances(7);
}

TEST_F(AgentOneProcessTest, GivesSuspectsBackWithTheirCheckpointsWhenItLeaves) {
  AgentOptions options = InOneProcess(2);
  options.checkpoint_every_s = 0.05;
  AgentUnderTest agent(options);
  TrainSevenAndEight();
  kill(agent.TrainerPid(0), SIGKILL);

  agent.Leave();

  EXPECT_TRUE(agent.Join().ok());
  for (const uint64_t attempt : {7, 8}) {
    EXPECT_EQ(scheduler_.WaitForReport(attempt).outcome(), v1::AttemptReport::OUTCOME_GIVEN_BACK);
  }
}

TEST_F(AgentOneProcessTest, ThatWhichJobsHaveLeftIsGivenBackWithItsCheckpoint) {
  AgentOptions options = InOneProcess(2);
  options.checkpoint_every_s = 0.05;
  AgentUnderTest agent(options);
  scheduler_.Offer(LeaseOf(7, kEndless));
  scheduler_.WaitForStep(7, 1);
  scheduler_.Offer(LeaseOf(8, kEndless, /*jobs=*/3, 2));
  scheduler_.WaitFor("a checkpoint of attempt 8", [](const Seen& seen) { return HasCheckpointOf(seen, 8); });
  scheduler_.Direct(8, v1::Directive::ACTION_CONTINUE, {JobId(3)});
  WaitForAnotherCall();
  WaitForAnotherCall();  // By now it has that answer.

  kill(agent.TrainerPid(0), SIGKILL);

  const v1::AttemptReport report = scheduler_.WaitForReport(8);
  EXPECT_EQ(report.outcome(), v1::AttemptReport::OUTCOME_GIVEN_BACK);
  EXPECT_THAT(report.detail(), HasSubstr("nobody knows whose fault that was"));
  WaitForFreeSlots(1);
  ExpectItAdvances(7);
}

TEST_F(AgentOneProcessTest, JobsThatLeaveASuspectWhileItWaitsAreInItsFilesStill) {
  const AgentOptions options = InOneProcess(2);
  AgentUnderTest agent(options);
  scheduler_.Offer(LeaseOf(7, kEndless));
  scheduler_.WaitForStep(7, 1);
  scheduler_.Offer(LeaseOf(8, kEndless, /*jobs=*/3, 2));
  scheduler_.WaitForStep(8, 1);
  kill(agent.TrainerPid(0), SIGKILL);
  WaitForBegins(options, {2, -1});
  scheduler_.Direct(8, v1::Directive::ACTION_CONTINUE, {JobId(3)});
  WaitForAnotherCall();
  WaitForAnotherCall();  // By now it has that answer.

  scheduler_.Direct(7, v1::Directive::ACTION_STOP);
  scheduler_.WaitForReport(7);
  ExpectItAdvances(8);
  scheduler_.Direct(8, v1::Directive::ACTION_STOP);

  EXPECT_EQ(scheduler_.WaitForReport(8).outcome(), v1::AttemptReport::OUTCOME_GIVEN_BACK);
  const std::vector<v1::UploadHeader> uploads = SeenNow().UploadsOf("checkpoint");
  EXPECT_EQ(uploads.back().attempt(), 8u);
  EXPECT_THAT(uploads.back().jobs(), SizeIs(3));
}

// A thread that does nothing any more, while the others of its process go on.
class Held : public Tracer {
 public:
  explicit Held(pid_t thread)
      : Tracer(
            [=] {
              return ptrace(PTRACE_SEIZE, thread, nullptr, nullptr) == 0 && ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr) == 0 &&
                     waitpid(thread, nullptr, __WALL) == thread;
            },
            [=] {
              while (waitpid(thread, nullptr, __WALL) == thread) continue;  // What has died is held until its tracer knows.
            }) {}
};

TEST_F(AgentOneProcessTest, OneThatHangsHasFailedAndTheOtherIsGivenBack) {
  AgentOptions options = InOneProcess(2);
  options.hang_floor_s = 3;
  AgentUnderTest agent(options);
  TrainSevenAndEight();
  for (const uint64_t attempt : {7, 8}) scheduler_.WaitForStep(attempt, 50);  // By then it is known how long a step takes.
  const pid_t thread = ThreadOf(agent.TrainerPid(0), 1);
  ASSERT_NE(thread, 0);
  const Held hangs(thread);
  if (!hangs.holds()) GTEST_SKIP() << "no process may trace another here";

  const v1::AttemptReport hung = scheduler_.WaitForReport(8), other = scheduler_.WaitForReport(7);

  EXPECT_EQ(hung.outcome(), v1::AttemptReport::OUTCOME_FAILED);
  EXPECT_THAT(hung.detail(), HasSubstr("hung: no sign of life"));
  EXPECT_EQ(other.outcome(), v1::AttemptReport::OUTCOME_GIVEN_BACK);
  EXPECT_THAT(other.detail(), HasSubstr("interrupted with the other packs of its process: was ended, as attempt 8 gave no sign of life"));
  ExpectBothSlotsWork();
}

TEST_F(AgentOneProcessTest, WhereAllHangNobodyIsTakenForTheCause) {
  AgentOptions options = InOneProcess(2);
  options.hang_floor_s = 3;
  options.checkpoint_every_s = 0.05;
  AgentUnderTest agent(options);
  TrainSevenAndEight();
  for (const uint64_t attempt : {7, 8}) scheduler_.WaitForStep(attempt, 50);

  kill(agent.TrainerPid(0), SIGSTOP);

  ExpectThatSevenGivesWayToEight();
}

TEST_F(AgentOneProcessTest, AnAttemptThatNobodyWantsLeavesTheOthersAlone) {
  AgentUnderTest agent(InOneProcess(2));
  TrainSevenAndEight();
  const int process = agent.TrainerPid(0);

  scheduler_.Direct(7, v1::Directive::ACTION_DROP);

  const Seen seen = WaitForFreeSlots(1);
  EXPECT_EQ(seen.Held(7), nullptr);
  EXPECT_THAT(seen.reports, IsEmpty());
  EXPECT_THAT(seen.UploadsOf("checkpoint"), IsEmpty());
  ExpectItAdvances(8);
  EXPECT_EQ(ReportOf(LeaseOf(9, 3, 1, 50)).outcome(), v1::AttemptReport::OUTCOME_SUCCEEDED);
  EXPECT_EQ(agent.TrainerPid(0), process);
}

TEST_F(AgentOneProcessTest, AttemptsThatNobodyWantsLeaveTheOthersAloneWhereverTheyAre) {
  AgentUnderTest agent(InOneProcess(3));
  scheduler_.Offer(LeaseOf(7, kEndless));
  scheduler_.WaitForStep(7, 1);
  const int process = agent.TrainerPid(0);

  // Starting, training, testing or writing: they are dropped as soon as they are seen.
  for (uint64_t attempt = 10; attempt < 40; ++attempt) {
    scheduler_.Offer(LeaseOf(attempt, 1 + static_cast<int>(attempt) % 5, 1, static_cast<int>(attempt)));
    scheduler_.WaitFor("it held, or done", [&](const Seen& seen) { return seen.Held(attempt) != nullptr || seen.reports.contains(attempt); });
    scheduler_.Direct(attempt, v1::Directive::ACTION_DROP);
  }

  WaitForFreeSlots(2);
  ExpectItAdvances(7);
  EXPECT_EQ(agent.TrainerPid(0), process);
  for (const auto& [attempt, report] : SeenNow().reports) EXPECT_EQ(report.outcome(), v1::AttemptReport::OUTCOME_SUCCEEDED) << attempt << ": " << report.detail();
}

TEST_F(AgentOneProcessTest, APackThatFailsLeavesTheOthersAlone) {
  v1::Lease lease = LeaseOf(8, 3, 1, 2);
  MakeLlama(lease, "nowhere");

  ExpectThatItFailsAlone(lease, AllOf(HasSubstr("nowhere"), Not(HasSubstr("refused"))));
}

TEST_F(AgentOneProcessTest, APackThatMemoryDoesNotSufficeForLeavesTheOthersAlone) {
  v1::Lease lease = LeaseOf(8, 3, 1, 2);
  v1::Model& model = *lease.mutable_jobs(0)->mutable_spec()->mutable_model();
  model.set_embedding_dim(1 << 16);
  model.set_mlp_dim(1 << 16);
  model.set_layers(1000);

  ExpectThatItFailsAlone(lease, HasSubstr("out of memory"));
}

TEST_F(AgentOneProcessTest, GivesAllBackWithTheirCheckpointsWhenItLeaves) {
  ExpectToGiveAllBackWhenItLeaves(InOneProcess(2));
  EXPECT_THAT(SeenNow().UploadsOf("checkpoint"), SizeIs(2));
}

TEST_F(AgentOneProcessTest, EndsWithTheReasonWhenNoGpuAnswers) {
  AgentOptions options = InOneProcess(4);
  options.cuda = true;
  options.cuda_plugin = "/nowhere/plugin.so";

  EXPECT_THAT(std::string(AgentUnderTest(options).Join().message()), HasSubstr("no CUDA plugin at /nowhere/plugin.so"));
}

TEST_F(AgentOneProcessTest, EndsWithTheReasonWhenTheProcessDoesNotStart) {
  AgentOptions options = InOneProcess(2);
  options.binary = "/bin/false";

  EXPECT_THAT(std::string(AgentUnderTest(options).Join().message()), HasSubstr("ended with exit code 1"));
}

}  // namespace
}  // namespace longreach::agent
