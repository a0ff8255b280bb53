// The agent's side of the trainer child: starts it, talks to it, and says how it ended.
#pragma once

#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "longreach/v1/trainer_pipe.pb.h"
#include "proto/base/status.h"

namespace longreach::agent {

class TrainerProcess {
 public:
  struct Options {
    std::filesystem::path binary;  // longreach-worker.
    bool cuda = false;
    std::filesystem::path cuda_plugin;
    std::filesystem::path log;     // Standard output and error between packs; emptied at the start.
    // What goes over this process's environment at a start, as EnvironmentWith() takes it. May be left out.
    std::function<std::vector<std::string>()> environment{};
  };
  // Called on the io_context's thread. Any but on_ending may destroy the TrainerProcess.
  struct Handlers {
    std::function<void(const v1::FromTrainer&)> on_message;
    // The pipe is closed: nothing can be sent any more, and on_exit follows once the process is gone. May be left out.
    std::function<void()> on_ending = {};
    // Once, after all messages; not when this object is destroyed. "killed by SIGSEGV", "ended with exit code 1".
    std::function<void(const std::string& how)> on_exit;
  };

  // By posix_spawn: a fork of a process with gRPC's threads may hang. UNAVAILABLE with the reason when it cannot start.
  static absl::StatusOr<std::unique_ptr<TrainerProcess>> Start(boost::asio::io_context& io, const Options& options,
                                                               Handlers handlers);

  // Kills the process if it lives, and waits up to 5 s for its end.
  ~TrainerProcess();

  // Kills the process if it lives. `gone` is called when it is no more, and may destroy this object; no handler is called from now on.
  void Kill(std::function<void()> gone);

  void Send(const v1::ToTrainer& message);
  int pid() const;

 private:
  class Impl;
  explicit TrainerProcess(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace longreach::agent
