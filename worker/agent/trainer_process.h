// The agent's side of trainer children: starts one, talks to its trainers, and says how it ended.
//
// A child has one trainer, or several that share it, as packs compute on a GPU at the same time only in one process (or by NVIDIA's MPS). Each trainer
// has a pipe of its own; what ends the process ends all of them.
#pragma once

#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "longreach/v1/trainer_pipe.pb.h"
#include "proto/base/status.h"

namespace longreach::agent {

class TrainerProcess;

// A trainer of a process, as long as this lives.
class Trainer {
 public:
  struct Exit {
    std::string how;          // "killed by SIGSEGV", "ended with exit code 1", or why it was killed.
    bool of_another = false;  // It is known that another one of the same process was the cause.
    bool of_anyone = false;   // Several share the process, and it is not known which of them was.
    bool bus_error = false;   // SIGBUS has killed it: of a file that it has mapped, bytes were not there, or the disk gave none.
    std::string last_line;    // Of what the process has printed.
  };
  // Called on the io_context's thread. Any but on_ending may destroy the Trainer.
  struct Handlers {
    std::function<void(const v1::FromTrainer&)> on_message;
    // The process is to end: what was sent before may still come, nothing can be sent any more, and on_exit follows once it is gone. May be left out.
    std::function<void()> on_ending = {};
    // Once, after all messages; not after Kill().
    std::function<void(const Exit&)> on_exit;
  };

  ~Trainer();
  Trainer(const Trainer&) = delete;

  enum class Blame { kThisOne, kNobody };
  // Kills the process if it lives; its other trainers are told why, and whether this one was the cause. `gone` is called when it is no more, and may
  // destroy this object; no handler is called from now on.
  void Kill(const std::string& why, Blame blame, std::function<void()> gone);
  // Whether it is known that another one of its process brings that to its end.
  bool OfAnother() const;
  void Send(const v1::ToTrainer& message);
  // -1: it is gone.
  int pid() const;

 private:
  friend class TrainerProcesses;
  Trainer(std::shared_ptr<TrainerProcess> process, int number);

  const std::shared_ptr<TrainerProcess> process_;
  const int number_;  // In the process.
};

class TrainerProcesses {
 public:
  struct Options {
    std::filesystem::path binary;  // longreach-trainer.
    std::string build = {};        // That it has to be of; empty: any.
    bool cuda = false;
    std::filesystem::path cuda_plugin;
    int trainers = 1;              // That share a process.
    double hang_floor_s = 60;      // As the agent's (hang_watch.h).
  };

  TrainerProcesses(boost::asio::io_context& io, Options options);

  // Whether trainers share a process.
  bool share() const { return options_.trainers > 1; }

  // A trainer of the process that lives, if it is shared and has none open of that number, from 0; else of one that is started, by posix_spawn: a fork
  // of a process with gRPC's threads may hang. `log`: where its standard output and error go between packs, emptied at the start. UNAVAILABLE with
  // the reason when it cannot start.
  //
  // When the last Trainer of a process is destroyed, the process is killed, and waited for for up to 5 s.
  absl::StatusOr<std::unique_ptr<Trainer>> Open(int trainer, const std::filesystem::path& log, Trainer::Handlers handlers);

 private:
  boost::asio::io_context& io_;
  const Options options_;
  std::weak_ptr<TrainerProcess> shared_;  // The one that trainers share, from its start to its end.
};

}  // namespace longreach::agent
