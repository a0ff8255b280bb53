// One scheduler per store: an flock on FILE.lock, which says where its holder listens, and a lock on the file itself, which holds also where it
// goes by another name (a hard link, a file that was moved, a FILE.lock that somebody removed). The kernel takes both back when the process
// ends, however it ends.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "proto/base/status.h"

namespace longreach::store {

// Payload of that refusal: where the holder listens; empty: it did not say, as it is starting or has the store for a moment only.
inline constexpr char kHeldAt[] = "longreach/held-at";
// Another, which is there where the holder has said that it is done with the store soon. Who can wait need not ask it.
inline constexpr char kSoonFree[] = "longreach/soon-free";
// A third, where it is not the store itself that is held, but the one that is to be merged into it.
inline constexpr char kIsMerged[] = "longreach/is-merged";

class FileLock {
 public:
  // Locks FILE.lock, and FILE if it is there. FAILED_PRECONDITION, with the file's name, when somebody else holds either;
  // PERMISSION_DENIED where FILE.lock may not be made.
  // While the lock lives, no other descriptor of FILE may be closed in this process but SQLite's own, and all of those before it goes: the
  // kernel would drop SQLite's locks.
  static absl::StatusOr<std::unique_ptr<FileLock>> Take(const std::filesystem::path& file);
  // FILE is there now. FAILED_PRECONDITION: somebody else holds it.
  absl::Status LockItself(const std::filesystem::path& file);
  // Removes the lock file and lets go.
  ~FileLock();
  // Says to whoever is refused where the holder listens, and whether it is done with the store soon.
  void Say(const std::string& address, bool soon_free = false);
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  FileLock(std::filesystem::path lock_file, int fd) : lock_file_(std::move(lock_file)), fd_(fd) {}
  std::filesystem::path lock_file_;
  int fd_;
  int itself_ = -1;
};

// Whether a store may be written, and the lock that keeps it so.
struct LockToWrite {
  // OK: it may, and the lock is held. PERMISSION_DENIED: this user may not, so that it can only be read, as a copy (copy_to_read.h). Else why
  // FileLock::Take() refused it.
  absl::Status status;
  // Where it can be had also of a store that may not be written: nobody else begins to write while it is copied.
  std::unique_ptr<FileLock> lock;

  static LockToWrite Take(const std::filesystem::path& file);
};

}  // namespace longreach::store
