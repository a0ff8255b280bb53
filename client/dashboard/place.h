// Where the dashboard's commands ask: a scheduler, or a store that is opened for as long as somebody looks.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "client/session.h"
#include "proto/base/status.h"
#include "proto/base/synchronized.h"

namespace longreach::client {

class Place {
 public:
  Place(Environment environment, Settings settings) : environment_(std::move(environment)), settings_(std::move(settings)) {}
  ~Place();

  // While one lives, what its words name stays open.
  struct Door {
    Door(const Environment& environment, const Settings& settings) : session(environment, settings) {}
    Session session;
    std::vector<std::string> words;  // "--scheduler", its address, and the context and credentials of the dashboard's own command line.
  };
  // Errors are those of every command: no scheduler there, no such store, a store that another holds.
  absl::StatusOr<std::shared_ptr<Door>> Enter();
  // Who was behind `door` has gone. The next who enters looks anew. True: he may find another there, as a store is free after 'longreach run' has ended.
  bool Leave(const std::shared_ptr<Door>& door);

  // Gives back a store that was opened here and that nobody has asked of for a second; other commands wait for that. To be called now and then.
  void LetGo();

  struct Standing {
    // Somebody else works there, so it may change at any time.
    bool changing = false;
    // Another number after somebody else has worked there meanwhile.
    int version = 0;
  };
  // Opens nothing.
  Standing Look();

  // The store that is looked into; empty: none.
  std::string Store() const;

  // " --store FILE" or " --scheduler ADDR", with credentials, where the dashboard was told so: what a command in a shell needs.
  std::string Flags() const;

 private:
  using Clock = std::chrono::steady_clock;

  struct State {
    std::shared_ptr<Door> door;
    Clock::time_point used;
    std::string look;  // What the store's file looked like when it was given back.
    int version = 0;
  };

  std::string LookOfFile() const;
  bool IsHeldByAnother() const;

  const Environment environment_;
  const Settings settings_;
  Synchronized<State> state_;
};

}  // namespace longreach::client
