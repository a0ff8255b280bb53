// Whether the disk of the store's files has room for what workers hand in, and takes it at all: its folder may be away. A file that is not taken is a matter
// between two programs otherwise: its worker tries again, its sweep stands still, and nobody would be told. The store itself may be on another disk, or need less.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "proto/base/clock.h"
#include "proto/base/status.h"
#include "proto/base/synchronized.h"
#include "scheduler/service/live_board.h"

namespace longreach::service {

class UploadRoom {
 public:
  // `space`: bytes that the disk has left. `log` is told of a trouble once, and of its end. The board outlives this.
  UploadRoom(LiveBoard& board, std::function<double()> space, std::function<void(const std::string&)> log)
      : board_(board), space_(std::move(space)), log_(std::move(log)) {}

  // A file of so many bytes could not be written, as the files' folder answered. Of errors but RESOURCE_EXHAUSTED, and those of a folder that is away, may not
  // be written or does not answer (NOT_FOUND, PERMISSION_DENIED, UNAVAILABLE), nothing is said here: a fault of the file, or of its sender.
  void Refused(double bytes, const absl::Status& status);
  // One was written. It ends the trouble if there is room for the largest that was refused: a log of a few lines fits in where weights
  // do not, and would have it come and go.
  void Taken(double bytes);
  // The store, which may be on the same disk, can be written again: ends the trouble if there is room for the largest file that was refused. Its
  // worker may not try again, as with a checkpoint.
  void StoreIsWell();

  // When the disk is to be asked; nothing: there is no trouble, or the disk had room for what was refused. It was a quota's doing then, say, and
  // only a file that is taken can end it.
  std::optional<SteadyTime> NextLook();
  // Asks it, if that time has come: whoever made room need not wait for a worker to try again.
  void Look(SteadyTime now);

 private:
  static constexpr std::chrono::seconds kBetweenLooks{5};
  struct Trouble {
    double bytes = 0;             // Of the largest that was refused.
    bool is_of_the_disk = false;  // It had no room for any of them.
    bool is_of_room = true;       // Else of the folder, which a file that is taken ends, and nothing else.
    SteadyTime look_at{};
  };
  void End(std::optional<Trouble>& trouble);

  LiveBoard& board_;
  const std::function<double()> space_;
  const std::function<void(const std::string&)> log_;
  Synchronized<std::optional<Trouble>> trouble_;
};

}  // namespace longreach::service
