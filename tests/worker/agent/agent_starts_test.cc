// What the agent does when a trainer child does not start, or hangs meanwhile.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/worker/agent/agent_packs_fixture.h"

namespace longreach::agent {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Seen = FakeScheduler::Seen;
using AgentStartsTest = AgentPacksTest;

// A worker's program whose first trainer starts, and no further one before it is allowed to: as on a GPU without memory left.
class ReluctantProgram {
 public:
  explicit ReluctantProgram(const std::filesystem::path& folder, const std::string& instead = "echo 'no memory left'; exit 1")
      : file_(folder / "reluctant"), allowed_(folder / "allowed") {
    std::ofstream(file_) << fmt::format("#!/bin/sh\nmkdir '{}' 2>/dev/null || [ -e '{}' ] || {{ {}; }}\nexec '{}' \"$@\"\n",
                                        (folder / "first").string(), allowed_.string(), instead, LONGREACH_TRAINER_PROGRAM);
    std::filesystem::permissions(file_, std::filesystem::perms::owner_all);
  }
  const std::filesystem::path& file() const { return file_; }
  void Allow() { std::ofstream(allowed_) << "\n"; }

 private:
  std::filesystem::path file_;
  std::filesystem::path allowed_;
};

TEST_F(AgentStartsTest, WorksWithTheTrainersThatStartWhileAnotherDoesNot) {
  ReluctantProgram program(folder_.path());
  AgentOptions options = Options(3);
  options.binary = program.file();
  options.lease_patience_s = 600;
  AgentUnderTest agent(options);
  scheduler_.Offer(LeaseOf(7, kEndless));
  scheduler_.WaitForStep(7, 1);

  scheduler_.Offer(LeaseOf(8, kEndless, 1, 2));

  // It asks for no third lease, whose trainer would not start either.
  const Seen seen = scheduler_.WaitFor("attempt 8 held, and no room", [](const Seen& now) {
    return now.Held(8) != nullptr && now.last.free_slots() == 0;
  });
  EXPECT_EQ(seen.Held(8)->phase(), "starting");
  scheduler_.Direct(7, v1::Directive::ACTION_STOP);
  EXPECT_EQ(scheduler_.WaitForReport(7).outcome(), v1::AttemptReport::OUTCOME_GIVEN_BACK);
  scheduler_.WaitForStep(8, 1);  // In the first slot, which is free now.
  EXPECT_EQ(WaitForAnotherCall().last.free_slots(), 0);
  program.Allow();
  scheduler_.Offer(LeaseOf(9, 3, 1, 3));
  EXPECT_EQ(scheduler_.WaitForReport(9).outcome(), v1::AttemptReport::OUTCOME_SUCCEEDED);
}

TEST_F(AgentStartsTest, GivesBackWhatWaitsForATrainerThatDoesNotStartWhileAnotherTrains) {
  ReluctantProgram program(folder_.path());
  AgentOptions options = Options(2);
  options.binary = program.file();
  options.lease_patience_s = 0.1;
  AgentUnderTest agent(options);
  scheduler_.Offer(LeaseOf(7, kEndless));
  scheduler_.WaitForStep(7, 1);

  scheduler_.Offer(LeaseOf(8, 3, 1, 2));

  const v1::AttemptReport report = scheduler_.WaitForReport(8);
  EXPECT_EQ(report.outcome(), v1::AttemptReport::OUTCOME_GIVEN_BACK);
  EXPECT_THAT(report.detail(), HasSubstr("no trainer has started"));
  ExpectItAdvances(7);
  EXPECT_EQ(WaitForAnotherCall().last.free_slots(), 0);
  program.Allow();
  WaitForFreeSlots(1);
  scheduler_.Offer(LeaseOf(9, 3, 1, 3));
  EXPECT_EQ(scheduler_.WaitForReport(9).outcome(), v1::AttemptReport::OUTCOME_SUCCEEDED);
}

TEST_F(AgentStartsTest, GivesBackALeaseWhoseTrainerEndedAndDoesNotStartAgain) {
  ReluctantProgram program(folder_.path());
  AgentOptions options = Options(1);
  options.binary = program.file();
  options.lease_patience_s = 0.1;
  AgentUnderTest agent(options);
  HoldSevenWithoutItsFile();

  kill(agent.TrainerPid(), SIGKILL);

  EXPECT_EQ(scheduler_.WaitForReport(7).outcome(), v1::AttemptReport::OUTCOME_GIVEN_BACK);
  scheduler_.WaitFor("nothing held, and no room", [](const Seen& seen) {
    return seen.last.finished().empty() && seen.last.held().empty() && seen.last.free_slots() == 0;
  });
  program.Allow();
  WaitForFreeSlots(1);
  scheduler_.Offer(LeaseOf(8, 3, 1, 2));
  EXPECT_EQ(scheduler_.WaitForReport(8).outcome(), v1::AttemptReport::OUTCOME_SUCCEEDED);
}

TEST_F(AgentStartsTest, GivesBackALeaseWhoseTrainerHangsWhileItStarts) {
  ReluctantProgram program(folder_.path(), "exec sleep 3600");
  AgentOptions options = Options(1);
  options.binary = program.file();
  options.hang_floor_s = 2;  // Ten times that is what the first one has for its start.
  options.lease_patience_s = 0.1;
  AgentUnderTest agent(options);
  HoldSevenWithoutItsFile();

  kill(agent.TrainerPid(), SIGKILL);

  EXPECT_EQ(scheduler_.WaitForReport(7).outcome(), v1::AttemptReport::OUTCOME_GIVEN_BACK);
  program.Allow();
  WaitForFreeSlots(1);
}

TEST_F(AgentStartsTest, GivesTheTrainerThatRefusedAPackToTheAttemptThatWaits) {
  ReluctantProgram program(folder_.path());
  AgentOptions options = Options(2);
  options.binary = program.file();
  AgentUnderTest agent(options);
  WaitForFreeSlots(2);
  kill(agent.TrainerPid(), SIGSTOP);  // It refuses when both are there.
  v1::Lease refused = LeaseOf(7, 3);
  refused.mutable_jobs(0)->mutable_spec()->mutable_model()->set_heads(3);  // Does not divide the width.
  scheduler_.Offer(refused);
  scheduler_.WaitFor("attempt 7 held", [](const Seen& seen) { return seen.Held(7) != nullptr; });
  scheduler_.Offer(LeaseOf(8, 3, 1, 2));
  scheduler_.WaitFor("attempt 8 held", [](const Seen& seen) { return seen.Held(8) != nullptr; });

  kill(agent.TrainerPid(), SIGCONT);

  EXPECT_THAT(scheduler_.WaitForReport(7).detail(), HasSubstr("heads"));
  EXPECT_EQ(scheduler_.WaitForReport(8).outcome(), v1::AttemptReport::OUTCOME_SUCCEEDED);
}

TEST_F(AgentStartsTest, RefusesToStartWithoutAFirstTrainer) {
  ReluctantProgram program(folder_.path());
  std::filesystem::create_directory(folder_.path() / "first");
  AgentOptions options = Options(2);
  options.binary = program.file();

  AgentUnderTest agent(options);

  const absl::Status status = agent.Join();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr("exit code 1"), HasSubstr("no memory left")));
}

TEST_F(AgentStartsTest, RefusesToStartWithATrainerOfAnotherBuild) {
  AgentOptions options = Options(1);
  options.build = "0.0.9 (abc)";

  AgentUnderTest agent(options);

  EXPECT_THAT(std::string(agent.Join().message()), AllOf(HasSubstr("of another build"), HasSubstr("longreach-worker (0.0.9 (abc))"), HasSubstr("install all programs of one build")));
}

}  // namespace
}  // namespace longreach::agent
