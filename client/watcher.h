// A sweep's state as it changes, read from the scheduler's stream in a thread of its own.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "client/connection.h"
#include "client/interrupt.h"
#include "longreach/v1/api.pb.h"
#include "proto/base/status.h"
#include "proto/base/synchronized.h"

namespace longreach::client {

class SweepWatcher {
 public:
  // `patience`: for how long a scheduler that went away is waited for before the stream is given up.
  SweepWatcher(Connection& connection, std::string sweep, std::chrono::seconds patience);
  ~SweepWatcher();
  SweepWatcher(const SweepWatcher&) = delete;
  SweepWatcher& operator=(const SweepWatcher&) = delete;

  struct Event {
    enum class Kind {
      kUpdate,     // `update` is the newest state.
      kLost,       // The scheduler went away; it is being tried again.
      kEnded,      // The sweep has finished (OK), or the stream is given up (`status`).
      kInterrupt,  // A signal came.
      kTick,       // Nothing happened for `timeout`.
    };
    Kind kind = Kind::kTick;
    v1::SweepUpdate update = {};
    bool back = false;  // Of an update: the first after kLost.
    absl::Status status = {};
  };

  // Waits for the next of these. States that came in between are left out.
  Event Next(InterruptScope& interrupt, std::chrono::milliseconds timeout);

 private:
  struct Shared {
    std::optional<v1::SweepUpdate> update;
    bool lost = false;
    bool ended = false;
    absl::Status status;
    bool stopping = false;
    grpc::ClientContext* context = nullptr;
  };

  void Read();
  // One stream, to its end. Returns its status, and whether an update came.
  grpc::Status ReadOnce(bool& got_update, bool& finished);
  void Notify();
  // Waits unless stopping. False: stopping.
  bool Sleep(std::chrono::milliseconds time);

  Connection& connection_;
  std::string sweep_;  // An id, once it is known.
  std::chrono::seconds patience_;
  int event_fd_;
  Synchronized<Shared> shared_;
  std::condition_variable stop_;
  std::thread thread_;
  bool told_lost_ = false;  // By the last event but ticks.
};

// True when no job of the sweep failed, was cancelled or is still open.
bool AllSucceeded(const v1::Sweep& sweep);

}  // namespace longreach::client
