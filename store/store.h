// One store: its file, its lock, its artifacts folder, the writer's connection and the readers'.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "proto/base/synchronized.h"
#include "store/artifact_files.h"
#include "store/file_lock.h"
#include "store/migrate.h"
#include "store/sql/connection.h"

namespace longreach::store {

// When a copy of a store is looked into instead of itself (copy_to_read.h). What is opened then goes with the object, and nobody else knows of it; of the
// artifacts there are those of the original, only to be read.
enum class CopyWhen {
  kNever,
  kReadOnly,  // Of a file that this user may read and not write.
  kAlways,    // Of any, which is neither changed nor held, whoever works on it. FAILED_PRECONDITION: there is none.
};

struct OpenOptions {
  // Empty: the one that the store was opened with before, else FILE.artifacts beside the file.
  std::filesystem::path artifacts{};
  // Tests open stores as later versions would.
  std::span<const std::string_view> migrations = Migrations();
  CopyWhen copy = CopyWhen::kNever;
  // Is told of a copy that takes time and room, before it is made. May be left out.
  std::function<void(const std::string& line)> say_of_copy{};
};

class Store;

// A read-only connection inside a read transaction: all that is read through it is of one moment, and no writer is waited for.
// Given back to the store when destroyed. Not to be kept longer than an answer takes.
class Snapshot {
 public:
  Snapshot(Snapshot&&) noexcept;
  Snapshot& operator=(Snapshot&&) = delete;
  ~Snapshot();
  sql::Connection& db() { return *connection_; }
  operator sql::Connection&() { return *connection_; }  // NOLINT: meant to be implicit.

 private:
  friend class Store;
  Snapshot(Store* store, std::unique_ptr<sql::Connection> connection);
  Store* store_;  // Whom the connection is given back to; nullptr: it is closed.
  std::unique_ptr<sql::Connection> connection_;
};

class Store {
 public:
  // Opens `file` (made when absent; ":memory:": a temporary one that goes with the object), takes FILE.lock and brings the schema
  // up to date; an older file is copied to FILE.vN.backup first.
  // FAILED_PRECONDITION: another scheduler holds the file, it is of a newer version, a database of another program, or there is no folder for
  // its artifacts (artifacts_folder.h). PERMISSION_DENIED: it may not be written.
  // DATA_LOSS: not a database. Nothing is written then.
  static absl::StatusOr<std::unique_ptr<Store>> Open(const std::string& file, const OpenOptions& options = {});
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // For the one writer (writer.h), from one thread.
  sql::Connection& writer_connection() { return *writer_; }
  // From any thread.
  absl::StatusOr<Snapshot> Read();
  // The same for CheckRows(): where a file is opened to be read alone, SQLite takes no CHECK of a table from the schema, and its integrity_check finds none of them broken.
  absl::StatusOr<Snapshot> ReadToCheck();
  ArtifactFiles& artifacts() { return *artifacts_; }

  // Says in FILE.lock where the scheduler of this store listens, and whether it is done with it soon.
  void ListensAt(const std::string& address, bool soon_free = false);

  // As the user named it.
  const std::string& name() const { return name_; }
  // Where it, or its copy to read, really lies.
  const std::filesystem::path& file() const { return file_; }
  // Schema version that the file had when it was opened; 0: it was new.
  int version_found() const { return version_found_; }

 private:
  friend class Snapshot;
  Store() = default;
  // The second half of Open(): of a file that is not to be written, and of any.
  absl::Status OpenCopy(const std::filesystem::path& original, const OpenOptions& options);
  absl::Status BringUp(const OpenOptions& options);

  std::string name_;
  std::filesystem::path file_;
  std::filesystem::path temporary_folder_;  // Of ":memory:" and of a copy; empty otherwise.
  int version_found_ = 0;
  std::unique_ptr<FileLock> lock_;
  std::unique_ptr<sql::Connection> writer_;
  std::unique_ptr<ArtifactFiles> artifacts_;
  Synchronized<std::vector<std::unique_ptr<sql::Connection>>> idle_readers_;
};

// Removes artifact files that no row names any more (UnusedHashes), at most `limit`; how many. Called by the writer after a commit.
// `from`, if it is given, is where the last call ended, so that files which cannot be removed just now do not keep later ones from their
// turn. The first error, once all others have been tried.
absl::StatusOr<int> RemoveUnusedFiles(sql::Connection& writer, ArtifactFiles& files, int limit, std::string* from = nullptr);
// Removes files that are unsettled, unpinned and without a row: at start those of a process which ended, and whenever ArtifactFiles::LeftUnsettled()
// those of uploads that could not be recorded. Not while the last transaction could not be written: its rows may be on disk all the same, and be
// found there after a power loss. Those that it did not come to after an error are left unsettled.
absl::StatusOr<int> RemoveUnsettledFiles(sql::Connection& db, ArtifactFiles& files);

}  // namespace longreach::store
