// Real small programs, run as the scheduler runs one that is told of news.
#include "scheduler/service/run_program.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <iterator>
#include <sstream>

#include "tests/support/status.h"
#include "tests/support/temporary_folder.h"

namespace longreach::service {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::chrono::minutes kLong{10};

bool Never() { return false; }

class RunProgramTest : public ::testing::Test {
 protected:
  // A shell script, which finds the test's folder in $F.
  ProgramCall Script(const std::string& text, const std::string& input = "") {
    const std::filesystem::path file = folder_ / "script";
    std::ofstream(file) << "#!/bin/sh\n" << text << "\n";
    chmod(file.c_str(), 0700);
    return {.program = file, .environment = {"PATH=/usr/bin:/bin", "F=" + folder_.path().string(), "NEWS=a b"}, .input = input};
  }
  std::string Read(const std::string& name) {
    std::ifstream file(folder_ / name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  bool IsThere(const std::string& name) { return std::filesystem::exists(folder_ / name); }

  longreach::testing::TemporaryFolder folder_;
};

// Who has it open for writing lives. A program gets it by 'exec 3> $F/alive'.
class Alive {
 public:
  explicit Alive(const std::filesystem::path& file) {
    if (mkfifo(file.c_str(), 0600) != 0) ADD_FAILURE() << "no " << file;
    fd_ = open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  }
  ~Alive() { close(fd_); }
  // Waits for the end of all who had it.
  bool Ends() const {
    pollfd waiting{.fd = fd_, .events = POLLIN, .revents = 0};
    return poll(&waiting, 1, 600'000) == 1 && (waiting.revents & POLLHUP) != 0;
  }

 private:
  int fd_ = -1;
};

TEST_F(RunProgramTest, ItReadsWhatItIsToldAndHasItsEnvironmentAndNoArguments) {
  EXPECT_OK(RunProgram(Script("cat > $F/in; echo \"$# $NEWS\" > $F/out", "one line\n"), kLong, Never));
  EXPECT_EQ(Read("in"), "one line\n");
  EXPECT_EQ(Read("out"), "0 a b\n");
}

TEST_F(RunProgramTest, OneThatDoesNotReadKeepsNobodyWaiting) {
  EXPECT_OK(RunProgram(Script("exit 0", std::string(1 << 20, 'x')), kLong, Never));
}

TEST_F(RunProgramTest, OneThatFailsIsToldWithTheLastLineThatItWrote) {
  const absl::Status failed = RunProgram(Script("echo trying; echo 'no such host' >&2; echo; exit 6"), kLong, Never);
  EXPECT_EQ(failed.message(), "ended with exit code 6: 'no such host'");
  EXPECT_EQ(RunProgram(Script("exit 7"), kLong, Never).message(), "ended with exit code 7");
  EXPECT_EQ(RunProgram(Script("echo bye; kill -15 $$"), kLong, Never).message(), "ended by signal 15: 'bye'");
}

TEST_F(RunProgramTest, WhatItWritesEndsNoLineOfTheLogAndIsObeyedByNoTerminal) {
  const absl::Status failed = RunProgram(Script("printf '\\033[2Jx'; exit 1"), kLong, Never);
  EXPECT_EQ(failed.message(), "ended with exit code 1: '\\x1b[2Jx'");
}

TEST_F(RunProgramTest, HoweverMuchItWritesItComesToItsEnd) {
  const absl::Status failed = RunProgram(Script("yes | head -c 5000000; echo; echo last; exit 1"), kLong, Never);
  EXPECT_EQ(failed.message(), "ended with exit code 1: 'last'");
}

TEST_F(RunProgramTest, OneThatHangsIsKilledAfterItsLimit) {
  const absl::Status killed = RunProgram(Script("exec sleep 1000"), std::chrono::milliseconds(100), Never);
  EXPECT_EQ(killed.message(), "was killed after 0.1 s");
}

TEST_F(RunProgramTest, WithItIsKilledWhatItHasStarted) {
  const Alive alive(folder_ / "alive");
  const ProgramCall call = Script("exec 3> $F/alive; echo waiting; sleep 1000 & touch $F/begun; sleep 1000");

  const absl::Status killed = RunProgram(call, kLong, [this] { return IsThere("begun"); });

  EXPECT_EQ(killed.message(), "was killed, as the scheduler ends: 'waiting'");
  EXPECT_TRUE(alive.Ends());
}

TEST_F(RunProgramTest, WhatItLeavesInTheBackgroundEndsWithIt) {
  const Alive alive(folder_ / "alive");
  EXPECT_OK(RunProgram(Script("exec 3> $F/alive; sleep 1000 & exit 0"), kLong, Never));
  EXPECT_TRUE(alive.Ends());
}

TEST_F(RunProgramTest, ItHasNoneOfThisProcesssDescriptors) {
  const int open_here = open((folder_ / "of-the-scheduler").c_str(), O_RDWR | O_CREAT, 0600);
  ASSERT_GE(open_here, 0);
  EXPECT_OK(RunProgram(Script("ls -l /proc/$$/fd > $F/open"), kLong, Never));
  close(open_here);
  EXPECT_THAT(Read("open"), HasSubstr("longreach-news")) << "its standard input";
  EXPECT_THAT(Read("open"), Not(HasSubstr("of-the-scheduler")));
}

TEST_F(RunProgramTest, NoSignalIsIgnoredOrBlockedThere) {
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  sigset_t terminate, mask;
  sigemptyset(&terminate);
  sigaddset(&terminate, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &terminate, &mask);
  EXPECT_OK(RunProgram(Script("sed -n 's/^SigBlk:\t//p; s/^SigIgn:\t//p' /proc/self/status > $F/signals"), kLong, Never));
  pthread_sigmask(SIG_SETMASK, &mask, nullptr);
  std::signal(SIGPIPE, before);
  std::istringstream signals(Read("signals"));
  uint64_t blocked = 1, ignored = 1;
  ASSERT_TRUE(signals >> std::hex >> blocked >> ignored);
  EXPECT_EQ(blocked, 0u);
  EXPECT_EQ(ignored & 0x7fffffff, 0u) << "those beyond the 31st are the C library's own";
}

TEST_F(RunProgramTest, WhatCannotBeStartedSaysWhy) {
  ProgramCall call = Script("exit 0");
  std::ofstream(call.program) << "exit 0\n";
  EXPECT_EQ(RunProgram(call, kLong, Never).message(), "cannot be started: it is no program of this machine; a script begins with a line like '#!/bin/sh'");
  std::ofstream(call.program) << "#!/nowhere/sh\nexit 0\n";
  EXPECT_EQ(RunProgram(call, kLong, Never).message(), "cannot be started: it is not there, or the program is not that its first line names");
  std::filesystem::remove(call.program);
  EXPECT_EQ(RunProgram(call, kLong, Never).message(), "cannot be started: it is not there, or the program is not that its first line names");
}

TEST_F(RunProgramTest, WhatCannotBeExecutedIsRefusedBeforehand) {
  const ProgramCall call = Script("exit 0");
  EXPECT_OK(CheckCallable(call.program));
  chmod(call.program.c_str(), 0600);
  EXPECT_THAT(std::string(CheckCallable(call.program).message()), HasSubstr("chmod +x"));
  EXPECT_THAT(std::string(CheckCallable(folder_.path()).message()), HasSubstr("no file that could be executed"));
  EXPECT_THAT(std::string(CheckCallable(folder_ / "nowhere").message()), HasSubstr("nowhere': there is no such file"));
}

}  // namespace
}  // namespace longreach::service
