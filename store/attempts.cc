#include "store/attempts.h"

#include <fmt/format.h>

#include "store/job_row.h"

namespace longreach::store {
namespace {

// `from`: an expression.
std::string SelectAttempts(std::string_view rest, std::string_view from = "NULL") {
  return "SELECT a.id, a.worker, w.name, a.incarnation, a.started_at, a.ended_at, a.outcome, a.detail, a.build, a.device, a.engine, "
         "a.threads, a.members, a.start_step, a.step, a.device_id, " +
         std::string(from) + " FROM attempts AS a JOIN workers AS w ON w.id = a.worker " + std::string(rest);
}

AttemptRow ReadAttempt(const sql::Rows& rows) {
  return {.id = rows.Get<int64_t>(0),
          .worker = rows.Get<std::string>(1),
          .worker_name = rows.Get<std::string>(2),
          .incarnation = rows.Get<uint64_t>(3),
          .started_at = rows.Get<WallTime>(4),
          .ended_at = rows.Get<std::optional<WallTime>>(5),
          .outcome = rows.IsNull(6) ? std::nullopt : ParseOutcome(rows.Get<std::string_view>(6)),
          .detail = rows.Get<std::string>(7),
          .build = rows.Get<std::string>(8),
          .device = rows.Get<std::string>(9),
          .engine = rows.Get<std::string>(10),
          .threads = rows.Get<int>(11),
          .members = rows.Get<int>(12),
          .start_step = rows.Get<int>(13),
          .step = rows.Get<int>(14),
          .from_attempt = rows.Get<std::optional<int64_t>>(16),
          .device_id = rows.Get<std::string>(15)};
}

absl::StatusOr<std::vector<AttemptRow>> ReadAttempts(sql::Rows rows) {
  std::vector<AttemptRow> attempts;
  while (rows.Next()) attempts.push_back(ReadAttempt(rows));
  RETURN_IF_ERROR(rows.status());
  return attempts;
}

}  // namespace

absl::StatusOr<int64_t> StartAttempt(sql::Transaction& tx, const NewAttempt& attempt, std::span<const int64_t> jobs) {
  if (jobs.empty()) return absl::InternalError("an attempt without jobs");
  RETURN_IF_ERROR(tx.Run("INSERT INTO attempts(worker, incarnation, started_at, build, device, device_id, threads, members, start_step, step) "
                         "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                         attempt.worker, attempt.incarnation, attempt.started_at, attempt.build, attempt.device, attempt.device_id,
                         attempt.threads, jobs.size(), attempt.start_step, attempt.start_step)
                      .status());
  const int64_t id = tx.connection().LastInsertRow();
  for (size_t member = 0; member < jobs.size(); ++member) {
    // The first of CheckpointsOf(), which its lease names. One of step 0 is of use to jobs alone that are only tested.
    RETURN_IF_ERROR(tx.Run("INSERT INTO attempt_jobs(attempt, member, job, from_attempt) VALUES (?, ?, ?, (SELECT f.attempt FROM jobs AS j "
                           "CROSS JOIN artifacts AS f ON f.job = j.num AND f.kind = 'checkpoint' WHERE j.num = ? AND (j.checkpoint_step > 0 OR j.steps = 0) "
                           "ORDER BY f.step DESC, f.attempt DESC LIMIT 1))",
                           id, member, jobs[member], jobs[member])
                        .status());
  }
  RETURN_IF_ERROR(LeaseJobs(tx, id, jobs));
  return id;
}

absl::StatusOr<std::optional<AttemptRow>> FindAttempt(sql::Connection& db, int64_t id) {
  static const std::string kSql = SelectAttempts("WHERE a.id = ?");
  ASSIGN_OR_RETURN(sql::Rows rows, db.Query(kSql, id));
  if (rows.Next()) return ReadAttempt(rows);
  RETURN_IF_ERROR(rows.status());
  return std::nullopt;
}

absl::StatusOr<std::vector<AttemptMember>> MembersOf(sql::Connection& db, int64_t attempt) {
  ASSIGN_OR_RETURN(sql::Rows rows, db.Query("SELECT aj.member, aj.job, j.id, j.steps, aj.dropped, aj.from_attempt FROM attempt_jobs AS aj "
                                            "JOIN jobs AS j ON j.num = aj.job WHERE aj.attempt = ? ORDER BY aj.member",
                                            attempt));
  std::vector<AttemptMember> members;
  while (rows.Next()) {
    members.push_back({.member = rows.Get<int>(0),
                       .job = rows.Get<int64_t>(1),
                       .id = rows.Get<std::string>(2),
                       .steps = rows.Get<int>(3),
                       .dropped = rows.Get<bool>(4),
                       .from_attempt = rows.Get<std::optional<int64_t>>(5)});
  }
  RETURN_IF_ERROR(rows.status());
  return members;
}

absl::StatusOr<std::vector<JobRow>> JobsOfAttempt(sql::Connection& db, int64_t attempt) {
  static const std::string kSql =
      SelectJobs("JOIN attempt_jobs AS aj ON aj.job = j.num WHERE aj.attempt = ? AND aj.dropped = 0 ORDER BY aj.member");
  ASSIGN_OR_RETURN(sql::Rows rows, db.Query(kSql, attempt));
  return ReadJobs(std::move(rows));
}

absl::StatusOr<std::vector<AttemptRow>> UnfinishedAttempts(sql::Connection& db, std::string_view worker) {
  static const std::string kSql = SelectAttempts("WHERE a.worker = ? AND a.ended_at IS NULL ORDER BY a.id");
  ASSIGN_OR_RETURN(sql::Rows rows, db.Query(kSql, worker));
  return ReadAttempts(std::move(rows));
}

absl::StatusOr<std::vector<AttemptRow>> UnfinishedAttempts(sql::Connection& db) {
  static const std::string kSql = SelectAttempts("WHERE a.ended_at IS NULL ORDER BY a.id");
  ASSIGN_OR_RETURN(sql::Rows rows, db.Query(kSql));
  return ReadAttempts(std::move(rows));
}

absl::StatusOr<std::vector<AttemptRow>> AttemptsOfJob(sql::Connection& db, int64_t job) {
  static const std::string kSql =
      SelectAttempts("JOIN attempt_jobs AS aj ON aj.attempt = a.id WHERE aj.job = ? ORDER BY a.id DESC", "aj.from_attempt");
  ASSIGN_OR_RETURN(sql::Rows rows, db.Query(kSql, job));
  return ReadAttempts(std::move(rows));
}

absl::StatusOr<std::vector<MeasuredAttempt>> MeasuredAttempts(sql::Connection& db, int limit) {
  // What a worker does at once began close together: as many attempts before and after are looked at as all of its packs are, and more.
  ASSIGN_OR_RETURN(sql::Rows rows,
                   db.Query("SELECT a.worker, (a.ended_at - a.started_at) / 1000000.0, a.members, j.spec, "
                            "(SELECT sum(max(0, min(ifnull(b.ended_at, a.ended_at), a.ended_at) - max(b.started_at, a.started_at))) FROM attempts AS b "
                            "WHERE b.id BETWEEN a.id - 128 AND a.id + 128 AND b.worker = a.worker) * 1.0 / (a.ended_at - a.started_at) FROM attempts AS a "
                            "JOIN attempt_jobs AS aj ON aj.attempt = a.id AND aj.member = 0 JOIN jobs AS j ON j.num = aj.job "
                            "WHERE a.outcome = 'succeeded' AND a.start_step = 0 AND a.ended_at > a.started_at "
                            "ORDER BY a.id DESC LIMIT ?",
                            limit));
  std::vector<MeasuredAttempt> measured;
  while (rows.Next()) {
    measured.push_back({.worker = rows.Get<std::string>(0),
                        .seconds = rows.Get<double>(1),
                        .at_once = rows.Get<double>(4),
                        .members = rows.Get<int>(2),
                        .spec = rows.Get<std::string>(3)});
  }
  RETURN_IF_ERROR(rows.status());
  return measured;
}

absl::Status DropMember(sql::Transaction& tx, int64_t attempt, int64_t job) {
  return ExactlyOne(tx.Run("UPDATE attempt_jobs SET dropped = 1 WHERE attempt = ? AND job = ?", attempt, job),
                    fmt::format("job {} is no member of attempt {}", job, attempt));
}

absl::Status SetAttemptStep(sql::Transaction& tx, int64_t attempt, int step) {
  return tx.Run("UPDATE attempts SET step = ? WHERE id = ? AND ended_at IS NULL AND step < ?", step, attempt, step).status();
}

absl::Status SetAttemptStart(sql::Transaction& tx, int64_t attempt, int step) {
  ASSIGN_OR_RETURN(const int changed, tx.Run("UPDATE attempts SET start_step = ?, step = ? WHERE id = ? AND ended_at IS NULL AND start_step > ?", step, step, attempt, step));
  if (changed == 0) return absl::OkStatus();
  return tx.Run("UPDATE attempt_jobs SET from_attempt = (SELECT max(f.attempt) FROM artifacts AS f WHERE f.job = attempt_jobs.job AND f.kind = 'checkpoint' AND f.step = ? "
                "AND f.step > 0 AND f.attempt < attempt_jobs.attempt) WHERE attempt = ?",
                step, attempt)
      .status();
}

absl::Status EndAttempt(sql::Transaction& tx, int64_t attempt, Outcome outcome, std::string_view detail,
                        std::string_view engine, WallTime at) {
  return ExactlyOne(tx.Run("UPDATE attempts SET ended_at = max(?, started_at), outcome = ?, detail = ?, engine = ? "
                           "WHERE id = ? AND ended_at IS NULL AND NOT EXISTS "
                           "(SELECT 1 FROM jobs WHERE attempt = attempts.id AND state = 'leased')",
                           at, Word(outcome), detail, engine, attempt),
                    fmt::format("attempt {} has ended before, or a job is still leased to it", attempt));
}

}  // namespace longreach::store
