// One of a worker's places where a pack is trained: a trainer, and at most one attempt in it. Its crash, hang or restart is the end of that attempt, and
// of nothing else where the trainer has a process of its own; where trainers share one, the others' attempts are interrupted.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "worker/agent/attempt.h"
#include "worker/agent/backoff.h"
#include "worker/agent/hang_watch.h"
#include "worker/agent/trainer_process.h"

namespace longreach::agent {

class TrainerSlot {
 public:
  using AttemptPtr = std::shared_ptr<Attempt>;

  //   kCold --Start--> kStarting --the child is ready--> kIdle --Train--> kTraining --finished, refused--> kIdle
  //   kStarting --the child does not start, or hangs meanwhile--> kBroken --it does, tried again and again--> kIdle
  //   kIdle --Measure--> kMeasuring --measured--> kIdle;   kMeasuring --the child's end, or it cannot, or hangs--> kBroken
  //   kIdle, kTraining --the child's end, Restart--> kEnding --the child is gone--> kStarting;   any --Close--> kClosed
  //   kTraining --Abandon--> kAbandoning --the trainer has left the pack--> kIdle;   kAbandoning --it ends, or hangs--> kEnding
  enum class State { kCold, kStarting, kBroken, kIdle, kMeasuring, kTraining, kAbandoning, kEnding, kClosed };

  struct Options {
    std::string name;  // What its log lines call it: "the trainer".
    int number = 0;    // Of its trainer, for `trainers`.
    TrainerProcesses* trainers = nullptr;  // Borrowed.
    std::filesystem::path log;   // Of the process, between packs.
    double hang_floor_s = 60;
  };

  // Called on the io_context's thread; each may call any function of the slot.
  struct Handlers {
    std::function<void(const v1::TrainerReady&)> on_ready;
    std::function<void(const v1::PacksMeasured&)> on_measured;
    // The child does not start, or cannot measure. Unless it is closed now, the slot tries again by itself, and says so.
    std::function<void(const std::string& why)> on_unusable;
    std::function<void(const AttemptPtr&, const v1::CheckpointWritten&)> on_checkpoint;
    // The attempt is out of the slot, which is free.
    std::function<void(const AttemptPtr&, const v1::PackFinished&)> on_finished;
    // The attempt is out of the slot: refused by the child, or lost with it. The text is one line.
    std::function<void(const AttemptPtr&, const std::string& detail)> on_failed;
    // The attempt is out of the slot, lost with a process that others share, and it may be at fault for that, as may they.
    std::function<void(const AttemptPtr&, const std::string& detail)> on_suspected;
    // Before on_failed and on_suspected: a file that the process had mapped gave no bytes.
    std::function<void(const AttemptPtr&)> on_bus_error;
    // The attempt is out of the slot, lost with the process for another's reason.
    std::function<void(const AttemptPtr&, const std::string& detail)> on_interrupted;
    // The trainer has left an attempt that was abandoned, and the slot is free.
    std::function<void(const AttemptPtr&)> on_free;
    // The process that several share is to end; no attempt of it is out of its slot yet. Told more than once of the same end.
    std::function<void()> on_shared_end;
    // Whether trainers of other slots, which share the process, have given no sign of life for a while either.
    std::function<bool()> others_are_silent;
  };

  TrainerSlot(boost::asio::io_context& io, Options options, Handlers handlers);

  State state() const { return state_; }
  // In the child now; null: none.
  const AttemptPtr& attempt() const { return attempt_; }
  // Its attempt has given no sign of life for longer than usual.
  bool silent() const { return (attempt_ != nullptr || abandoned_ != nullptr) && hang_.silent(); }
  // 0: none.
  int pid() const { return child_ == nullptr ? 0 : child_->pid(); }

  // Starts the child; only when kCold.
  void Start();
  // Has the child measure packs; only when kIdle.
  void Measure(const v1::MeasurePacks& what);
  // Has the child train an attempt; only when kIdle.
  void Train(AttemptPtr attempt, const v1::StartPack& start);
  // Has the child compute with so many threads from now on; only when kTraining.
  void UseThreads(int threads);
  // Tells the child something about the attempt in it; only when kTraining.
  void Tell(const v1::ToTrainer& message);
  // Has nobody's attempt trained any further: kills the child and starts it anew, or where others are in it asks it to leave the pack. Only when kTraining.
  void Abandon();
  // Kills the child. No handler is called any more.
  void Close();

 private:
  void StartChild();
  // Kills the child and starts it anew. Whatever it trained is forgotten. The rest is for Trainer::Kill().
  void Restart(const std::string& why, Trainer::Blame blame = Trainer::Blame::kThisOne);
  void OnMessage(const v1::FromTrainer& message);
  void OnProgress(const v1::PackProgress& progress);
  void OnExit(const Trainer::Exit& exit);
  void OnAbandoned(bool child_ends);
  void OnUnusable(const std::string& why);
  void TryAgain();
  AttemptPtr TakeOut();
  void BeginWatch();
  void EndWatch();
  void WatchForHangs();
  void OnHung(const AttemptPtr& attempt);

  const Options options_;
  const Handlers handlers_;
  State state_ = State::kCold;
  std::unique_ptr<Trainer> child_;
  Backoff backoff_;
  boost::asio::steady_timer restart_timer_;

  bool ending_ = false;   // The child is to end, and has not.
  AttemptPtr abandoned_;  // Not null exactly when kAbandoning.
  bool awaited_ = false;  // The child starts, measures or abandons: it is watched without an attempt.
  AttemptPtr attempt_;    // Not null exactly when kTraining.
  int threads_ = 0;       // That it was told to use; 0: all.
  HangWatch hang_;
  std::chrono::steady_clock::time_point watched_at_;
  boost::asio::steady_timer hang_timer_;
};

}  // namespace longreach::agent
