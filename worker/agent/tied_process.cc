#include "worker/agent/tied_process.h"

#include <fmt/format.h>
#include <linux/close_range.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <thread>

#include "worker/agent/spawning.h"

namespace longreach::agent {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kNotStarted = 127;
// Between two looks whether it has ended.
constexpr std::chrono::milliseconds kLook{5};
constexpr std::chrono::milliseconds kPatience{5000};

struct Call {
  const char* program;
  char* const* arguments;
  char* const* environment;
  int in, out;
  pid_t parent;
};

// In the child of vfork(), which uses this process's memory until it is another program: nothing but system calls.
[[noreturn]] void Become(const Call& call) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != call.parent) _exit(kNotStarted);  // It died before that.
  setpgid(0, 0);
  struct sigaction usual = {};
  usual.sa_handler = SIG_DFL;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) sigaction(signal, &usual, nullptr);
  if (dup2(call.in, STDIN_FILENO) < 0 || dup2(call.out, STDOUT_FILENO) < 0 || dup2(call.out, STDERR_FILENO) < 0) _exit(kNotStarted);
  close_range(STDERR_FILENO + 1, UINT_MAX, 0);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execve(call.program, call.arguments, call.environment);
  _exit(kNotStarted);
}

}  // namespace

absl::StatusOr<TiedProcess> TiedProcess::Start(const std::filesystem::path& program, std::vector<std::string> arguments,
                                               const std::vector<std::string>& more, int in, int out) {
  arguments.insert(arguments.begin(), program.filename().string());
  std::vector<std::string> environment = EnvironmentWith(more);
  const std::vector<char*> argv = Pointers(arguments), envp = Pointers(environment);
  const Call call = {.program = program.c_str(), .arguments = argv.data(), .environment = envp.data(), .in = in, .out = out, .parent = getpid()};
  // posix_spawn() cannot tie, and a fork() of a process with gRPC's threads may hang in what these have run at one. A handler of ours must
  // not run in the child, where it would act for both.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t pid = vfork();
  if (pid == 0) Become(call);
  const int error = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0) return absl::UnavailableError(fmt::format("cannot start {}: {}", program.string(), std::strerror(error)));
  return TiedProcess(pid);
}

TiedProcess::~TiedProcess() {
  Signal(SIGKILL);
  EndsWithin(kPatience);
}

bool TiedProcess::EndsWithin(std::chrono::milliseconds patience) {
  const Clock::time_point until = Clock::now() + patience;
  while (pid_ > 0) {
    int status = 0;
    const pid_t ended = waitpid(pid_, &status, WNOHANG);
    if (ended == pid_) {
      how_ = HowItEnded(status);
      pid_ = -1;
    } else if (Clock::now() >= until) {
      return false;
    } else {
      std::this_thread::sleep_for(std::min(kLook, patience));
    }
  }
  return true;
}

void TiedProcess::Signal(int signal) const {
  if (pid_ > 0) kill(pid_, signal);
}

}  // namespace longreach::agent
