#include "worker/agent/trainer_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <deque>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "worker/agent/child.h"
#include "worker/agent/files.h"
#include "worker/agent/log.h"
#include "worker/agent/pipe.h"

namespace longreach::agent {
namespace {

// Between two looks whether a killed process is gone, which takes a moment.
constexpr std::chrono::milliseconds kLook{1}, kLongestLook{100};
// Of a worker that ends; of another one, before it says so.
constexpr std::chrono::milliseconds kPatience{5000};

// "ended with exit code 1", "killed by SIGSEGV".
std::string HowItEnded(int status) {
  if (!WIFSIGNALED(status)) return fmt::format("ended with exit code {}", WEXITSTATUS(status));
  const int signal = WTERMSIG(status);
  const char* name = sigabbrev_np(signal);
  // Not by the agent, which says why, and people use SIGTERM.
  return fmt::format("killed by SIG{}{}", name != nullptr ? name : std::to_string(signal),
                     signal == SIGKILL ? ", most likely because the machine ran out of memory" : "");
}

// As execve() takes them, for as long as `words` are not changed.
std::vector<char*> Pointers(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

// A pair for each trainer, our ends and the child's. They are closed with this unless they are taken.
class Pipes {
 public:
  ~Pipes() {
    for (const std::array<int, 2>& pair : pairs_) {
      for (const int end : pair) {
        if (end >= 0) close(end);
      }
    }
  }

  absl::Status Make(int trainers) {
    for (int i = 0; i < trainers; ++i) {
      int ends[2];
      if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return CannotMake();
      pairs_.push_back({ends[0], ends[1]});
      // Out of the way of the numbers that the child finds its own by.
      const int moved = fcntl(ends[1], F_DUPFD_CLOEXEC, kChildPipe + trainers);
      if (moved < 0) return CannotMake();
      close(std::exchange(pairs_.back()[1], moved));
    }
    return absl::OkStatus();
  }

  int Take(size_t i) { return std::exchange(pairs_[i][0], -1); }
  int of_child(size_t i) const { return pairs_[i][1]; }
  size_t size() const { return pairs_.size(); }

 private:
  static absl::Status CannotMake() { return absl::UnavailableError(fmt::format("cannot make the trainer's pipe: {}", std::strerror(errno))); }

  std::vector<std::array<int, 2>> pairs_;
};

absl::StatusOr<pid_t> Spawn(const TrainerProcesses::Options& options, const std::filesystem::path& log, const Pipes& pipes) {
  // Not by the child: an error names the file here, and posix_spawn() would wait for a child that waits for a pipe's reader.
  const int output = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0600);
  if (output < 0) return absl::UnavailableError(fmt::format("cannot write {}, where the trainer's output goes: {}", log.string(), std::strerror(errno)));
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);  // First: its number may be one of those that the child's pipes get.
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  for (size_t i = 0; i < pipes.size(); ++i) posix_spawn_file_actions_adddup2(&actions, pipes.of_child(i), kChildPipe + static_cast<int>(i));
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  sigset_t blocked;  // Until the child ignores them.
  sigemptyset(&blocked);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&blocked, signal);
  sigset_t all;
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &blocked);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);

  std::vector<std::string> arguments = {"longreach-trainer", kChildCommand, "--trainers", std::to_string(pipes.size()), "--hang-after-s", fmt::format("{}", options.hang_floor_s)};
  if (!options.build.empty()) arguments.insert(arguments.end(), {"--build", options.build});
  if (options.cuda) arguments.insert(arguments.end(), {"--cuda-plugin", options.cuda_plugin.string()});
  pid_t pid = -1;
  const int error = posix_spawn(&pid, options.binary.c_str(), &actions, &attributes, Pointers(arguments).data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  close(output);
  if (error != 0) return absl::UnavailableError(fmt::format("cannot start the trainer {}: {}", options.binary.string(), std::strerror(error)));
  return pid;
}

}  // namespace

// Held by its trainers and by pending operations, so that it outlives the former until the latter have been cancelled.
class TrainerProcess : public std::enable_shared_from_this<TrainerProcess> {
 public:
  using Handlers = Trainer::Handlers;

  static absl::StatusOr<std::shared_ptr<TrainerProcess>> Start(boost::asio::io_context& io, const TrainerProcesses::Options& options, const std::filesystem::path& log) {
    Pipes pipes;
    RETURN_IF_ERROR(pipes.Make(options.trainers));
    ASSIGN_OR_RETURN(const pid_t pid, Spawn(options, log, pipes));
    auto process = std::make_shared<TrainerProcess>(io, pid, log);
    for (size_t i = 0; i < pipes.size(); ++i) process->lines_.push_back(std::make_unique<Line>(io, pipes.Take(i)));
    return process;
  }

