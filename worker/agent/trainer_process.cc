#include "worker/agent/trainer_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/write.hpp>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <deque>
#include <utility>
#include <vector>

#include "worker/agent/child.h"
#include "worker/agent/pipe.h"

namespace longreach::agent {
namespace {

std::string HowItEnded(int status) {
  if (!WIFSIGNALED(status)) return fmt::format("ended with exit code {}", WEXITSTATUS(status));
  const char* name = sigabbrev_np(WTERMSIG(status));
  const std::string killed = fmt::format("killed by SIG{}", name != nullptr ? name : std::to_string(WTERMSIG(status)));
  // The agent's own kills are not reported here, and people use SIGTERM.
  if (WTERMSIG(status) == SIGKILL) return killed + ", most likely because the machine ran out of memory";
  return killed;
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
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  pid_t pid = -1;
  const int error = posix_spawn(&pid, options.binary.c_str(), &actions, &attributes, argv.data(), environ);
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

  Impl(boost::asio::io_context& io, pid_t pid, Handlers handlers)
      : socket_(io), pid_(pid), handlers_(std::make_shared<const Handlers>(std::move(handlers))) {}

  void Begin(int fd) {
    socket_.assign(boost::asio::local::stream_protocol(), fd);
    Read();
  }

  void Send(const v1::ToTrainer& message) {
    outgoing_.push_back(Frame(message));
    if (outgoing_.size() == 1) Write();
  }

  // No handler is called any more.
  void Close() {
    handlers_.reset();
    boost::system::error_code ignored;
    socket_.close(ignored);
    Reap();
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
    const std::string how = Reap();
    const std::shared_ptr<const Handlers> handlers = std::exchange(handlers_, nullptr);
    boost::system::error_code ignored;
    socket_.close(ignored);
    handlers->on_exit(broken.empty() ? how : broken);
  }

  // A process that has died by itself keeps the status it died with.
  std::string Reap() {
    if (pid_ < 0) return "";
    kill(pid_, SIGKILL);
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return HowItEnded(status);
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
  pid_t pid_;
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
void TrainerProcess::Send(const v1::ToTrainer& message) { impl_->Send(message); }
int TrainerProcess::pid() const { return impl_->pid(); }

}  // namespace longreach::agent
