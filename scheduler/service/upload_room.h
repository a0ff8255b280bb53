// Whether the disk of the store's files has room for what workers hand in, and takes it at all: its folder may be away. A file that is not taken is a matter
// between two programs otherwise: its worker tries again, its sweep stands still, and nobody would be told. The store itself may be on another disk, or need less.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

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
  // `jobs`: whose it is, by their ids; none: that is not known.
  void Refused(double bytes, const absl::Status& status, const std::vector<std::string>& jobs = {});
  // One was written. It ends the trouble if there is room for the largest that was refused: a log of a few lines fits in where weights
  // do not, and would have it come and go.
  void Taken(double bytes);
  // The store, which may be on the same disk, can be written again: ends the trouble if there is room for the largest file that was refused. Its
  // worker may not try again, as with a checkpoint.
  void StoreIsWell();

  // When to look; nothing: there is no trouble, or nothing to be seen of it. Where the disk had room for what was refused it was a quota's doing, say, and
  // only a file that is taken tells its end, or that nobody needs one.
  std::optional<SteadyTime> NextLook();
  // If that time has come, asks the disk, as whoever made room need not wait for a worker to try again, and which of the jobs whose files were refused are still to
  // run or run: without any of them nobody needs the room, and the next file will show whether there is some. `is_open` is asked for their ids.
  void Look(SteadyTime now, const std::function<bool(const std::string&)>& is_open);

 private:
  static constexpr std::chrono::seconds kBetweenLooks{5};
  // Of more jobs it is not known whether one of them still needs its file: each look asks for all.
  static constexpr size_t kMostJobs = 1000;
  struct Trouble {
    double bytes = 0;             // Of the largest that was refused.
    bool is_of_the_disk = false;  // It had no room for any of them.
    bool is_of_room = true;       // Else of the folder, which a file that is taken ends.
    std::map<std::string, double> jobs{};  // That files of so many bytes at most were refused to,
    bool all_known = true;                 // if these are all.
    SteadyTime look_at{};
  };
  static void Note(Trouble& trouble, double bytes, const std::vector<std::string>& jobs);
  void End(std::optional<Trouble>& trouble, const std::string& why);
  static std::string IsOver(const Trouble& trouble);

  LiveBoard& board_;
  const std::function<double()> space_;
  const std::function<void(const std::string&)> log_;
  Synchronized<std::optional<Trouble>> trouble_;
};

}  // namespace longreach::service