  TrainerProcess(boost::asio::io_context& io, pid_t pid, std::filesystem::path log) : timer_(io), pid_(pid), log_(std::move(log)) {}

  // Whether a trainer of it may be opened.
  bool Offers(int trainer) const { return !ending_ && LineOf(trainer).handlers == nullptr; }

  void Open(int trainer, Handlers handlers) {
    ++open_;
    LineOf(trainer).handlers = std::make_shared<const Handlers>(std::move(handlers));
    Read(trainer);
  }

  void Send(int trainer, const v1::ToTrainer& message) {
    Line& line = LineOf(trainer);
    line.outgoing.push_back(Frame(message));
    if (line.outgoing.size() == 1) Write(trainer);
  }

  // No handler of this trainer is called any more.
  void Kill(int trainer, const std::string& why, Trainer::Blame blame, std::function<void()> gone) {
    LeaveAlone(trainer);
    if (told_) return gone();
    if (!ending_ && !culprit_.has_value()) {
      why_ = why;
      if (blame == Trainer::Blame::kThisOne) culprit_ = trainer;
    }
    waiting_.push_back({trainer, std::move(gone)});
    BeginEnding();
  }

  // The same, and of the last one the process is waited for.
  void Close(int trainer) {
    LeaveAlone(trainer);
    std::erase_if(waiting_, [trainer](const auto& waiting) { return waiting.first == trainer; });
    if (--open_ > 0) return;
    timer_.cancel();
    ending_ = true;
    closed_ = true;
    if (pid_ < 0) return;
    kill(pid_, SIGKILL);
    for (std::chrono::milliseconds waited{0}; !Reap() && waited < kPatience; waited += kLook) std::this_thread::sleep_for(kLook);
  }

  bool OfAnother(int trainer) const { return culprit_.value_or(trainer) != trainer; }
  // It is no more, and all that it has said has been read; or nobody is to be told.
  bool over() const { return told_ || closed_; }
  pid_t pid() const { return pid_; }

 private:
  // To one of its trainers.
  struct Line {
    Line(boost::asio::io_context& io, int fd) : socket(io, boost::asio::local::stream_protocol(), fd) {}

    boost::asio::local::stream_protocol::socket socket;
    std::shared_ptr<const Handlers> handlers;
    bool at_end = false;  // Nothing more is read.
    std::array<char, 65536> incoming;
    FrameReader reader;
    std::deque<std::string> outgoing;  // The agent sends a few messages for each pack.
  };

  Line& LineOf(int trainer) const { return *lines_[static_cast<size_t>(trainer)]; }

  void Read(int trainer) {
    Line& line = LineOf(trainer);
    line.socket.async_read_some(boost::asio::buffer(line.incoming),
                                [self = shared_from_this(), trainer](boost::system::error_code error, size_t bytes) { self->OnRead(trainer, error, bytes); });
  }

  void OnRead(int trainer, boost::system::error_code error, size_t bytes) {
    Line& line = LineOf(trainer);
    if (line.handlers == nullptr) return;
    if (error) return AtEnd(trainer, "");
    line.reader.Append({line.incoming.data(), bytes});
    while (line.handlers != nullptr) {
      const absl::StatusOr<std::optional<std::string>> content = line.reader.Next();
      v1::FromTrainer message;
      if (!content.ok()) return AtEnd(trainer, std::string(content.status().message()));
      if (!content->has_value()) break;
      if (!message.ParseFromString(**content)) return AtEnd(trainer, "sent a message that cannot be read");
      if (message.has_crashing()) {
        culprit_ = culprit_.value_or(trainer);
        continue;
      }
      const std::shared_ptr<const Handlers> handlers = line.handlers;  // The handler may close us.
      handlers->on_message(message);
    }
    if (line.handlers != nullptr) Read(trainer);
  }

  // The pipe's other end is closed only by the child's death, or must be treated so. What other trainers have said before is still read.
  void AtEnd(int trainer, const std::string& broken) {
    Line& line = LineOf(trainer);
    Disconnect(line);
    if (!broken.empty() && !ending_ && !culprit_.has_value()) {
      why_ = broken;
      culprit_ = trainer;
    }
    BeginEnding();
  }

  void LeaveAlone(int trainer) {
    Line& line = LineOf(trainer);
    line.handlers = nullptr;
    Disconnect(line);
  }

  static void Disconnect(Line& line) {
    line.at_end = true;
    boost::system::error_code ignored;
    line.socket.close(ignored);
  }

  // Without waiting here: what the kernel holds (a device that does not answer) dies when it may, and others are trained meanwhile.
  void BeginEnding() {
    if (std::exchange(ending_, true)) return;
    for (const auto& line : lines_) {
      if (const std::shared_ptr<const Handlers> handlers = line->handlers; handlers != nullptr && handlers->on_ending) handlers->on_ending();
    }
    if (pid_ >= 0) kill(pid_, SIGKILL);
    Look(kLook);
  }

