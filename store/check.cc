#include <set>

#include <fmt/format.h>

#include "proto/base/sha256.h"
#include "store/maintenance.h"
#include "store/migrate.h"

namespace longreach::store {
namespace {

// Adds the rows of a query, the first column each, and says so when there are more than can be shown.
absl::Status AddRows(sql::Connection& db, std::string_view query, std::string_view expected, std::vector<std::string>& violations) {
  ASSIGN_OR_RETURN(sql::Rows rows, db.Query(query));
  int64_t count = 0;
  while (rows.Next()) {
    if (rows.Get<std::string_view>(0) == expected && !expected.empty()) continue;
    if (++count <= kMaxViolations) violations.push_back(rows.Get<std::string>(0));
  }
  RETURN_IF_ERROR(rows.status());
  if (count > kMaxViolations) violations.push_back(fmt::format("... and {} more of this kind", count - kMaxViolations));
  return absl::OkStatus();
}

absl::Status RunLedgerChecks(sql::Connection& db, std::vector<std::string>& violations) {
  constexpr std::string_view kMark = "-- check: ";
  std::string_view text = CheckSql();
  size_t at = text.find(kMark);
  while (at != std::string_view::npos) {
    text.remove_prefix(text.find('\n', at) + 1);
    at = text.find(kMark);
    RETURN_IF_ERROR(AddRows(db, text.substr(0, at), "", violations));
  }
  return absl::OkStatus();
}

// SQL has no SHA-256.
absl::Status CheckIds(sql::Connection& db, std::string_view table, std::vector<std::string>& violations) {
  ASSIGN_OR_RETURN(sql::Rows rows, db.Query(fmt::format("SELECT id, spec FROM {} ORDER BY num", table)));
  while (rows.Next()) {
    if (Sha256Of(rows.Get<std::string_view>(1)) == rows.Get<std::string_view>(0)) continue;
    violations.push_back(fmt::format("{}: the id {} is not the SHA-256 of its specification", table, rows.Get<std::string>(0)));
  }
  return rows.status();
}

absl::Status CheckFiles(sql::Connection& db, const ArtifactFiles& files, bool read, const std::stop_token& stop,
                        std::vector<std::string>& violations) {
  ASSIGN_OR_RETURN(sql::Rows rows,
                   db.Query("SELECT sha256, bytes, min(kind), count(*) FROM artifacts GROUP BY sha256, bytes ORDER BY sha256, bytes"));
  while (rows.Next()) {
    const auto hash = rows.Get<std::string>(0);
    const auto bytes = rows.Get<int64_t>(1);
    const std::string what = fmt::format("{} {} of {} jobs", rows.Get<std::string>(2), hash.substr(0, 8), rows.Get<int64_t>(3));
    if (!ArtifactFiles::IsHash(hash)) {
      violations.push_back(fmt::format("{}: '{}' is not a hash", what, hash));
      continue;
    }
    std::error_code error;
    const auto size = std::filesystem::file_size(files.PathOf(hash), error);
    if (error) {
      violations.push_back(fmt::format("{}: its file is missing ('{}')", what, files.PathOf(hash).string()));
    } else if (static_cast<int64_t>(size) != bytes) {
      violations.push_back(fmt::format("{}: its file has {} bytes instead of {}", what, size, bytes));
    } else if (read) {
      const absl::Status status = files.Verify(hash, stop);
      if (stop.stop_requested()) return sql::Stopped();
      if (!status.ok()) {
        violations.push_back(fmt::format("{}: {}", what, std::string(status.message())));
      }
    }
  }
  return rows.status();
}

absl::Status FindUnnamed(sql::Connection& db, const ArtifactFiles& files, std::vector<UnnamedFile>& unnamed) {
  const std::vector<std::string> marked = files.Unsettled();
  std::set<std::string> known(marked.begin(), marked.end());
  ASSIGN_OR_RETURN(sql::Rows rows, db.Query("SELECT sha256 FROM artifacts UNION SELECT sha256 FROM unused_files ORDER BY sha256"));
  while (rows.Next()) known.insert(rows.Get<std::string>(0));
  RETURN_IF_ERROR(rows.status());
  for (std::string& hash : files.List()) {
    if (known.contains(hash)) continue;
    std::error_code error;
    const auto bytes = std::filesystem::file_size(files.PathOf(hash), error);
    if (!error) unnamed.push_back({.sha256 = std::move(hash), .bytes = static_cast<int64_t>(bytes)});
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CheckReport> Check(sql::Connection& db, const ArtifactFiles& files, bool read_artifacts, const std::stop_token& stop) {
  CheckReport report;
  const sql::StopQueries stopping(db, stop);
  if (stop.stop_requested()) return sql::Stopped();
  RETURN_IF_ERROR(AddRows(db, fmt::format("PRAGMA integrity_check({})", kMaxViolations), "ok", report.violations));
  RETURN_IF_ERROR(AddRows(db, "SELECT \"table\" || ' row ' || ifnull(rowid, '(no number)') || ' refers to a row of ' || parent || "
                              "' that does not exist' FROM pragma_foreign_key_check ORDER BY 1",
                          "", report.violations));
  RETURN_IF_ERROR(RunLedgerChecks(db, report.violations));
  RETURN_IF_ERROR(CheckIds(db, "jobs", report.violations));
  RETURN_IF_ERROR(CheckIds(db, "sweeps", report.violations));
  RETURN_IF_ERROR(CheckFiles(db, files, read_artifacts, stop, report.violations));
  if (read_artifacts) RETURN_IF_ERROR(FindUnnamed(db, files, report.unnamed));
  ASSIGN_OR_RETURN(report.sweeps, db.One<int64_t>("SELECT count(*) FROM sweeps"));
  ASSIGN_OR_RETURN(report.jobs, db.One<int64_t>("SELECT count(*) FROM jobs"));
  ASSIGN_OR_RETURN(report.attempts, db.One<int64_t>("SELECT count(*) FROM attempts"));
  ASSIGN_OR_RETURN(report.measurements, db.One<int64_t>("SELECT count(*) FROM measurements"));
  ASSIGN_OR_RETURN(report.artifacts, db.One<int64_t>("SELECT count(*) FROM artifacts"));
  return report;
}

}  // namespace longreach::store
