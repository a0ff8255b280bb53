#include "client/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "client/errors.h"
#include "client/output/text.h"
#include "client/private_folder.h"
#include "proto/base/text.h"

extern char** environ;

namespace longreach::client {
namespace {

constexpr size_t kMaxLogBytes = 64 << 10;

// A file without a name: what the child wrote is still there when it has ended, and nothing is left behind.
int OpenUnnamedFile() {
  const std::filesystem::path folder = FolderOfTemporaryFiles();
  const int fd = open(folder.c_str(), O_TMPFILE | O_RDWR | O_APPEND | O_CLOEXEC, 0600);
  if (fd >= 0) return fd;
  return memfd_create("log", MFD_CLOEXEC);
}

void CloseAndForget(int& fd) {
  if (fd >= 0) close(fd);
  fd = -1;
}

using Clock = std::chrono::steady_clock;

int MillisecondsUntil(Clock::time_point end) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
  return static_cast<int>(std::max<int64_t>(0, std::min<int64_t>(left, 1 << 30)));
}

absl::Status CheckProgram(const std::filesystem::path& program) {
  if (::access(program.c_str(), X_OK) == 0) return absl::OkStatus();
  return Error(absl::StatusCode::kNotFound,
               fmt::format("there is no program '{}'", Printable(program.string())));
}

// posix_spawn with the words of a command line. Returns 0, or an errno.
int Spawn(const std::filesystem::path& program, const std::vector<std::string>& arguments,
          const posix_spawn_file_actions_t* actions, const posix_spawnattr_t* attributes, pid_t& pid) {
  std::string name = program.string();
  std::vector<std::string> words = arguments;
  std::vector<char*> argv = {name.data()};
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  return posix_spawn(&pid, name.c_str(), actions, attributes, argv.data(), environ);
}

int ExitCodeOfWait(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

}  // namespace

absl::StatusOr<Process> Process::Start(const std::filesystem::path& program,
                                       const std::vector<std::string>& arguments) {
  RETURN_IF_ERROR(CheckProgram(program));
  Process process;
  int in[2];
  int out[2];
  if (pipe2(in, O_CLOEXEC) != 0) return absl::InternalError(fmt::format("no pipe: {}", std::strerror(errno)));
  if (pipe2(out, O_CLOEXEC) != 0) {
    close(in[0]);
    close(in[1]);
    return absl::InternalError(fmt::format("no pipe: {}", std::strerror(errno)));
  }
  process.stdin_ = in[1];
  process.stdout_ = out[0];
  process.log_ = OpenUnnamedFile();

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  if (process.log_ >= 0) posix_spawn_file_actions_adddup2(&actions, process.log_, STDERR_FILENO);

  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t defaults;
  sigemptyset(&defaults);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) sigaddset(&defaults, signal);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);

  const int failed = Spawn(program, arguments, &actions, &attributes, process.pid_);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  close(in[0]);
  close(out[1]);
  if (failed != 0) {
    process.pid_ = -1;
    return absl::InternalError(
        fmt::format("cannot start '{}': {}", Printable(program.string()), std::strerror(failed)));
  }
  return process;
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      stdin_(std::exchange(other.stdin_, -1)),
      stdout_(std::exchange(other.stdout_, -1)),
      log_(std::exchange(other.log_, -1)),
      ended_(other.ended_),
      exit_code_(other.exit_code_),
      unread_(std::move(other.unread_)) {}

Process::~Process() {
  CloseInput();
  if (pid_ > 0 && !WaitFor(std::chrono::seconds(10))) {
    Kill();
    WaitFor(std::chrono::seconds(5));
  }
  CloseAndForget(stdout_);
  CloseAndForget(log_);
}

std::optional<std::string> Process::ReadLine(std::chrono::milliseconds timeout) {
  const Clock::time_point end = Clock::now() + timeout;
  while (true) {
    if (const size_t at = unread_.find('\n'); at != std::string::npos) {
      std::string line = unread_.substr(0, at);
      unread_.erase(0, at + 1);
      return line;
    }
    pollfd waiting{.fd = stdout_, .events = POLLIN, .revents = 0};
    const int ready = poll(&waiting, 1, MillisecondsUntil(end));
    if (ready == 0) return std::nullopt;
    if (ready < 0) {
      if (errno == EINTR) continue;
      return std::nullopt;
    }
    char buffer[4096];
    const ssize_t got = read(stdout_, buffer, sizeof buffer);
    if (got <= 0 || unread_.size() > kMaxLogBytes) return std::nullopt;
    unread_.append(buffer, static_cast<size_t>(got));
  }
}