  bool AllRead() const {
    return std::ranges::all_of(lines_, [](const auto& line) { return line->handlers == nullptr || line->at_end; });
  }

  void Look(std::chrono::milliseconds pause) {
    const std::shared_ptr<TrainerProcess> self = shared_from_this();  // Whoever is told may let go of us.
    if (closed_) return;
    if (Reap() && AllRead()) return TellAll();
    waited_ += pause;
    if (pid_ >= 0 && waited_ >= kPatience && waited_ - pause < kPatience) {
      LogWarning(fmt::format("process {} has been killed and does not end; nothing is trained in its place before it does", pid_));
    }
    timer_.expires_after(pause);
    timer_.async_wait([self, pause](boost::system::error_code error) {
      if (!error) self->Look(std::min(2 * pause, kLongestLook));
    });
  }

  void TellAll() {
    told_ = true;
    // Before any of them has another one started, whose output takes its place.
    const std::string last_line = LastLineOf(log_);
    for (int trainer = 0; trainer < std::ssize(lines_); ++trainer) {
      const std::shared_ptr<const Handlers> handlers = std::exchange(LineOf(trainer).handlers, nullptr);
      if (handlers == nullptr) continue;
      handlers->on_exit({.how = why_.empty() ? how_ : why_, .of_another = OfAnother(trainer), .of_anyone = lines_.size() > 1 && !culprit_.has_value(), .bus_error = bus_error_, .last_line = last_line});
    }
    while (!waiting_.empty()) {  // Who is told may have others not be.
      const std::function<void()> gone = std::move(waiting_.front().second);
      waiting_.erase(waiting_.begin());
      gone();
    }
  }

  // False: it still lives. A process that has died by itself keeps the status it died with.
  bool Reap() {
    if (pid_ < 0) return true;
    int status = 0;
    const pid_t ended = waitpid(pid_, &status, WNOHANG);
    if (ended == 0 || (ended < 0 && errno == EINTR)) return false;
    pid_ = -1;
    how_ = HowItEnded(status);
    bus_error_ = WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS;
    return true;
  }

  void Write(int trainer) {
    Line& line = LineOf(trainer);
    boost::asio::async_write(line.socket, boost::asio::buffer(line.outgoing.front()),
                             [self = shared_from_this(), trainer](boost::system::error_code error, size_t) {
                               if (error) return;  // The reading side finds out how the child ended.
                               std::deque<std::string>& outgoing = self->LineOf(trainer).outgoing;
                               outgoing.pop_front();
                               if (!outgoing.empty()) self->Write(trainer);
                             });
  }

  boost::asio::steady_timer timer_;
  pid_t pid_;               // -1: no more.
  const std::filesystem::path log_;
  std::vector<std::unique_ptr<Line>> lines_;
  int open_ = 0;            // Trainers that somebody has.
  bool ending_ = false;
  bool told_ = false;       // Of the end.
  bool closed_ = false;     // Nobody is to be.
  std::chrono::milliseconds waited_{0};
  std::string how_;         // It ended.
  bool bus_error_ = false;
  std::string why_;         // It was made to end.
  std::optional<int> culprit_;  // The trainer with which its end began, where that is known.
  std::vector<std::pair<int, std::function<void()>>> waiting_;  // Who wants to be told of the end, with the trainer.
};

Trainer::Trainer(std::shared_ptr<TrainerProcess> process, int number) : process_(std::move(process)), number_(number) {}
Trainer::~Trainer() { process_->Close(number_); }
void Trainer::Kill(const std::string& why, Blame blame, std::function<void()> gone) { process_->Kill(number_, why, blame, std::move(gone)); }
bool Trainer::OfAnother() const { return process_->OfAnother(number_); }
void Trainer::Send(const v1::ToTrainer& message) { process_->Send(number_, message); }
int Trainer::pid() const { return process_->pid(); }

TrainerProcesses::TrainerProcesses(boost::asio::io_context& io, Options options) : io_(io), options_(std::move(options)) {}

absl::StatusOr<std::unique_ptr<Trainer>> TrainerProcesses::Open(int trainer, const std::filesystem::path& log, Trainer::Handlers handlers) {
  const int number = share() ? trainer : 0;
  std::shared_ptr<TrainerProcess> process = shared_.lock();
  if (process == nullptr || !process->Offers(number)) {
    if (process != nullptr && !process->over()) return absl::UnavailableError("the process before, which is to end, has not ended");
    ASSIGN_OR_RETURN(process, TrainerProcess::Start(io_, options_, log));
    if (share()) shared_ = process;
  }
  process->Open(number, std::move(handlers));
  return std::unique_ptr<Trainer>(new Trainer(std::move(process), number));
}

}  // namespace longreach::agent
