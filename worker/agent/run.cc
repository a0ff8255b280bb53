#include "worker/agent/run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/signal_set.hpp>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>

#include "proto/base/utf8.h"
#include "worker/agent/channels.h"
#include "worker/agent/log.h"
#include "worker/agent/state_folder.h"

namespace longreach::agent {
namespace {

constexpr int kInterrupted = 130;

// Calls `closed` once, when standard input has come to its end.
class StdinWatch {
 public:
  StdinWatch(boost::asio::io_context& io, std::function<void()> closed) : stdin_(io), closed_(std::move(closed)) {
    boost::system::error_code error;
    stdin_.assign(dup(STDIN_FILENO), error);
    if (error) {
      closed_();
    } else {
      Read();
    }
  }
  void Cancel() {
    boost::system::error_code ignored;
    stdin_.close(ignored);
  }

 private:
  void Read() {
    stdin_.async_read_some(boost::asio::buffer(bytes_), [this](boost::system::error_code error, size_t) {
      if (error == boost::asio::error::operation_aborted) return;
      if (error) return closed_();
      Read();
    });
  }

  boost::asio::posix::stream_descriptor stdin_;
  std::function<void()> closed_;
  std::array<char, 256> bytes_;
};

class Signals {
 public:
  Signals(boost::asio::io_context& io, std::function<void()> asked)
      : signals_(io, SIGINT, SIGTERM), asked_(std::move(asked)) {
    Wait();
  }
  void Cancel() { signals_.cancel(); }

 private:
  void Wait() {
    signals_.async_wait([this](boost::system::error_code error, int signal) {
      if (error) return;
      if (signal == SIGINT && interrupted_) _exit(kInterrupted);  // The trainer dies with this process.
      if (signal == SIGINT) interrupted_ = true;
      Wait();  // Before asked_(), which may cancel it: armed after that, it would keep the process for ever.
      asked_();
    });
  }

  boost::asio::signal_set signals_;
  std::function<void()> asked_;
  bool interrupted_ = false;
};

int CannotStart(const absl::Status& why) {
  fmt::print(stderr, "error: {}\n", ForTerminal(std::string(why.message())));
  return 1;
}

// Ends the process if that has not come to its end by itself, some seconds after a worker has left: a thread that reads data from a disk which stands still does not come back, and nobody waits
// for what it reads.
class EndInAnyCase {
 public:
  explicit EndInAnyCase(int exit_code)
      : thread_([this, exit_code](const std::stop_token& stop) {
          std::unique_lock lock(mutex_);
          if (changed_.wait_for(lock, stop, kPatienceAtEnd, [&stop] { return stop.stop_requested(); })) return;
          if (stop.stop_requested()) return;
          LogWarning(fmt::format("left without waiting any longer for what it reads: for {} s the disk of its data folder has given nothing", kPatienceAtEnd.count()));
          std::fflush(nullptr);
          _exit(exit_code);
        }) {}

 private:
  static constexpr std::chrono::seconds kPatienceAtEnd{5};
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::jthread thread_;  // Last: it uses the others, and ends first.
};

absl::StatusOr<std::string> TryToStart(const AgentOptions& options, const std::function<absl::StatusOr<std::string>()>& open_device) {
  RETURN_IF_ERROR(Channels::Open(options.scheduler, options.credentials).status());
  RETURN_IF_ERROR(StateFolder::Look(options.state));
  return open_device();
}

}  // namespace

int CheckWorker(const AgentOptions& options, const std::function<absl::StatusOr<std::string>()>& open_device) {
  const absl::StatusOr<std::string> device = TryToStart(options, open_device);
  if (!device.ok()) return CannotStart(device.status());
  fmt::print("ready on {}\n", *device);
  return 0;
}

int RunWorker(AgentOptions options, bool until_stdin_closes) {
  std::signal(SIGPIPE, SIG_IGN);
  // Such a worker's scheduler belongs to the same parent: one that does not answer ended with it, and whoever starts the
  // run again waits for this worker's folder.
  constexpr double kPatienceWithParentS = 5;
  constexpr std::chrono::seconds kPatienceWithPredecessor{15};
  if (until_stdin_closes) {
    options.patience_s = std::min(options.patience_s, kPatienceWithParentS);
    options.state_patience = kPatienceWithPredecessor;
    options.on_usable = [] {  // The parent waits for this line.
      fmt::print("ready\n");
      std::fflush(stdout);
    };
  }
  boost::asio::io_context io;
  std::unique_ptr<Signals> signals;
  std::unique_ptr<StdinWatch> stdin_watch;
  bool ended = false;
  absl::Status how;
  absl::StatusOr<std::unique_ptr<Agent>> agent = Agent::Open(io, std::move(options), [&](absl::Status status) {
    ended = true;
    how = std::move(status);
    if (signals != nullptr) signals->Cancel();
    if (stdin_watch != nullptr) stdin_watch->Cancel();
  });
  if (!agent.ok()) return CannotStart(agent.status());
  const auto leave = [&] { (*agent)->Leave(); };
  boost::asio::post(io, [&] { (*agent)->Start(); });
  signals = std::make_unique<Signals>(io, leave);
  if (until_stdin_closes) stdin_watch = std::make_unique<StdinWatch>(io, leave);
  while (!ended && io.run_one() > 0) {
  }
  // What is being written must come to its end. So must what is sent; it was told to stop.
  while (!(*agent)->at_most_reads() && io.run_one() > 0) {
  }
  const int exit_code = how.ok() ? 0 : CannotStart(how);
  if (how.ok()) LogInfo("left");
  const EndInAnyCase end(exit_code);
  io.run();
  agent->reset();
  return exit_code;
}

std::filesystem::path DefaultStateFolder() {
  const char* state = std::getenv("XDG_STATE_HOME");
  if (state != nullptr && *state != '\0') return std::filesystem::path(state) / "longreach" / "worker";
  const char* home = std::getenv("HOME");
  if (home != nullptr && *home != '\0') return std::filesystem::path(home) / ".local" / "state" / "longreach" / "worker";
  return "longreach-worker.state";
}

}  // namespace longreach::agent
