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
#include <thread>
#include <utility>
#include <vector>

#include "worker/agent/child.h"
#include "worker/agent/log.h"
#include "worker/agent/pipe.h"
#include "worker/agent/spawning.h"

namespace longreach::agent {
namespace {

// Between two looks whether a killed process is gone, which takes a moment.
constexpr std::chrono::milliseconds kLook{1}, kLongestLook{100};
// Of a worker that ends; of another one, before it says so.
constexpr std::chrono::milliseconds kPatience{5000};

std::string HowTheTrainerEnded(int status) {
  // The agent's own kills are not reported here, and people use SIGTERM.
  const bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  return HowItEnded(status) + (killed ? ", most likely because the machine ran out of memory" : "");
}

absl::StatusOr<pid_t> Spawn(const TrainerProcess::Options& options, int pipe) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_adddup2(&actions, pipe, kChildPipe);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, options.log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND,
                                   0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  sigset_t blocked;  // Until the child ignores them.
  sigemptyset(&blocked);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&blocked, signal);
  sigset_t all;
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &blocked);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);

  std::vector<std::string> arguments = {"longreach-worker", kChildCommand};
  if (options.cuda) arguments.insert(arguments.end(), {"--cuda-plugin", options.cuda_plugin.string()});
  std::vector<std::string> environment = EnvironmentWith(options.environment ? options.environment() : std::vector<std::string>{});
  pid_t pid = -1;
  const int error = posix_spawn(&pid, options.binary.c_str(), &actions, &attributes, Pointers(arguments).data(), Pointers(environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    return absl::UnavailableError(
        fmt::format("cannot start the trainer {}: {}", options.binary.string(), std::strerror(error)));
  }
  return pid;
}

}  // namespace

// Held by the pending operations too, so that it outlives the TrainerProcess until they have been cancelled.
class TrainerProcess::Impl : public std::enable_shared_from_this<Impl> {
 public:
  using Socket = boost::asio::local::stream_protocol::socket;
  using Ended = std::function<void(const std::string& how)>;

  Impl(boost::asio::io_context& io, pid_t pid, Handlers handlers)
      : socket_(io), timer_(io), pid_(pid), handlers_(std::make_shared<const Handlers>(std::move(handlers))) {}

  void Begin(int fd) {
    socket_.assign(boost::asio::local::stream_protocol(), fd);
    Read();
  }

  void Send(const v1::ToTrainer& message) {
    outgoing_.push_back(Frame(message));
    if (outgoing_.size() == 1) Write();
  }

  // No handler is called any more.
  void Kill(Ended ended) {
    handlers_ = nullptr;
    Disconnect();
    WaitForTheEnd(std::move(ended));
  }

  void Close() {
    handlers_ = nullptr;
    Disconnect();
    ended_ = nullptr;
    timer_.cancel();
    if (pid_ < 0) return;
    kill(pid_, SIGKILL);
    for (std::chrono::milliseconds waited{0}; !Reap() && waited < kPatience; waited += kLook) std::this_thread::sleep_for(kLook);
  }

  pid_t pid() const { return pid_; }

 private:
  void Read() {
    socket_.async_read_some(boost::asio::buffer(incoming_),
                            [self = shared_from_this()](boost::system::error_code error, size_t bytes) {
                              self->OnRead(error, bytes);
                            });
  }

  void OnRead(boost::system::error_code error, size_t bytes) {
    if (handlers_ == nullptr) return;
    if (error) return End("");
    reader_.Append({incoming_.data(), bytes});
    while (handlers_ != nullptr) {
      const absl::StatusOr<std::optional<std::string>> content = reader_.Next();
      v1::FromTrainer message;
      if (!content.ok()) return End(std::string(content.status().message()));
      if (!content->has_value()) break;
      if (!message.ParseFromString(**content)) return End("sent a message that cannot be read");
      const std::shared_ptr<const Handlers> handlers = handlers_;  // The handler may close us.
      handlers->on_message(message);
    }
    if (handlers_ != nullptr) Read();
  }

