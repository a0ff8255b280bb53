// What the state and the priority of sweeps, and what they gave up, mean for their jobs (declared in sweeps.h).
#include "store/sweeps.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "store/given_up.h"
#include "store/job_row.h"

namespace longreach::store {
namespace {

// Jobs of a part of a sweep: `mine` is sweep_jobs. Its roles are named, all of them, for the index.
constexpr std::string_view kOfPart = "mine.sweep = ? AND mine.role IN ('member', 'prerequisite') AND mine.position >= ? AND mine.position < ?";

// Of a job `j`: no sweep could go on with it.
const std::string& Unwanted() {
  static const std::string kSql = fmt::format(
      "NOT EXISTS (SELECT 1 FROM sweep_jobs AS others JOIN sweeps AS s ON s.num = others.sweep "
      "WHERE others.job = j.num AND s.state IN ('live', 'paused') AND {})",
      NotGivenUp("others"));
  return kSql;
}

// A job is wanted if a live sweep has it that has not given it up, and as urgent as the most urgent of these. `from` joins a job's sweeps, as `s`, where they are live.
std::string Want(std::string_view job, std::string_view from) {
  return fmt::format("UPDATE jobs SET wanted = w.wanted, priority = w.priority FROM (SELECT {} AS job, count(s.num) > 0 AS wanted, "
                     "ifnull(max(s.priority), 0) AS priority FROM {}) AS w WHERE jobs.num = w.job AND jobs.state <> 'succeeded' "
                     "AND (jobs.wanted <> w.wanted OR jobs.priority <> w.priority)",
                     job, from);
}

// What nobody will go on from: checkpoints of cancelled jobs and, since a cancelled sweep cannot be retried, of failed ones; of those that were given up as well; and files of a
// result that an attempt handed in before it was lost. Jobs that are only tested have checkpoints of step 0. Logs stay.
absl::Status FreeCheckpoints(sql::Transaction& tx, int64_t sweep, Positions part) {
  static const std::string kJobs = fmt::format(
      "(SELECT j.num FROM sweep_jobs AS mine CROSS JOIN jobs AS j ON j.num = mine.job "
      "WHERE {} AND j.state IN ('cancelled', 'failed') AND {})",
      kOfPart, Unwanted());
  static const std::string kRows = fmt::format("DELETE FROM artifacts WHERE kind <> 'log' AND job IN {}", kJobs);
  RETURN_IF_ERROR(tx.Run(kRows, sweep, part.from, part.to).status());
  // They begin anew, if they do, and so with whom there is: a pack that has begun is kept together for its checkpoint's sake alone.
  static const std::string kSteps =
      fmt::format("UPDATE jobs SET checkpoint_step = 0, split_group = max(split_group, 0) WHERE (checkpoint_step > 0 OR split_group < 0) AND num IN {}", kJobs);
  return tx.Run(kSteps, sweep, part.from, part.to).status();
}

}  // namespace

absl::Status RefreshWanted(sql::Transaction& tx, int64_t sweep, Positions part) {
  static const std::string kSql = Want(
      "mine.job", fmt::format("sweep_jobs AS mine JOIN sweep_jobs AS others ON others.job = mine.job "
                              "LEFT JOIN sweeps AS s ON s.num = others.sweep AND s.state = 'live' AND {} WHERE {} GROUP BY mine.job",
                              NotGivenUp("others"), kOfPart));
  return tx.Run(kSql, sweep, part.from, part.to).status();
}

absl::Status SettleJob(sql::Transaction& tx, int64_t job) {
  static const std::string kWant =
      Want("?", fmt::format("sweep_jobs AS sj JOIN sweeps AS s ON s.num = sj.sweep WHERE sj.job = ? AND s.state = 'live' AND {}", NotGivenUp("sj")));
  RETURN_IF_ERROR(tx.Run(kWant, job, job).status());
  static const std::string kRevive = fmt::format(
      "UPDATE jobs SET state = {} WHERE num = ? AND state = 'cancelled' AND EXISTS (SELECT 1 FROM sweep_jobs AS sj "
      "JOIN sweeps AS s ON s.num = sj.sweep WHERE sj.job = jobs.num AND s.state IN ('live', 'paused') AND {})",
      kStateToRun, NotGivenUp("sj"));
  return tx.Run(kRevive, job).status();
}

absl::StatusOr<std::vector<DroppedJob>> CancelUnwantedJobs(sql::Transaction& tx, int64_t sweep, Positions part) {
  static const std::string kRunning = fmt::format(
      "SELECT j.num, j.id, j.attempt FROM sweep_jobs AS mine JOIN jobs AS j ON j.num = mine.job "
      "WHERE {} AND j.state = 'leased' AND {} ORDER BY j.num",
      kOfPart, Unwanted());
  std::vector<DroppedJob> dropped;
  {
    ASSIGN_OR_RETURN(sql::Rows rows, tx.Query(kRunning, sweep, part.from, part.to));
    while (rows.Next()) {
      dropped.push_back({.job = rows.Get<int64_t>(0), .id = rows.Get<std::string>(1), .attempt = rows.Get<int64_t>(2)});
    }
    RETURN_IF_ERROR(rows.status());
  }
  static const std::string kCancel = fmt::format(
      "UPDATE jobs AS j SET state = 'cancelled', attempt = NULL WHERE state IN ('waiting', 'queued', 'leased') "
      "AND num IN (SELECT mine.job FROM sweep_jobs AS mine WHERE {}) AND {}",
      kOfPart, Unwanted());
  RETURN_IF_ERROR(tx.Run(kCancel, sweep, part.from, part.to).status());
  RETURN_IF_ERROR(FreeCheckpoints(tx, sweep, part));
  return dropped;
}

absl::StatusOr<int> ReviveCancelledJobs(sql::Transaction& tx, int64_t sweep, Positions part) {
  static const std::string kSql = fmt::format(
      "UPDATE jobs SET state = {} WHERE state = 'cancelled' AND num IN (SELECT mine.job FROM sweep_jobs AS mine WHERE {}) "
      "AND (wanted = 1 OR EXISTS (SELECT 1 FROM sweep_jobs AS sj JOIN sweeps AS s ON s.num = sj.sweep "
      "WHERE sj.job = jobs.num AND sj.sweep = ? AND s.state IN ('live', 'paused') AND {}))",
      kStateToRun, kOfPart, NotGivenUp("sj"));
  return tx.Run(kSql, sweep, part.from, part.to, sweep);
}

absl::StatusOr<int> RetryFailedJobs(sql::Transaction& tx, int64_t sweep, Positions part) {
  static const std::string kSql =
      RetryFailedWhere(fmt::format("num IN (SELECT mine.job FROM sweep_jobs AS mine WHERE {} AND {})", kOfPart, NotGivenUp("mine")));
  return tx.Run(kSql, sweep, part.from, part.to);
}

absl::StatusOr<bool> SweepHasInputs(sql::Connection& db, int64_t sweep) {
  return db.One<bool>("SELECT EXISTS (SELECT 1 FROM sweep_jobs WHERE sweep = ? AND role = 'prerequisite') "
                      "OR EXISTS (SELECT 1 FROM job_inputs AS i CROSS JOIN sweep_jobs AS sj ON sj.job = i.job AND sj.sweep = ?)",
                      sweep, sweep);
}

absl::Status SetUnsettled(sql::Transaction& tx, int64_t sweep, std::optional<int64_t> from) {
  return tx.Run("UPDATE sweeps SET unsettled_from = ? WHERE num = ? AND unsettled_from IS NOT ?", from, sweep, from).status();
}

absl::StatusOr<Settled> SettlePart(sql::Transaction& tx, const SweepRow& sweep, Positions part) {
  Settled settled;
  RETURN_IF_ERROR(RefreshWanted(tx, sweep.num, part));
  bool cancels = sweep.state == SweepState::kCancelled;
  if (!cancels) {
    ASSIGN_OR_RETURN(cancels, AnyGivenUp(tx, sweep.num));
  }
  if (cancels) {
    ASSIGN_OR_RETURN(settled.dropped, CancelUnwantedJobs(tx, sweep.num, part));
  }
  // Of a cancelled sweep too: another may want them, without having reached them yet.
  RETURN_IF_ERROR(ReviveCancelledJobs(tx, sweep.num, part).status());
  static const std::string kRunning = fmt::format(
      "SELECT DISTINCT j.attempt FROM sweep_jobs AS mine CROSS JOIN jobs AS j ON j.num = mine.job WHERE {} AND j.state = 'leased' ORDER BY 1",
      kOfPart);
  ASSIGN_OR_RETURN(settled.running, tx.All<int64_t>(kRunning, sweep.num, part.from, part.to));
  return settled;
}

absl::StatusOr<Settled> SettleJobs(sql::Transaction& tx, const SweepRow& sweep, int64_t most) {
  if (!sweep.unsettled_from) return Settled();
  const Positions part{.from = *sweep.unsettled_from, .to = *sweep.unsettled_from + std::min(most, Positions{}.to - *sweep.unsettled_from)};
  ASSIGN_OR_RETURN(Settled settled, SettlePart(tx, sweep, part));
  settled.more = part.to < sweep.there();
  RETURN_IF_ERROR(SetUnsettled(tx, sweep.num, settled.more ? std::optional(part.to) : std::nullopt));
  return settled;
}

}  // namespace longreach::store
