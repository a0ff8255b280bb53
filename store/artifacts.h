// Artifacts: files named by their SHA-256 (artifact_files.h), and the rows that name them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/types/artifact_kind.h"
#include "store/sql/connection.h"

namespace longreach::store {

struct ArtifactRow {
  int64_t job = 0;
  ArtifactKind kind = ArtifactKind::kLog;
  int step = 0;
  int64_t attempt = 0;
  int member = 0;  // Position along the file's member axis.
  std::string sha256{};
  int64_t bytes = 0;
  WallTime created_at{};
};

// Adds a row for one member of a file that lies in the artifacts folder. The same again is OK and changes nothing; another
// file of the same (job, kind, step, attempt) replaces the row.
// A checkpoint raises the job's checkpoint_step, and only the newest kCheckpointsKept of the job keep their rows. Other files
// that no row names any more are removed by the caller: ask UnusedHashes() after the commit.
// `row.attempt` holds the job's lease. If its checkpoint is of a lower step than those of attempts before it, these were of no use to it
// (a damaged file, another build) and go, for training goes on behind them.
inline constexpr int kCheckpointsKept = 2;
absl::Status AddArtifact(sql::Transaction& tx, const ArtifactRow& row);
// The same of another store's attempt, whose number says nothing about what came first: the furthest checkpoints stay.
absl::Status CopyArtifact(sql::Transaction& tx, const ArtifactRow& row);

// Newest first (step, then attempt).
absl::StatusOr<std::vector<ArtifactRow>> CheckpointsOf(sql::Connection& db, int64_t job);
// The newest artifact of a kind (by attempt, then step).
absl::StatusOr<std::optional<ArtifactRow>> NewestArtifact(sql::Connection& db, int64_t job, ArtifactKind kind);
// The one that belongs to the job's result: made by the attempt whose result was accepted. `kind` is what an input calls it.
absl::StatusOr<std::optional<ArtifactRow>> ArtifactOfResult(sql::Connection& db, int64_t job, std::string_view kind);
// Ascending by kind, step, attempt.
absl::StatusOr<std::vector<ArtifactRow>> ArtifactsOf(sql::Connection& db, int64_t job);
// Bytes of all files that rows name, each once. Reads every row.
absl::StatusOr<double> BytesOfAllArtifacts(sql::Connection& db);
// The same of one job, by its id; of a file that several jobs share, each bears its part.
absl::StatusOr<double> BytesOfJob(sql::Connection& db, std::string_view job);
absl::StatusOr<bool> HashIsUsed(sql::Connection& db, std::string_view sha256);

// Removes the rows of a job's checkpoints.
absl::Status RemoveCheckpoints(sql::Transaction& tx, int64_t job);
// Of a job whose result is that of `attempt`: what others left of theirs goes, and so do checkpoints; logs stay. The job's checkpoint_step
// is the caller's.
absl::Status KeepFilesOfResult(sql::Transaction& tx, int64_t job, int64_t attempt);

// Hashes whose last row went away in committed transactions since the rows of `unused_files` were last cleared: the table is filled
// by a trigger, so no path forgets it. At most `limit`, ascending from the first that is not below `from`; the lowest follow the highest.
absl::StatusOr<std::vector<std::string>> UnusedHashes(sql::Connection& db, int limit, const std::string& from = "");
// Of a file that was put into the folder and whose rows were refused: it is unused unless a row names it after all.
absl::Status NoteUnnamed(sql::Transaction& tx, std::string_view sha256);
// The file is gone (or is used again): forget it.
absl::Status ForgetUnused(sql::Transaction& tx, std::string_view sha256);

}  // namespace longreach::store
