// A whole scheduler: store, writer, engine and the gRPC server in front of them.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "proto/base/clock.h"
#include "proto/base/status.h"
#include "scheduler/service/access/tls.h"
#include "scheduler/service/engine.h"
#include "scheduler/service/limits.h"
#include "store/store.h"

namespace longreach::service {

// What whoever wants the store meanwhile is told.
enum class StoreHeld {
  kKept,      // To ask here.
  kSoonFree,  // To wait, as it is free again soon, and to ask here only if it cannot.
  kMoment,    // To wait.
};

struct ServerOptions {
  std::string store;                // A file, or ":memory:".
  std::filesystem::path artifacts;  // Empty: beside the store.
  std::string listen = "localhost:7070";
  TlsFiles tls;        // Must be there unless `listen` is within this machine.
  std::string tokens;  // The file of bearer tokens; empty: none are asked for.
  bool log_events = false;  // What happens is told on standard error (event_log.h), and each line has its time.
  std::filesystem::path notify;  // The program that is told of news (notifier.h), with its whole path; empty: none.
  StoreHeld held = StoreHeld::kKept;
  store::CopyWhen copy = store::CopyWhen::kNever;  // What is written to a copy is lost at the end, so nobody but who looks is to know of this one.
  std::function<void(const std::string&)> say_of_copy;  // Is told of one that takes time, before it is made; empty: nobody is.
  std::string merges;  // The file of a store that this one will take over: where that cannot be, no store is made for it, and while somebody holds it none is opened. Empty: none.
  bool repairs = false;  // It is started to mend its store, which no other scheduler does. Meanwhile no lease ends, no sweep goes on and no file is removed.
  std::function<void(const std::string&)> say_of_merges;  // Is told how far a merge is, on any thread; empty: the log.
  std::stop_token stop;  // Ends a start that takes long, as reading the store that is to be taken over does, with UNAVAILABLE.
  ArtifactLimits artifact_limits;
  EngineOptions engine;
  std::chrono::milliseconds between_looks{500};  // At a sweep that is watched; its end is told at once.
};

class Server {
 public:
  // Opens the store and listens. Every error is one line; nothing was written then, but for what opening a store of an
  // older version does. `clock` outlives the server.
  static absl::StatusOr<std::unique_ptr<Server>> Start(const ServerOptions& options, const Clock& clock);
  // Answers what is held open, waits for what is being written, and ends.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // With the port that was taken.
  const std::string& address() const;

 private:
  struct Parts;
  explicit Server(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace longreach::service
