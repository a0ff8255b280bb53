// What the agent does so that its packs compute on a GPU at the same time. The trainers are on the CPU, whatever they are told.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/worker/agent/agent_packs_fixture.h"
#include "tests/worker/agent/fake_mps.h"

namespace longreach::agent {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::StartsWith;

class AgentGpuSharingTest : public AgentPacksTest {
 protected:
  AgentOptions OnGpu(int packs) {
    AgentOptions options = Options(packs);
    options.cuda = true;
    options.sharing = mps_.Options();
    options.binary = Program("");
    return options;
  }

  // A worker's program whose trainers write down what they find in their environment, before they do something else and start.
  std::filesystem::path Program(const std::string& before) const {
    const std::filesystem::path file = folder_.path() / "program";
    std::ofstream(file) << fmt::format("#!/bin/sh\necho \"${{CUDA_MPS_PIPE_DIRECTORY-none}} ${{CUDA_VISIBLE_DEVICES-all}}\" >>'{}'\n{}\nexec '{}' trainer-child\n",
                                       (folder_.path() / "trainers").string(), before, LONGREACH_WORKER);
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
    return file;
  }

  // A line for each trainer: the daemon's folder, and which GPUs it sees.
  std::string Trainers() const {
    std::ifstream in(folder_.path() / "trainers");
    return {std::istreambuf_iterator<char>(in), {}};
  }

  // What an agent with these options says until it has left. It is ready for `packs` leases in between.
  std::string LogOf(const AgentOptions& options) {
    ::testing::internal::CaptureStderr();
    {
      AgentUnderTest agent(options);
      WaitForFreeSlots(options.packs);
    }
    return ::testing::internal::GetCapturedStderr();
  }

  FakeMps mps_{folder_.path()};
};

TEST_F(AgentGpuSharingTest, HasItsTrainersFindADaemonThatEndsAfterThem) {
  const std::string log = LogOf(OnGpu(2));

  EXPECT_THAT(log, HasSubstr("packs share the GPU by an MPS daemon that was started for them"));
  EXPECT_THAT(Trainers(), MatchesRegex(".*/longreach-mps-[^/]*/pipe all\n"));
  const std::string pipes = Trainers().substr(0, Trainers().find(' '));
  EXPECT_THAT(mps_.Calls(), AllOf(StartsWith("-f " + pipes + " "), EndsWith(" all\nquit\nended by quit\n")));
  EXPECT_TRUE(mps_.LeftNothingBehind());
}

TEST_F(AgentGpuSharingTest, CallsTheOnlyGpuThatTheDaemonSeesZero) {
  mps_.environment().Set("CUDA_VISIBLE_DEVICES", "3");

  LogOf(OnGpu(2));

  EXPECT_THAT(mps_.Calls(), HasSubstr(" 3\n"));
  EXPECT_THAT(Trainers(), EndsWith("/pipe 0\n"));
}

TEST_F(AgentGpuSharingTest, StartsNoDaemonForOnePackOrOnACpu) {
  AgentOptions on_cpu = OnGpu(2);
  on_cpu.cuda = false;
  for (const AgentOptions& options : {OnGpu(1), on_cpu}) {
    EXPECT_THAT(LogOf(options), ::testing::Not(HasSubstr("MPS")));
  }

  EXPECT_EQ(mps_.Calls(), "");
  EXPECT_EQ(Trainers(), "none all\nnone all\n");
}

TEST_F(AgentGpuSharingTest, UsesTheDaemonThatIsThere) {
  const std::string theirs = mps_.usual_folder().string();
  std::ofstream(mps_.usual_folder() / "control");
  mps_.environment().Set("CUDA_MPS_PIPE_DIRECTORY", theirs);

  EXPECT_THAT(LogOf(OnGpu(2)), HasSubstr("by the MPS daemon of " + theirs + ", which is not this worker's"));

  EXPECT_EQ(mps_.Calls(), "");
  EXPECT_EQ(Trainers(), theirs + " all\n");
}

TEST_F(AgentGpuSharingTest, SaysWhatItMeansThatNoDaemonIsWhereTheEnvironmentHasOne) {
  mps_.environment().Set("CUDA_MPS_PIPE_DIRECTORY", "/run/theirs");

  EXPECT_THAT(LogOf(OnGpu(2)), HasSubstr("no MPS daemon is in /run/theirs, which CUDA_MPS_PIPE_DIRECTORY names, and none is started; packs take turns"));

  EXPECT_EQ(mps_.Calls(), "");
  EXPECT_EQ(Trainers(), "/run/theirs all\n");
}

TEST_F(AgentGpuSharingTest, GoesOnWithoutADaemonThatDoesNotStartAndSaysWhatThatMeans) {
  mps_.Does("echo 'no GPU is there' >&2; exit 3");

  EXPECT_THAT(LogOf(OnGpu(2)), AllOf(HasSubstr("MPS is not started: "), HasSubstr("no GPU is there"), HasSubstr("packs take turns on the GPU"), HasSubstr("docs/OPERATIONS.md")));

  EXPECT_EQ(Trainers(), "none all\n");
  EXPECT_TRUE(mps_.LeftNothingBehind());
}

TEST_F(AgentGpuSharingTest, GoesOnWithoutADaemonThatServesNoTrainer) {
  AgentOptions options = OnGpu(2);
  options.binary = Program("[ -z \"$CUDA_MPS_PIPE_DIRECTORY\" ] || { echo 'MPS client failed to connect'; exit 1; }");

  EXPECT_THAT(LogOf(options), AllOf(HasSubstr("MPS is left"), HasSubstr("packs take turns on the GPU"), HasSubstr("MPS client failed to connect")));

  EXPECT_THAT(Trainers(), EndsWith("/pipe all\nnone all\n"));
  EXPECT_THAT(mps_.Calls(), EndsWith("\nquit\nended by quit\n"));
  EXPECT_TRUE(mps_.LeftNothingBehind());
}

TEST_F(AgentGpuSharingTest, EndsWithTheReasonWhenItsTrainerStartsNeitherWithADaemonNorWithout) {
  AgentOptions options = OnGpu(2);
  options.binary = Program("echo 'no GPU is there'; exit 1");

  AgentUnderTest agent(options);

  const absl::Status status = agent.Join();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("no GPU is there"));
  EXPECT_TRUE(mps_.LeftNothingBehind());
}

}  // namespace
}  // namespace longreach::agent
