// What of a worker outlives its process: who it is, and reports that nobody has acknowledged yet.
//
//   STATE/lock         held (flock) while a worker runs here
//   STATE/id           the worker's UUID
//   STATE/incarnation  the last one used
//   STATE/store        which store the reports and attempts in here are of (SynchronizeResponse.store)
//   STATE/outbox/      one file for each unacknowledged report
//   STATE/cache/       files named by their hash: checkpoints and weights that the scheduler knows
//   STATE/attempts/N/  an attempt's files; what had ended (finished.h), and checkpoints (left_checkpoint.h), outlive the process
//   STATE/trainer.log  what the trainer prints between attempts, of its last start; of further ones: trainer-2.log, ...
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>

#include "proto/base/clock.h"
#include "proto/base/status.h"

namespace longreach::agent {

class StateFolder {
 public:
  // Makes the folder when it is not there, takes its lock, and draws the incarnation: the time in microseconds, but always
  // above the last one, because clocks are set back. Removes what earlier
  // attempts left, but for results and checkpoints (RemoveUnfinished()).
  // FAILED_PRECONDITION: another worker holds it, and goes on to for so long. DATA_LOSS: the id in it is no UUID, the store's none, or one of its files is
  // something else (a pipe, a folder, a link to nothing). INTERNAL: cannot be written.
  static absl::StatusOr<StateFolder> Open(const std::filesystem::path& folder, WallTime now, std::chrono::milliseconds patience = {});

  // What Open() would refuse of the place: something else than a folder, one that may not be written, or of which a file is not what it should be. Nothing is changed, and whether another worker holds it is
  // not looked at, as that one may leave. What only making a folder shows (no room, a file system of another kind) is left to Open().
  static absl::Status Look(const std::filesystem::path& folder);

  // Of a worker that could not begin: if this process has made the folder, it goes with this object.
  void GoIfNew() { goes_ = is_new_; }

  StateFolder(StateFolder&& other) noexcept;
  StateFolder& operator=(StateFolder&&) = delete;
  ~StateFolder();

  const std::string& worker() const { return worker_; }
  uint64_t incarnation() const { return incarnation_; }
  // Empty: not known.
  const std::string& store() const { return store_; }
  // From now on, also where it cannot be written down; then no store is, and whoever calls this again has it tried again. Only while nothing here is
  // of another store.
  absl::Status SetStore(const std::string& store);
  std::filesystem::path outbox() const { return folder_ / "outbox"; }
  std::filesystem::path cache() const { return folder_ / "cache"; }
  std::filesystem::path attempts() const { return folder_ / "attempts"; }
  // What the trainer of a slot prints between attempts.
  std::filesystem::path trainer_log(int slot) const;

 private:
  StateFolder() = default;
  void Remove() const;

  std::filesystem::path folder_;
  int lock_ = -1;
  bool is_new_ = false;  // Nothing was there before Open().
  bool goes_ = false;
  std::string worker_;
  uint64_t incarnation_ = 0;
  std::string store_;
  bool store_is_written_ = true;  // As far as it is known.
};

}  // namespace longreach::agent
