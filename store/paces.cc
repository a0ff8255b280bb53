#include "store/paces.h"

#include <algorithm>

#include <fmt/format.h>

#include "store/given_up.h"

namespace longreach::store {

absl::StatusOr<std::vector<EndedPart>> EndedInSweep(sql::Connection& db, int64_t sweep, int look_back) {
  // From the newest attempts to the sweep: CROSS JOIN keeps this order.
  ASSIGN_OR_RETURN(sql::Rows rows,
                   db.Query("SELECT a.worker, a.members, (a.ended_at - a.started_at) / 1000000.0, j.task, j.encoding, j.randomized, j.steps, sj.position "
                            "FROM attempts AS a CROSS JOIN attempt_jobs AS aj ON aj.attempt = a.id AND aj.member = 0 "
                            "CROSS JOIN sweep_jobs AS sj ON sj.job = aj.job AND sj.sweep = ? AND sj.role = 'member' "
                            "CROSS JOIN jobs AS j ON j.num = aj.job "
                            "WHERE a.id > (SELECT max(id) FROM attempts) - ? AND a.outcome = 'succeeded' AND a.start_step = 0 "
                            "AND a.ended_at > a.started_at AND j.steps > 0 ORDER BY a.id DESC",
                            sweep, look_back));
  std::vector<EndedPart> parts;
  while (rows.Next()) {
    parts.push_back({.worker = rows.Get<std::string>(0),
                     .members = rows.Get<int>(1),
                     .seconds = rows.Get<double>(2),
                     .task = rows.Get<std::string>(3),
                     .encoding = rows.Get<std::string>(4),
                     .randomized = rows.Get<bool>(5),
                     .steps = rows.Get<int>(6),
                     .position = rows.Get<int64_t>(7)});
  }
  RETURN_IF_ERROR(rows.status());
  return parts;
}

absl::StatusOr<std::vector<QueuedJob>> SomeQueuedJobs(sql::Connection& db, int64_t sweep, int64_t members, int most) {
  std::vector<QueuedJob> jobs;
  const int64_t looked_at = std::min<int64_t>(members, most);
  if (looked_at <= 0) return jobs;
  static const std::string kSql = fmt::format(
      "WITH RECURSIVE place(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM place WHERE n + 1 < ?) "
      "SELECT j.task, j.encoding, j.randomized, j.steps, sj.position FROM place "
      "CROSS JOIN sweep_jobs AS sj ON sj.sweep = ? AND sj.role = 'member' AND sj.position = place.n * ? / ? "
      "CROSS JOIN jobs AS j ON j.num = sj.job WHERE {} = 'queued' ORDER BY sj.position",
      StateIn("sj"));
  ASSIGN_OR_RETURN(sql::Rows rows, db.Query(kSql, looked_at, sweep, members, looked_at));
  while (rows.Next()) {
    jobs.push_back({.task = rows.Get<std::string>(0),
                    .encoding = rows.Get<std::string>(1),
                    .randomized = rows.Get<bool>(2),
                    .steps = rows.Get<int>(3),
                    .position = rows.Get<int64_t>(4)});
  }
  RETURN_IF_ERROR(rows.status());
  return jobs;
}

}  // namespace longreach::store
