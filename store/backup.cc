#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <sqlite3.h>

#include "store/artifacts_folder.h"
#include "store/maintenance.h"
#include "store/place_new.h"

namespace longreach::store {
namespace {

absl::Status SyncFile(const std::filesystem::path& file) {
  const int fd = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return absl::UnavailableError(fmt::format("cannot open '{}': {}", file.string(), std::strerror(errno)));
  const bool synced = fsync(fd) == 0;
  const int error = errno;
  close(fd);
  if (!synced) return absl::UnavailableError(fmt::format("cannot sync '{}': {}", file.string(), std::strerror(error)));
  return absl::OkStatus();
}

// An empty file for the copy. SQLite, which takes it for a database to come, would say only that it cannot open it; the system says why.
absl::Status MakeEmpty(const std::filesystem::path& file, const std::filesystem::path& target, bool elsewhere) {
  const int fd = open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) {
    const int reason = errno;
    const bool forbidden = reason == EACCES || reason == EPERM || reason == EROFS;
    const auto code = reason == ENOSPC || reason == EDQUOT ? absl::StatusCode::kResourceExhausted : absl::StatusCode::kFailedPrecondition;
    return {code, fmt::format("cannot make '{}': {}{}", target.string(), std::strerror(reason),
                              forbidden && elsewhere ? "; name a file in a folder that the scheduler's user may write" : "")};
  }
  close(fd);
  return absl::OkStatus();
}

// So many pages, some 40 MB, before it is looked whether to stop.
constexpr int kPagesAtOnce = 10'000;

// Copies all pages as they are in the transaction that `db` has begun; readers and the writer of the file go on (WAL).
absl::Status CopyPages(sql::Connection& db, const std::filesystem::path& target, bool elsewhere, const std::stop_token& stop) {
  // A transaction is of the moment of its first look at the file. Between steps it goes on, so the copy is of that moment too.
  RETURN_IF_ERROR(db.One<int64_t>("SELECT count(*) FROM sqlite_schema").status());
  ASSIGN_OR_RETURN(sql::Connection copy, sql::Connection::Open(target, sql::Mode::kReadWriteCreate));
  sqlite3_backup* backup = sqlite3_backup_init(copy.raw(), "main", db.raw(), "main");
  const std::string what = fmt::format("cannot write '{}'", target.string());
  if (backup == nullptr) return sql::StatusOfCode(sqlite3_extended_errcode(copy.raw()), sqlite3_errmsg(copy.raw()), what);
  int step = SQLITE_OK;
  while (step == SQLITE_OK && !stop.stop_requested()) step = sqlite3_backup_step(backup, kPagesAtOnce);
  const int finish = sqlite3_backup_finish(backup);
  if (step == SQLITE_OK) return sql::Stopped();
  if (step != SQLITE_DONE) return sql::StatusOfCode(step, sqlite3_errstr(step), what);
  if (finish != SQLITE_OK) return sql::StatusOfCode(finish, sqlite3_errstr(finish), what);
  // The copy is one file: without this it would begin its life in WAL mode, as the original.
  RETURN_IF_ERROR(copy.Run("PRAGMA journal_mode = DELETE").status());
  return elsewhere ? ForgetFolder(copy) : absl::OkStatus();
}

absl::Status CopyOfOneMoment(sql::Connection& db, const std::filesystem::path& target, bool elsewhere, const std::stop_token& stop) {
  if (!db.InAutocommit()) return CopyPages(db, target, elsewhere, stop);
  RETURN_IF_ERROR(db.Run("BEGIN").status());
  absl::Status status = CopyPages(db, target, elsewhere, stop);
  status.Update(db.Run("ROLLBACK").status());
  return status;
}

absl::StatusOr<int64_t> Copy(sql::Connection& db, const std::filesystem::path& target, bool elsewhere, const std::stop_token& stop) {
  const absl::Status exists = absl::AlreadyExistsError(
      fmt::format("there is a file '{}' already; it was left as it is. Name another one", target.string()));
  std::error_code error;
  if (std::filesystem::is_directory(target, error)) {
    return absl::AlreadyExistsError(fmt::format("'{}' is a folder; name a file in it, which is not there yet", target.string()));
  }
  if (std::filesystem::exists(std::filesystem::symlink_status(target, error))) return exists;
  const std::filesystem::path folder = target.has_parent_path() ? target.parent_path() : ".";
  if (!std::filesystem::is_directory(folder, error)) {
    return absl::FailedPreconditionError(fmt::format("there is no folder '{}' for the backup; make it, or name another", folder.string()));
  }
  // Another backup to the same name may run beside this one.
  static std::atomic<uint64_t> counter = 0;
  std::filesystem::path beside = target;
  beside += fmt::format(".{}-{}.part", getpid(), counter++);
  std::filesystem::remove(beside, error);
  RETURN_IF_ERROR(MakeEmpty(beside, target, elsewhere));
  absl::Status status = CopyOfOneMoment(db, beside, elsewhere, stop);
  // Only the copy is written, and "the disk" would be taken for that of the store.
  if (absl::IsResourceExhausted(status) && !sql::DiskTrouble(status).empty()) {
    status = absl::ResourceExhaustedError(
        fmt::format("there is no room for the copy '{}'; {}", target.string(), elsewhere ? "make some on its disk, or name a file on another one" : "make some there"));
  }
  if (status.ok()) status = SyncFile(beside);
  if (status.ok()) {
    const int reason = PlaceNew(beside, target);
    if (reason == EEXIST) status = exists;
    else if (reason != 0) status = absl::FailedPreconditionError(fmt::format("cannot make '{}': {}", target.string(), std::strerror(reason)));
  }
  std::filesystem::remove(beside, error);
  RETURN_IF_ERROR(status);
  RETURN_IF_ERROR(SyncFile(folder));
  const auto bytes = static_cast<int64_t>(std::filesystem::file_size(target, error));
  if (error) return absl::UnavailableError(fmt::format("cannot look at '{}': {}", target.string(), error.message()));
  return bytes;
}

}  // namespace

absl::StatusOr<int64_t> Backup(sql::Connection& db, const std::filesystem::path& target, const std::stop_token& stop) {
  return Copy(db, target, /*elsewhere=*/true, stop);
}

absl::StatusOr<int64_t> CopyBeforeChange(sql::Connection& db, const std::filesystem::path& target, const std::stop_token& stop) {
  return Copy(db, target, /*elsewhere=*/false, stop);
}

}  // namespace longreach::store