void Process::CloseInput() { CloseAndForget(stdin_); }

bool Process::WaitFor(std::chrono::milliseconds timeout) {
  if (pid_ <= 0 || ended_) return true;
  const Clock::time_point end = Clock::now() + timeout;
  const int watched = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
  while (true) {
    int status = 0;
    const pid_t got = waitpid(pid_, &status, WNOHANG);
    if (got == pid_ || (got < 0 && errno != EINTR)) {
      ended_ = true;
      exit_code_ = got < 0 ? -1 : ExitCodeOfWait(status);
      break;
    }
    const int left = MillisecondsUntil(end);
    if (left == 0) break;
    if (watched >= 0) {
      pollfd waiting{.fd = watched, .events = POLLIN, .revents = 0};
      poll(&waiting, 1, left);
    } else {
      usleep(static_cast<useconds_t>(std::min(left, 50)) * 1000);  // A kernel without pidfd.
    }
  }
  if (watched >= 0) close(watched);
  return ended_;
}

void Process::Terminate() {
  if (pid_ > 0 && !ended_) kill(pid_, SIGTERM);
}

void Process::Kill() {
  if (pid_ > 0 && !ended_) kill(pid_, SIGKILL);
}

std::vector<std::string> Process::LogTail(size_t lines) const {
  if (log_ < 0) return {};
  const off_t size = lseek(log_, 0, SEEK_END);
  const off_t start = size > static_cast<off_t>(kMaxLogBytes) ? size - static_cast<off_t>(kMaxLogBytes) : 0;
  std::string text(static_cast<size_t>(size - start), '\0');
  const ssize_t got = pread(log_, text.data(), text.size(), start);
  text.resize(got > 0 ? static_cast<size_t>(got) : 0);
  std::vector<std::string> tail;
  for (const std::string& line : Split(text, '\n')) {
    if (!Trim(line).empty()) tail.push_back(line);
  }
  if (tail.size() > lines) tail.erase(tail.begin(), tail.end() - static_cast<int64_t>(lines));
  return tail;
}

namespace {

// Signals that somebody sent to this process alone go on to the program that runs in its place; a terminal's reach both by themselves.
class PassedOnSignals {
 public:
  PassedOnSignals() {
    child_ = -1;
    pending_ = 0;
    struct sigaction pass {};
    pass.sa_sigaction = PassOn;
    pass.sa_flags = SA_SIGINFO;
    for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &pass, &before_[i]);
  }
  ~PassedOnSignals() {
    for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before_[i], nullptr);
  }
  PassedOnSignals(const PassedOnSignals&) = delete;

  void To(pid_t child) {
    child_ = child;
    Send();
  }

 private:
  static constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP};

  static void PassOn(int signal, siginfo_t* info, void* context) {
    if (info->si_code <= 0) {
      pending_ = signal;
      Send();
    }
    for (size_t i = 0; i < kSignals.size(); ++i) {  // Who counts them goes on to.
      if (kSignals[i] != signal) continue;
      if ((before_[i].sa_flags & SA_SIGINFO) != 0) before_[i].sa_sigaction(signal, info, context);
      else if (before_[i].sa_handler != SIG_DFL && before_[i].sa_handler != SIG_IGN) before_[i].sa_handler(signal);
    }
  }

  // Once both are there, by whoever comes last: while a program is started its thread takes no signals, and another one does.
  static void Send() {
    const pid_t child = child_;
    if (child <= 0) return;
    if (const int signal = pending_.exchange(0); signal != 0) kill(child, signal);
  }

  // Of the one program that runs so.
  static inline std::atomic<pid_t> child_ = -1;
  static inline std::atomic<int> pending_ = 0;
  static_assert(std::atomic<pid_t>::is_always_lock_free && std::atomic<int>::is_always_lock_free, "a handler may not wait for a lock");
  static inline std::array<struct sigaction, 3> before_{};
};

}  // namespace

absl::StatusOr<int> RunAttached(const std::filesystem::path& program,
                                const std::vector<std::string>& arguments, AttachedOutput output) {
  RETURN_IF_ERROR(CheckProgram(program));
  pid_t pid = -1;
  PassedOnSignals signals;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (output == AttachedOutput::kNobody) posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  const int failed = Spawn(program, arguments, &actions, nullptr, pid);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) {
    return absl::InternalError(
        fmt::format("cannot start '{}': {}", Printable(program.string()), std::strerror(failed)));
  }
  signals.To(pid);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) return absl::InternalError(fmt::format("waitpid: {}", std::strerror(errno)));
  }
  return ExitCodeOfWait(status);
}

}  // namespace longreach::client
