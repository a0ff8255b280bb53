#include "scheduler/service/run_program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "scheduler/service/access/refusals.h"

namespace longreach::service {
namespace {

using ProgramTime = std::chrono::steady_clock;

// How often it is asked whether to give up.
constexpr std::chrono::milliseconds kBetweenQuestions{20};
// One that does not even end by SIGKILL (it waits for a disk that does not answer) is left behind after this.
constexpr std::chrono::seconds kToDie{2};

class OwnDescriptor {
 public:
  explicit OwnDescriptor(int fd) : fd_(fd) {}
  OwnDescriptor(OwnDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  OwnDescriptor& operator=(OwnDescriptor&&) = delete;
  ~OwnDescriptor() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

// The last line of an output, however long that is.
class LastLine {
 public:
  void Take(std::string_view some) {
    for (const char c : some) {
      if (c == '\n' || c == '\r') End();
      else if (line_.size() < kMostOfLine) line_ += c;
    }
  }
  // As the end of a message: ": 'no such host'", or nothing.
  std::string Text() {
    End();
    return last_.empty() ? "" : fmt::format(": '{}'", ForLog(last_));
  }

 private:
  static constexpr size_t kMostOfLine = 200;
  void End() {
    if (line_.find_first_not_of(" \t") != std::string::npos) last_ = line_;
    line_.clear();
  }
  std::string line_;
  std::string last_;
};

absl::Status CannotStart(int error) { return absl::InternalError(fmt::format("cannot be started: {}", std::strerror(error))); }

// In memory, so that nobody waits for a program that does not read it.
absl::StatusOr<OwnDescriptor> InputWith(std::string_view text) {
  OwnDescriptor input(memfd_create("longreach-news", MFD_CLOEXEC));
  while (input.get() >= 0 && !text.empty()) {
    const ssize_t some = write(input.get(), text.data(), text.size());
    if (some < 0 && errno == EINTR) continue;
    if (some <= 0) return CannotStart(errno);
    text.remove_prefix(static_cast<size_t>(some));
  }
  if (input.get() < 0 || lseek(input.get(), 0, SEEK_SET) != 0) return CannotStart(errno);
  return input;
}

absl::StatusOr<pid_t> StartProgram(const ProgramCall& call, int input, int output) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
  // The store's lock, connections, keys: whatever a library has opened without FD_CLOEXEC.
  posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);

  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t signals;
  sigfillset(&signals);
  posix_spawnattr_setsigdefault(&attributes, &signals);
  sigemptyset(&signals);
  posix_spawnattr_setsigmask(&attributes, &signals);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);

  std::string name = call.program.string();
  char* const arguments[] = {name.data(), nullptr};
  std::vector<std::string> variables = call.environment;
  std::vector<char*> environment;
  for (std::string& variable : variables) environment.push_back(variable.data());
  environment.push_back(nullptr);
  pid_t pid = -1;
  const int failed = posix_spawn(&pid, name.c_str(), &actions, &attributes, arguments, environment.data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (failed == ENOEXEC) return absl::InternalError("cannot be started: it is no program of this machine; a script begins with a line like '#!/bin/sh'");
  if (failed == ENOENT) return absl::InternalError("cannot be started: it is not there, or the program is not that its first line names");
  if (failed != 0) return CannotStart(failed);
  return pid;
}

// It stays there to be waited for, so that its number, which is its group's, is no other's yet.
bool HasEnded(pid_t pid) {
  siginfo_t info{};
  if (waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0) return errno != EINTR;
  return info.si_pid == pid;
}

// What there is to read. False: that was all.
bool ReadSome(int fd, LastLine& last) {
  char buffer[4096];
  for (int i = 0; i < 64; ++i) {  // Then others' turn, however much it writes.
    const ssize_t got = read(fd, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got < 0 && errno == EAGAIN;
    last.Take({buffer, static_cast<size_t>(got)});
  }
  return true;
}

// Until it has ended; why it was killed, if it was. INTERNAL: it lives on.
absl::StatusOr<std::string> SeeToItsEnd(pid_t pid, int output, std::chrono::milliseconds limit, const std::function<bool()>& give_up, LastLine& last) {
  const OwnDescriptor watched(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));  // A kernel without it: it is looked for instead.
  const ProgramTime::time_point end = ProgramTime::now() + limit;
  std::string killed;
  std::optional<ProgramTime::time_point> left_behind_at;
  bool open = true;
  while (!HasEnded(pid)) {
    const ProgramTime::time_point now = ProgramTime::now();
    if (left_behind_at && now >= *left_behind_at) return absl::InternalError(fmt::format("{}, and does not end", killed));
    if (killed.empty() && now >= end) killed = fmt::format("was killed after {:g} s", std::chrono::duration<double>(limit).count());
    if (killed.empty() && give_up()) killed = "was killed, as the scheduler ends";
    if (!killed.empty()) {
      if (!left_behind_at) left_behind_at = now + kToDie;
      kill(-pid, SIGKILL);
    }
    pollfd files[2] = {{open ? output : -1, POLLIN, 0}, {watched.get(), POLLIN, 0}};
    poll(files, 2, static_cast<int>(kBetweenQuestions.count()));
    if (files[0].revents != 0) open = ReadSome(output, last);
  }
  return killed;
}

}  // namespace

absl::Status CheckCallable(const std::filesystem::path& program) {
  const auto refuse = [&program](std::string_view why) { return absl::FailedPreconditionError(fmt::format("'{}': {}", ForLog(program.string()), why)); };
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(program, error);
  if (status.type() == std::filesystem::file_type::not_found) return refuse("there is no such file");
  if (error) return refuse(error.message());
  if (!std::filesystem::is_regular_file(status)) return refuse("it is no file that could be executed");
  if (::access(program.c_str(), X_OK) != 0) return refuse(fmt::format("this user may not execute it ({}); chmod +x makes a script a program", std::strerror(errno)));
  return absl::OkStatus();
}

absl::Status RunProgram(const ProgramCall& call, std::chrono::milliseconds limit, const std::function<bool()>& give_up) {
  ASSIGN_OR_RETURN(const OwnDescriptor input, InputWith(call.input));
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return CannotStart(errno);
  const OwnDescriptor output(ends[0]);
  pid_t pid = -1;
  {
    const OwnDescriptor its_end(ends[1]);
    ASSIGN_OR_RETURN(pid, StartProgram(call, input.get(), its_end.get()));
  }
  fcntl(output.get(), F_SETFL, O_NONBLOCK);
  LastLine last;
  ASSIGN_OR_RETURN(const std::string killed, SeeToItsEnd(pid, output.get(), limit, give_up, last));
  kill(-pid, SIGKILL);
  ReadSome(output.get(), last);
  int status = 0;
  pid_t waited = -1;
  do waited = waitpid(pid, &status, 0);
  while (waited < 0 && errno == EINTR);
  if (!killed.empty()) return absl::DeadlineExceededError(killed + last.Text());
  if (waited != pid) return absl::OkStatus();  // Whoever started this process has its children waited for by nobody (SIGCHLD is ignored).
  if (WIFSIGNALED(status)) return absl::InternalError(fmt::format("ended by signal {}{}", WTERMSIG(status), last.Text()));
  if (WEXITSTATUS(status) != 0) return absl::InternalError(fmt::format("ended with exit code {}{}", WEXITSTATUS(status), last.Text()));
  return absl::OkStatus();
}

}  // namespace longreach::service
