// Whose turn it is among commands of this machine that wait for one store, so that not all of them start a scheduler whenever it is free: a lock on the store's file
// that no scheduler asks for, as SQLite's are of another kind. The kernel takes it back however its holder ends.
#pragma once

#include <string>
#include <utility>

namespace longreach::client {

class Turn {
 public:
  explicit Turn(std::string store) : store_(std::move(store)) {}
  ~Turn();
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  // Whether it is this one's, as it stays from then on. Where turns cannot be taken it is everybody's: of a store that is not there yet or cannot be read, or on a
  // file system without such locks.
  bool IsOurs();

 private:
  const std::string store_;
  int file_ = -1;
};

}  // namespace longreach::client