  // The pipe's other end is closed only by the child's death, or must be treated so.
  void End(const std::string& broken) {
    Disconnect();
    if (handlers_->on_ending) handlers_->on_ending();
    WaitForTheEnd([this, broken](const std::string& how) {
      const std::shared_ptr<const Handlers> handlers = std::exchange(handlers_, nullptr);
      handlers->on_exit(broken.empty() ? how : broken);
    });
  }

  void Disconnect() {
    boost::system::error_code ignored;
    socket_.close(ignored);
  }

  // Without waiting here: what the kernel holds (a device that does not answer) dies when it may, and others are trained meanwhile.
  void WaitForTheEnd(Ended ended) {
    ended_ = std::move(ended);
    if (pid_ >= 0) kill(pid_, SIGKILL);
    Look(kLook);
  }

  void Look(std::chrono::milliseconds pause) {
    const std::shared_ptr<Impl> self = shared_from_this();  // Whoever is told may let go of us.
    if (ended_ == nullptr) return;
    if (Reap()) return std::exchange(ended_, nullptr)(how_);
    waited_ += pause;
    if (waited_ >= kPatience && waited_ - pause < kPatience) {
      LogWarning(fmt::format("process {} has been killed and does not end; nothing is trained in its place before it does", pid_));
    }
    timer_.expires_after(pause);
    timer_.async_wait([self, pause](boost::system::error_code error) {
      if (!error) self->Look(std::min(2 * pause, kLongestLook));
    });
  }

  // False: it still lives. A process that has died by itself keeps the status it died with.
  bool Reap() {
    if (pid_ < 0) return true;
    int status = 0;
    const pid_t ended = waitpid(pid_, &status, WNOHANG);
    if (ended == 0 || (ended < 0 && errno == EINTR)) return false;
    pid_ = -1;
    how_ = HowTheTrainerEnded(status);
    return true;
  }

  void Write() {
    boost::asio::async_write(socket_, boost::asio::buffer(outgoing_.front()),
                             [self = shared_from_this()](boost::system::error_code error, size_t) {
                               if (error) return;  // The reading side finds out how the child ended.
                               self->outgoing_.pop_front();
                               if (!self->outgoing_.empty()) self->Write();
                             });
  }

  Socket socket_;
  boost::asio::steady_timer timer_;
  pid_t pid_;               // -1: no more.
  std::chrono::milliseconds waited_{0};
  std::string how_;         // It ended.
  Ended ended_;             // Who waits for that.
  std::shared_ptr<const Handlers> handlers_;
  std::array<char, 65536> incoming_;
  FrameReader reader_;
  std::deque<std::string> outgoing_;  // The agent sends a few messages for each pack.
};

absl::StatusOr<std::unique_ptr<TrainerProcess>> TrainerProcess::Start(boost::asio::io_context& io,
                                                                      const Options& options, Handlers handlers) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return absl::UnavailableError(fmt::format("cannot make the trainer's pipe: {}", std::strerror(errno)));
  }
  const absl::StatusOr<pid_t> pid = Spawn(options, ends[1]);
  close(ends[1]);
  if (!pid.ok()) {
    close(ends[0]);
    return pid.status();
  }
  auto impl = std::make_shared<Impl>(io, *pid, std::move(handlers));
  impl->Begin(ends[0]);
  return std::unique_ptr<TrainerProcess>(new TrainerProcess(std::move(impl)));
}

TrainerProcess::TrainerProcess(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
TrainerProcess::~TrainerProcess() { impl_->Close(); }
void TrainerProcess::Kill(std::function<void()> gone) {
  impl_->Kill([gone = std::move(gone)](const std::string&) { gone(); });
}
void TrainerProcess::Send(const v1::ToTrainer& message) { impl_->Send(message); }
int TrainerProcess::pid() const { return impl_->pid(); }

}  // namespace longreach::agent
