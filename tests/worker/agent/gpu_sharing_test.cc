#include "worker/agent/gpu_sharing.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "tests/support/status.h"
#include "tests/support/temporary_folder.h"
#include "tests/worker/agent/fake_mps.h"

namespace longreach::agent {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class GpuSharingTest : public ::testing::Test {
 protected:
  GpuSharing::Options Options() const { return mps_.Options(); }

  static std::filesystem::path PipesOf(const GpuSharing& sharing) {
    const std::string& first = sharing.environment().front();
    return first.substr(first.find('=') + 1);
  }

  testing::TemporaryFolder folder_;
  FakeMps mps_{folder_.path()};
};

TEST_F(GpuSharingTest, StartsADaemonThatOnlyItsOwnProgramsFind) {
  ASSERT_OK_AND_ASSIGN(const auto sharing, GpuSharing::Start(Options()));

  const std::filesystem::path pipes = PipesOf(*sharing);
  EXPECT_THAT(sharing->environment(), ElementsAre("CUDA_MPS_PIPE_DIRECTORY=" + pipes.string()));
  EXPECT_EQ(mps_.Calls(), fmt::format("-f {} {} all\n", pipes.string(), (pipes.parent_path() / "log").string()));
  struct stat facts = {};
  ASSERT_EQ(stat(pipes.parent_path().c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0700u);
  EXPECT_LT((pipes / std::string(40, 'x')).string().size(), 108u) << "as the name of a socket";
  EXPECT_EQ(GpuSharing::AlreadyIn(Options()), "");
}

TEST_F(GpuSharingTest, MakesAShortPathWhereTheFolderOfTemporaryFilesHasALongOne) {
  const std::filesystem::path deep = folder_.path() / std::string(80, 'd');
  std::filesystem::create_directory(deep);
  mps_.environment().Set("TMPDIR", deep.string());

  ASSERT_OK_AND_ASSIGN(const auto sharing, GpuSharing::Start(Options()));

  EXPECT_THAT(PipesOf(*sharing).string(), StartsWith("/tmp/longreach-mps-"));
}

TEST_F(GpuSharingTest, LeavesTheDaemonItsGpusAndCallsTheFirstOfThemZero) {
  mps_.environment().Set("CUDA_VISIBLE_DEVICES", "3,5");

  ASSERT_OK_AND_ASSIGN(const auto sharing, GpuSharing::Start(Options()));

  EXPECT_THAT(sharing->environment(), ElementsAre(StartsWith("CUDA_MPS_PIPE_DIRECTORY="), "CUDA_VISIBLE_DEVICES=0"));
  EXPECT_THAT(mps_.Calls(), EndsWith(" 3,5\n"));
}

TEST_F(GpuSharingTest, LeavesAGpuTheNameThatItGoesBy) {
  mps_.environment().Set("CUDA_VISIBLE_DEVICES", "GPU-5a1c");

  ASSERT_OK_AND_ASSIGN(const auto sharing, GpuSharing::Start(Options()));

  EXPECT_THAT(sharing->environment(), ElementsAre(StartsWith("CUDA_MPS_PIPE_DIRECTORY=")));
  EXPECT_THAT(mps_.Calls(), EndsWith(" GPU-5a1c\n"));
}

TEST_F(GpuSharingTest, HasItsDaemonQuitAndLeavesNothingBehind) {
  { ASSERT_OK_AND_ASSIGN(const auto sharing, GpuSharing::Start(Options())); }

  EXPECT_THAT(mps_.Calls(), EndsWith("\nquit\nended by quit\n"));
  EXPECT_TRUE(mps_.LeftNothingBehind());
}

TEST_F(GpuSharingTest, EndsADaemonThatDoesNotQuit) {
  for (const char* takes : {"", "trap '' TERM;"}) {
    mps_.Does(fmt::format("{} : >\"$CUDA_MPS_PIPE_DIRECTORY/control\"; exec sleep 3600", takes));
    GpuSharing::Options options = Options();
    options.patience_with_end = std::chrono::milliseconds(50);
    ASSERT_OK_AND_ASSIGN(auto sharing, GpuSharing::Start(options));
    const pid_t daemon = sharing->daemon();

    sharing.reset();

    EXPECT_EQ(kill(daemon, 0), -1) << takes;
    EXPECT_TRUE(mps_.LeftNothingBehind()) << takes;
  }
}

TEST_F(GpuSharingTest, EndsWithTheThreadThatStartedIt) {
  std::unique_ptr<GpuSharing> sharing;
  std::thread([&] {
    ASSERT_OK_AND_ASSIGN(sharing, GpuSharing::Start(Options()));
  }).join();
  ASSERT_NE(sharing, nullptr);

  siginfo_t end = {};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(sharing->daemon()), &end, WEXITED | WNOWAIT), 0);

