#include "store/migrate.h"

#include <fmt/format.h>

#include "proto/base/sha256.h"
#include "store/maintenance.h"

namespace longreach::store {
namespace {

// Versions `first` to `last`, in one transaction.
absl::Status Apply(sql::Connection& db, int first, int last, std::span<const std::string_view> migrations) {
  ASSIGN_OR_RETURN(sql::Transaction tx, sql::Transaction::Begin(db));
  for (int version = first; version <= last; ++version) RETURN_IF_ERROR(db.Execute(migrations[static_cast<size_t>(version - 1)]));
  // A migration may rebuild tables, so references are looked at as a whole and not row by row.
  ASSIGN_OR_RETURN(int64_t dangling, db.One<int64_t>("SELECT count(*) FROM pragma_foreign_key_check"));
  if (dangling != 0) {
    return absl::DataLossError(
        fmt::format("{} rows would refer to rows that do not exist; nothing was changed", dangling));
  }
  RETURN_IF_ERROR(db.Execute(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", kApplicationId, last)));
  return tx.Commit();
}

absl::Status BackUpBefore(sql::Connection& db, int version) {
  const auto name = [&](int number) {
    return std::filesystem::path(fmt::format("{}.v{}.backup{}", db.file().string(), version, number == 1 ? "" : fmt::format(".{}", number)));
  };
  std::error_code error;
  int number = 1;
  while (std::filesystem::exists(name(number), error)) ++number;
  RETURN_IF_ERROR(CopyBeforeChange(db, name(number)).status());
  // The one before may be of an upgrade that did not come to its end, and the same.
  if (number > 1) {
    const absl::StatusOr<std::string> before = Sha256OfFile(name(number - 1)), now = Sha256OfFile(name(number));
    if (before.ok() && now.ok() && *before == *now) std::filesystem::remove(name(number), error);
  }
  return absl::OkStatus();
}

}  // namespace

int SchemaVersion() { return static_cast<int>(Migrations().size()); }

absl::StatusOr<int> FoundVersion(sql::Connection& db, int newest) {
  ASSIGN_OR_RETURN(int application, db.One<int>("PRAGMA application_id"));
  ASSIGN_OR_RETURN(int version, db.One<int>("PRAGMA user_version"));
  ASSIGN_OR_RETURN(int64_t objects, db.One<int64_t>("SELECT count(*) FROM sqlite_schema"));
  const std::string file = db.file().string();
  if (objects == 0 && application == 0 && version == 0) return 0;
  if (application != kApplicationId || version < 1) {
    return absl::FailedPreconditionError(fmt::format(
        "'{}' is an SQLite database, but not a store of Longreach; it was left as it is. Name another file", file));
  }
  if (version > newest) {
    return absl::FailedPreconditionError(fmt::format(
        "'{}' was written by a newer Longreach (store version {}; this one knows up to {}); it was left as it is. "
        "Use that version, or another file",
        file, version, newest));
  }
  return version;
}

absl::StatusOr<int> Migrate(sql::Connection& db, std::span<const std::string_view> migrations) {
  ASSIGN_OR_RETURN(int found, FoundVersion(db, static_cast<int>(migrations.size())));
  const int target = static_cast<int>(migrations.size());
  if (found == target) return found;
  if (found > 0) RETURN_IF_ERROR(BackUpBefore(db, found));
  RETURN_IF_ERROR(db.Execute("PRAGMA foreign_keys = OFF"));
  // In a new file there is nothing to stay at an earlier version, and each transaction waits four times for the disk.
  const int step = found == 0 ? target : 1;
  absl::Status status;
  for (int version = found + step; version <= target && status.ok(); version += step) {
    status = Apply(db, version - step + 1, version, migrations);
    if (!status.ok()) {
      const bool full = status.code() == absl::StatusCode::kResourceExhausted;
      status = absl::Status(status.code(), fmt::format("cannot bring '{}' to store version {}: {}{}", db.file().string(), version,
                                                       std::string(status.message()), full ? "; make room there, or name a store on another disk" : ""));
    }
  }
  RETURN_IF_ERROR(db.Execute("PRAGMA foreign_keys = ON"));
  RETURN_IF_ERROR(status);
  return found;
}

}  // namespace longreach::store
