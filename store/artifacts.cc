#include "store/artifacts.h"

#include <fmt/format.h>

#include "store/job_row.h"

namespace longreach::store {
namespace {

constexpr std::string_view kColumns = "job, kind, step, attempt, member, sha256, bytes, created_at";

std::string SelectArtifacts(std::string_view rest) { return fmt::format("SELECT {} FROM artifacts {}", kColumns, rest); }

absl::StatusOr<std::vector<ArtifactRow>> ReadArtifacts(sql::Rows rows) {
  std::vector<ArtifactRow> artifacts;
  while (rows.Next()) {
    const std::optional<ArtifactKind> kind = ParseArtifactKind(rows.Get<std::string_view>(1));
    if (!kind) return absl::DataLossError(fmt::format("an artifact has the kind '{}'", rows.Get<std::string_view>(1)));
    artifacts.push_back({.job = rows.Get<int64_t>(0),
                         .kind = *kind,
                         .step = rows.Get<int>(2),
                         .attempt = rows.Get<int64_t>(3),
                         .member = rows.Get<int>(4),
                         .sha256 = rows.Get<std::string>(5),
                         .bytes = rows.Get<int64_t>(6),
                         .created_at = rows.Get<WallTime>(7)});
  }
  RETURN_IF_ERROR(rows.status());
  return artifacts;
}

absl::StatusOr<std::optional<ArtifactRow>> FirstArtifact(absl::StatusOr<sql::Rows> rows) {
  RETURN_IF_ERROR(rows.status());
  ASSIGN_OR_RETURN(std::vector<ArtifactRow> found, ReadArtifacts(*std::move(rows)));
  if (found.empty()) return std::nullopt;
  return std::move(found[0]);
}

// Two attempts may have made a checkpoint of the same step; only the later one's is kept, so that the two that stay are of
// different steps.
absl::Status PruneCheckpoints(sql::Transaction& tx, int64_t job) {
  RETURN_IF_ERROR(tx.Run("DELETE FROM artifacts WHERE job = ? AND kind = 'checkpoint' AND EXISTS (SELECT 1 FROM artifacts AS later "
                         "WHERE later.job = artifacts.job AND later.kind = 'checkpoint' AND later.step = artifacts.step "
                         "AND later.attempt > artifacts.attempt)",
                         job)
                      .status());
  return tx.Run("DELETE FROM artifacts WHERE job = ? AND kind = 'checkpoint' AND step NOT IN (SELECT step FROM artifacts "
                "WHERE job = ? AND kind = 'checkpoint' ORDER BY step DESC LIMIT ?)",
                job, job, kCheckpointsKept)
      .status();
}

absl::Status InsertArtifact(sql::Transaction& tx, const ArtifactRow& row) {
  return tx.Run("INSERT INTO artifacts(job, kind, step, attempt, member, sha256, bytes, created_at) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT(job, kind, step, attempt) DO UPDATE SET "
                "member = excluded.member, sha256 = excluded.sha256, bytes = excluded.bytes "
                "WHERE sha256 <> excluded.sha256 OR member <> excluded.member",
                row.job, Word(row.kind), row.step, row.attempt, row.member, row.sha256, row.bytes, row.created_at)
      .status();
}

absl::Status KeepNewestCheckpoints(sql::Transaction& tx, int64_t job) {
  RETURN_IF_ERROR(PruneCheckpoints(tx, job));
  return tx.Run("UPDATE jobs SET checkpoint_step = (SELECT max(step) FROM artifacts WHERE job = jobs.num AND kind = 'checkpoint') "
                "WHERE num = ?",
                job)
      .status();
}

}  // namespace

absl::Status AddArtifact(sql::Transaction& tx, const ArtifactRow& row) {
  RETURN_IF_ERROR(InsertArtifact(tx, row));
  if (row.kind != ArtifactKind::kCheckpoint) return absl::OkStatus();
  // It was given the furthest checkpoint and is not as far: it could not use that. While that stayed, none of its own would be kept.
  RETURN_IF_ERROR(tx.Run("DELETE FROM artifacts WHERE job = ? AND kind = 'checkpoint' AND attempt < ? AND step > ?", row.job, row.attempt, row.step)
                      .status());
  return KeepNewestCheckpoints(tx, row.job);
}

absl::Status CopyArtifact(sql::Transaction& tx, const ArtifactRow& row) {
  RETURN_IF_ERROR(InsertArtifact(tx, row));
  return row.kind == ArtifactKind::kCheckpoint ? KeepNewestCheckpoints(tx, row.job) : absl::OkStatus();
}

absl::StatusOr<std::vector<ArtifactRow>> CheckpointsOf(sql::Connection& db, int64_t job) {
  static const std::string kSql = SelectArtifacts("WHERE job = ? AND kind = 'checkpoint' ORDER BY step DESC, attempt DESC");
  ASSIGN_OR_RETURN(sql::Rows rows, db.Query(kSql, job));
  return ReadArtifacts(std::move(rows));
}

absl::StatusOr<std::optional<ArtifactRow>> NewestArtifact(sql::Connection& db, int64_t job, ArtifactKind kind) {
  static const std::string kSql = SelectArtifacts("WHERE job = ? AND kind = ? ORDER BY attempt DESC, step DESC LIMIT 1");
  return FirstArtifact(db.Query(kSql, job, Word(kind)));
}

absl::StatusOr<std::optional<ArtifactRow>> ArtifactOfResult(sql::Connection& db, int64_t job, std::string_view kind) {
  static const std::string kSql = SelectArtifacts("WHERE job = ? AND kind = ? AND attempt = (SELECT j.attempt FROM jobs AS j WHERE j.num = job "
                                                  "AND j.state = 'succeeded') ORDER BY step DESC LIMIT 1");
  return FirstArtifact(db.Query(kSql, job, kind));
}

absl::StatusOr<std::vector<ArtifactRow>> ArtifactsOf(sql::Connection& db, int64_t job) {
  static const std::string kSql = SelectArtifacts("WHERE job = ? ORDER BY kind, step, attempt");
  ASSIGN_OR_RETURN(sql::Rows rows, db.Query(kSql, job));
  return ReadArtifacts(std::move(rows));
}

absl::StatusOr<double> BytesOfAllArtifacts(sql::Connection& db) {
  return db.One<double>("SELECT total(bytes) FROM (SELECT max(bytes) AS bytes FROM artifacts GROUP BY sha256)");
}

absl::StatusOr<double> BytesOfJob(sql::Connection& db, std::string_view job) {
  static const std::string kSql = fmt::format(
      "SELECT total(CAST(artifacts.bytes AS REAL) / (SELECT count(*) FROM artifacts AS shared WHERE shared.sha256 = artifacts.sha256)) "
      "FROM artifacts JOIN jobs AS j ON j.num = artifacts.job {}",
      kWithId);
  return db.One<double>(kSql, job);
}

absl::StatusOr<bool> HashIsUsed(sql::Connection& db, std::string_view sha256) {
  return db.One<bool>("SELECT EXISTS (SELECT 1 FROM artifacts WHERE sha256 = ?)", sha256);
}

absl::Status KeepFilesOfResult(sql::Transaction& tx, int64_t job, int64_t attempt) {
  return tx.Run("DELETE FROM artifacts WHERE job = ? AND (kind = 'checkpoint' OR (kind <> 'log' AND attempt <> ?))", job, attempt).status();
}

absl::Status RemoveCheckpoints(sql::Transaction& tx, int64_t job) {
  RETURN_IF_ERROR(tx.Run("DELETE FROM artifacts WHERE job = ? AND kind = 'checkpoint'", job).status());
  return tx.Run("UPDATE jobs SET checkpoint_step = 0 WHERE num = ? AND checkpoint_step <> 0", job).status();
}

absl::StatusOr<std::vector<std::string>> UnusedHashes(sql::Connection& db, int limit, const std::string& from) {
  std::vector<std::string> hashes;
  for (const char* query : {"SELECT sha256 FROM unused_files WHERE sha256 >= ? ORDER BY sha256 LIMIT ?",
                            "SELECT sha256 FROM unused_files WHERE sha256 < ? ORDER BY sha256 LIMIT ?"}) {
    ASSIGN_OR_RETURN(const std::vector<std::string> some, db.All<std::string>(query, from, limit - static_cast<int>(hashes.size())));
    hashes.insert(hashes.end(), some.begin(), some.end());
  }
  return hashes;
}

absl::Status NoteUnnamed(sql::Transaction& tx, std::string_view sha256) {
  return tx.Run("INSERT OR IGNORE INTO unused_files(sha256) SELECT ? WHERE NOT EXISTS (SELECT 1 FROM artifacts WHERE sha256 = ?)", sha256, sha256)
      .status();
}

absl::Status ForgetUnused(sql::Transaction& tx, std::string_view sha256) {
  return tx.Run("DELETE FROM unused_files WHERE sha256 = ?", sha256).status();
}

}  // namespace longreach::store