  EXPECT_EQ(end.si_code, CLD_KILLED);
  EXPECT_EQ(end.si_status, SIGTERM);
  sharing.reset();
  EXPECT_TRUE(mps_.LeftNothingBehind());
}

TEST_F(GpuSharingTest, ItsDaemonIsNotInTheProcessGroupThatACtrlCGoesTo) {
  ASSERT_OK_AND_ASSIGN(const auto sharing, GpuSharing::Start(Options()));

  EXPECT_EQ(getpgid(sharing->daemon()), sharing->daemon());
}

TEST_F(GpuSharingTest, SaysWhyADaemonDoesNotStart) {
  mps_.Does("echo starting; echo 'no GPU is there' >&2; exit 3");

  const auto sharing = GpuSharing::Start(Options());

  EXPECT_EQ(sharing.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(std::string(sharing.status().message()), "nvidia-cuda-mps-control -f ended with exit code 3: no GPU is there");
  EXPECT_TRUE(mps_.LeftNothingBehind());
}

TEST_F(GpuSharingTest, SaysThatADaemonDoesNotAnswer) {
  mps_.Does("exec sleep 3600");
  GpuSharing::Options options = Options();
  options.patience_with_start = std::chrono::milliseconds(50);

  const auto sharing = GpuSharing::Start(options);

  EXPECT_EQ(sharing.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(sharing.status().message()), HasSubstr("does not answer"));
  EXPECT_TRUE(mps_.LeftNothingBehind());
}

TEST_F(GpuSharingTest, IsNotThereWithoutItsProgram) {
  mps_.IsNotInstalled();
  mps_.environment().Set("PATH", (folder_.path() / "bin").string());

  const auto sharing = GpuSharing::Start(Options());

  EXPECT_EQ(sharing.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(sharing.status().message()), AllOf(HasSubstr("nvidia-cuda-mps-control"), HasSubstr("PATH")));
}

TEST_F(GpuSharingTest, FindsADaemonWhereTheEnvironmentNamesOneOrTheUsualOneLives) {
  EXPECT_EQ(GpuSharing::AlreadyIn(Options()), "");

  mps_.environment().Set("CUDA_MPS_PIPE_DIRECTORY", "/run/theirs");
  EXPECT_EQ(GpuSharing::AlreadyIn(Options()), "/run/theirs");
  mps_.environment().Set("CUDA_MPS_PIPE_DIRECTORY", "");
  EXPECT_EQ(GpuSharing::AlreadyIn(Options()), "");

  std::ofstream(mps_.usual_folder() / "control");
  EXPECT_EQ(GpuSharing::AlreadyIn(Options()), mps_.usual_folder().string());
  std::ofstream(mps_.usual_folder() / "nvidia-cuda-mps-control.pid") << getpid() << "\n";
  EXPECT_EQ(GpuSharing::AlreadyIn(Options()), mps_.usual_folder().string());

  // What a daemon that was killed leaves.
  pid_t ended = -1;
  char* arguments[] = {const_cast<char*>("true"), nullptr};
  ASSERT_EQ(posix_spawnp(&ended, "true", nullptr, nullptr, arguments, environ), 0);
  ASSERT_EQ(waitpid(ended, nullptr, 0), ended);
  std::ofstream(mps_.usual_folder() / "nvidia-cuda-mps-control.pid") << ended << "\n";
  EXPECT_EQ(GpuSharing::AlreadyIn(Options()), "");
}

}  // namespace
}  // namespace longreach::agent
