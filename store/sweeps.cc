#include "store/sweeps.h"

#include <fmt/format.h>

#include "proto/base/text.h"
#include "store/job_row.h"
#include "store/reference.h"

namespace longreach::store {
namespace {

std::string SelectSweeps(std::string_view rest) {
  return "SELECT num, id, name, spec, priority, state, submitted_at, asked_at, jobs_waiting, jobs_queued, jobs_leased, "
         "jobs_succeeded, jobs_failed, jobs_cancelled, jobs_diverged, jobs_to_come, unsettled_from, expected_seconds, expected_at FROM sweeps " +
         std::string(rest);
}

SweepRow ReadSweep(const sql::Rows& rows) {
  SweepRow sweep{
          .num = rows.Get<int64_t>(0),
          .id = rows.Get<std::string>(1),
          .name = rows.Get<std::string>(2),
          .spec = rows.Get<std::string>(3),
          .priority = rows.Get<int>(4),
          .state = ParseSweepState(rows.Get<std::string_view>(5)).value_or(SweepState::kPaused),  // The schema admits no other.
          .submitted_at = rows.Get<WallTime>(6),
          .asked_at = rows.Get<WallTime>(7),
          .counts = {.waiting = rows.Get<int>(8),
                     .queued = rows.Get<int>(9),
                     .leased = rows.Get<int>(10),
                     .succeeded = rows.Get<int>(11),
                     .failed = rows.Get<int>(12),
                     .cancelled = rows.Get<int>(13),
                     .diverged = rows.Get<int>(14)},
          .to_come = rows.Get<int64_t>(15),
          .unsettled_from = rows.Get<std::optional<int64_t>>(16)};
  if (!rows.IsNull(17)) sweep.expected = {.seconds = rows.Get<double>(17), .made_at = rows.Get<WallTime>(18)};
  (sweep.state == SweepState::kCancelled ? sweep.counts.cancelled : sweep.counts.waiting) += static_cast<int>(sweep.to_come);
  return sweep;
}

absl::StatusOr<std::vector<SweepRow>> ReadSweeps(sql::Rows rows) {
  std::vector<SweepRow> sweeps;
  while (rows.Next()) sweeps.push_back(ReadSweep(rows));
  RETURN_IF_ERROR(rows.status());
  return sweeps;
}

absl::StatusOr<std::optional<SweepRow>> ReadFirst(sql::Rows rows) {
  if (rows.Next()) return ReadSweep(rows);
  RETURN_IF_ERROR(rows.status());
  return std::nullopt;
}

}  // namespace

absl::StatusOr<int64_t> InsertSweep(sql::Transaction& tx, const NewSweep& sweep) {
  ASSIGN_OR_RETURN(const std::optional<int64_t> newest, tx.connection().First<int64_t>("SELECT asked_at FROM sweeps ORDER BY asked_at DESC LIMIT 1"));
  const int64_t now = sweep.submitted_at.time_since_epoch().count();
  int64_t asked_at = now;
  if (newest) asked_at = sweep.aside ? *newest - 1 : std::max(now, *newest + 1);
  RETURN_IF_ERROR(tx.Run("INSERT INTO sweeps(id, name, submitted_at, asked_at, priority, state, spec, jobs_to_come, table_spec) VALUES (?, ?, ?, ?, ?, 'live', ?, ?, ?)",
                         sweep.id, sweep.name, sweep.submitted_at, asked_at, sweep.priority, sweep.spec, sweep.jobs, sweep.table)
                      .status());
  return tx.connection().LastInsertRow();
}

absl::Status CountMembers(sql::Transaction& tx, int64_t sweep, int64_t first) {
  return tx.Run("UPDATE sweeps SET jobs_to_come = jobs_to_come - c.jobs, jobs_waiting = jobs_waiting + c.waiting, "
                "jobs_queued = jobs_queued + c.queued, jobs_leased = jobs_leased + c.leased, jobs_succeeded = jobs_succeeded + c.succeeded, "
                "jobs_failed = jobs_failed + c.failed, jobs_cancelled = jobs_cancelled + c.cancelled, jobs_diverged = jobs_diverged + c.diverged "
                "FROM (SELECT count(*) AS jobs, count(*) FILTER (WHERE j.state = 'waiting') AS waiting, count(*) FILTER (WHERE j.state = 'queued') AS queued, "
                "count(*) FILTER (WHERE j.state = 'leased') AS leased, count(*) FILTER (WHERE j.state = 'succeeded') AS succeeded, "
                "count(*) FILTER (WHERE j.state = 'failed') AS failed, count(*) FILTER (WHERE j.state = 'cancelled') AS cancelled, "
                "ifnull(sum(j.diverged), 0) AS diverged FROM sweep_jobs AS sj JOIN jobs AS j ON j.num = sj.job "
                "WHERE sj.sweep = ? AND sj.role = 'member' AND sj.position >= ?) AS c WHERE sweeps.num = ?",
                sweep, first, sweep)
      .status();
}

absl::Status AddSweepJobs(sql::Transaction& tx, int64_t sweep, std::span<const int64_t> members,
                          std::span<const int64_t> prerequisites) {
  ASSIGN_OR_RETURN(const SweepRow before, GetSweep(tx, sweep));
  int64_t position = before.there();
  for (const int64_t job : members) {
    RETURN_IF_ERROR(tx.Run("INSERT INTO sweep_jobs(sweep, role, position, job) VALUES (?, 'member', ?, ?)", sweep, position++,
                           job)
                        .status());
  }
  RETURN_IF_ERROR(CountMembers(tx, sweep, before.there()));
  ASSIGN_OR_RETURN(position, tx.One<int64_t>("SELECT ifnull(max(position) + 1, 0) FROM sweep_jobs WHERE sweep = ? AND role = 'prerequisite'", sweep));
  for (const int64_t job : prerequisites) {
    ASSIGN_OR_RETURN(bool has, tx.One<bool>("SELECT EXISTS (SELECT 1 FROM sweep_jobs WHERE job = ? AND sweep = ?)", job, sweep));
    if (has) continue;
    RETURN_IF_ERROR(tx.Run("INSERT INTO sweep_jobs(sweep, role, position, job) VALUES (?, 'prerequisite', ?, ?)", sweep,
                           position++, job)
                        .status());
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<SweepRow>> FindSweep(sql::Connection& db, std::string_view id) {
  static const std::string kSql = SelectSweeps("WHERE id = ?");
  ASSIGN_OR_RETURN(sql::Rows rows, db.Query(kSql, id));
  return ReadFirst(std::move(rows));
}

absl::StatusOr<SweepRow> GetSweep(sql::Connection& db, int64_t num) {
  static const std::string kSql = SelectSweeps("WHERE num = ?");
  ASSIGN_OR_RETURN(sql::Rows rows, db.Query(kSql, num));
  ASSIGN_OR_RETURN(std::optional<SweepRow> sweep, ReadFirst(std::move(rows)));
  if (!sweep.has_value()) return absl::NotFoundError(fmt::format("there is no sweep with the number {}", num));
  return *std::move(sweep);
}

absl::StatusOr<std::vector<SweepRow>> ListSweeps(sql::Connection& db) {
  static const std::string kSql = SelectSweeps("ORDER BY asked_at DESC, num DESC");
  ASSIGN_OR_RETURN(sql::Rows rows, db.Query(kSql));
  return ReadSweeps(std::move(rows));
}

absl::StatusOr<std::vector<int64_t>> UnfinishedSweeps(sql::Connection& db) {
  return db.All<int64_t>("SELECT num FROM sweeps WHERE unsettled_from IS NOT NULL OR (jobs_to_come > 0 AND state <> 'cancelled') ORDER BY num");
}

absl::StatusOr<std::vector<int64_t>> OpenSweeps(sql::Connection& db) {
  return db.All<int64_t>("SELECT num FROM sweeps WHERE jobs_waiting + jobs_queued + jobs_leased + jobs_to_come > 0 AND state <> 'cancelled' ORDER BY num");
}

absl::StatusOr<std::vector<int64_t>> SweepsThatWait(sql::Connection& db) {
  return db.All<int64_t>("SELECT num FROM sweeps WHERE state = 'live' AND jobs_queued > 0 "
                         "AND NOT EXISTS (SELECT 1 FROM attempts WHERE ended_at IS NULL) ORDER BY priority DESC, num");
}

absl::StatusOr<std::vector<SweepRow>> SweepsOfJob(sql::Connection& db, int64_t job) {
  static const std::string kSql =
      SelectSweeps("WHERE num IN (SELECT sweep FROM sweep_jobs WHERE job = ?) ORDER BY asked_at DESC, num DESC");
  ASSIGN_OR_RETURN(sql::Rows rows, db.Query(kSql, job));
  return ReadSweeps(std::move(rows));
}

absl::StatusOr<std::optional<int64_t>> PositionInSweep(sql::Connection& db, int64_t sweep, int64_t job) {
  return db.First<int64_t>("SELECT position FROM sweep_jobs WHERE sweep = ? AND job = ? AND role = 'member'", sweep, job);
}

absl::StatusOr<SweepRow> NewestSweep(sql::Connection& db, std::string_view reference) {
  static const std::string kLast = SelectSweeps("ORDER BY asked_at DESC, num DESC LIMIT 1");
  static const std::string kNamed = SelectSweeps("WHERE name = ? ORDER BY asked_at DESC, num DESC LIMIT 1");
  static const std::string kPrefix = SelectSweeps("WHERE id >= ? AND id < ? ORDER BY id LIMIT 3");
  if (reference.empty()) {
    return absl::InvalidArgumentError("no sweep named; give an id, the beginning of one, a name, or 'last'");
  }
  if (reference == "last") {
    ASSIGN_OR_RETURN(sql::Rows rows, db.Query(kLast));
    ASSIGN_OR_RETURN(std::optional<SweepRow> sweep, ReadFirst(std::move(rows)));
    if (!sweep.has_value()) return absl::NotFoundError("there is no sweep yet; 'longreach submit SPEC' makes one");
    return *std::move(sweep);
  }
  // A name before the beginning of an id: people give names on purpose.
  ASSIGN_OR_RETURN(sql::Rows named, db.Query(kNamed, reference));
  ASSIGN_OR_RETURN(std::optional<SweepRow> sweep, ReadFirst(std::move(named)));
  if (sweep.has_value()) return *std::move(sweep);
  if (IsIdPrefix(reference)) {
    ASSIGN_OR_RETURN(sql::Rows rows, db.Query(kPrefix, reference, AfterPrefix(reference)));
    ASSIGN_OR_RETURN(std::vector<SweepRow> found, ReadSweeps(std::move(rows)));
    if (found.size() == 1) return std::move(found[0]);
    if (found.size() > 1) {
      return absl::InvalidArgumentError(fmt::format("several sweeps begin with '{}' ({}, {}{}); give more digits", reference,
                                                    found[0].id.substr(0, reference.size() + 4),
                                                    found[1].id.substr(0, reference.size() + 4), found.size() > 2 ? ", ..." : ""));
    }
  }
  ASSIGN_OR_RETURN(std::vector<std::string> names, db.All<std::string>("SELECT DISTINCT name FROM sweeps ORDER BY name"));
  names.insert(names.begin(), "last");
  const std::string closest = ClosestWord(reference, names);
  std::string hint = closest.empty() ? "" : fmt::format("did you mean '{}'? ", closest);
  if (hint.empty() && reference.size() < kLeastIdDigits) {
    // It is no name: then perhaps an id, of which too little was typed.
    ASSIGN_OR_RETURN(sql::Rows rows, db.Query(kPrefix, reference, AfterPrefix(reference)));
    ASSIGN_OR_RETURN(const std::vector<SweepRow> begun, ReadSweeps(std::move(rows)));
    if (!begun.empty()) hint = fmt::format("of an id give at least {} digits; ", kLeastIdDigits);
  }
  return absl::NotFoundError(fmt::format("there is no sweep '{}'; {}'longreach sweeps' shows all of them", reference, hint));
}

absl::Status SetSweepState(sql::Transaction& tx, int64_t sweep, SweepState state) {
  return ExactlyOne(tx.Run("UPDATE sweeps SET state = ? WHERE num = ?", Word(state), sweep), fmt::format("sweep {}", sweep));
}

absl::Status SetSweepPriority(sql::Transaction& tx, int64_t sweep, int priority) {
  return ExactlyOne(tx.Run("UPDATE sweeps SET priority = ? WHERE num = ?", priority, sweep), fmt::format("sweep {}", sweep));
}

absl::Status SetSweepAsked(sql::Transaction& tx, int64_t sweep, WallTime at) {
  return ExactlyOne(tx.Run("UPDATE sweeps SET asked_at = max(?, (SELECT max(asked_at) + 1 FROM sweeps)) WHERE num = ?", at, sweep), fmt::format("sweep {}", sweep));
}

absl::Status SetSweepExpected(sql::Transaction& tx, int64_t sweep, const Expectation& expected) {
  return ExactlyOne(tx.Run("UPDATE sweeps SET expected_seconds = ?, expected_at = ? WHERE num = ?", expected.seconds, expected.made_at, sweep), fmt::format("sweep {}", sweep));
}

absl::StatusOr<std::string> TableOfSweep(sql::Connection& db, int64_t sweep) {
  return db.One<std::string>("SELECT table_spec FROM sweeps WHERE num = ?", sweep);
}

absl::Status SetSweepTable(sql::Transaction& tx, int64_t sweep, std::string_view table) {
  return ExactlyOne(tx.Run("UPDATE sweeps SET table_spec = ? WHERE num = ?", table, sweep), fmt::format("sweep {}", sweep));
}

absl::StatusOr<std::vector<int64_t>> SweepJobsWithInputs(sql::Connection& db, int64_t sweep) {
  return db.All<int64_t>("SELECT job FROM sweep_jobs WHERE sweep = ? AND EXISTS (SELECT 1 FROM job_inputs AS i "
                         "WHERE i.job = sweep_jobs.job) ORDER BY job",
                         sweep);
}

absl::StatusOr<std::vector<int64_t>> UnstartedJobsWithInputs(sql::Connection& db, int64_t sweep) {
  return db.All<int64_t>("SELECT sj.job FROM sweep_jobs AS sj JOIN jobs AS j ON j.num = sj.job WHERE sj.sweep = ? AND j.state IN ('waiting', 'queued', 'cancelled') "
                         "AND EXISTS (SELECT 1 FROM job_inputs AS i WHERE i.job = sj.job) ORDER BY sj.job",
                         sweep);
}

absl::StatusOr<std::vector<OpenJobs>> OpenJobsOfSweep(sql::Connection& db, int64_t sweep) {
  ASSIGN_OR_RETURN(sql::Rows rows, db.Query("SELECT min(j.num), j.spec, count(*) FROM sweep_jobs AS sj JOIN jobs AS j ON j.num = sj.job "
                                            "WHERE sj.sweep = ? AND j.state NOT IN ('succeeded', 'failed') GROUP BY j.pack_key ORDER BY 1",
                                            sweep));
  std::vector<OpenJobs> open;
  while (rows.Next()) open.push_back({.spec = rows.Get<std::string>(1), .jobs = rows.Get<int64_t>(2)});
  RETURN_IF_ERROR(rows.status());
  return open;
}

absl::StatusOr<Prerequisites> CountPrerequisites(sql::Connection& db, int64_t sweep) {
  ASSIGN_OR_RETURN(sql::Rows rows, db.Query("SELECT count(*), count(*) FILTER (WHERE j.state = 'succeeded') FROM sweep_jobs AS sj "
                                            "JOIN jobs AS j ON j.num = sj.job WHERE sj.sweep = ? AND sj.role = 'prerequisite'",
                                            sweep));
  if (!rows.Next()) return rows.status();
  return Prerequisites{.jobs = rows.Get<int64_t>(0), .succeeded = rows.Get<int64_t>(1)};
}

absl::StatusOr<int64_t> CountFailedMembers(sql::Connection& db, const SweepRow& sweep) {
  ASSIGN_OR_RETURN(const int64_t given_up, db.One<int64_t>("SELECT count(*) FROM given_up AS gu CROSS JOIN sweep_jobs AS sj ON sj.job = gu.job AND sj.sweep = gu.sweep "
                                                           "JOIN jobs AS j ON j.num = gu.job WHERE gu.sweep = ? AND sj.role = 'member' AND j.state = 'failed'",
                                                           sweep.num));
  return sweep.counts.failed + given_up;
}

}  // namespace longreach::store
