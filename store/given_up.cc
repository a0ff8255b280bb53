#include "store/given_up.h"

#include <fmt/format.h>

#include <vector>

#include "store/job_row.h"

namespace longreach::store {

std::string NotGivenUp(std::string_view membership) {
  return fmt::format("NOT EXISTS (SELECT 1 FROM given_up AS gu WHERE gu.sweep = {0}.sweep AND gu.job = {0}.job)", membership);
}

std::string StateIn(std::string_view membership) {
  return fmt::format("iif(j.state = 'succeeded' OR {}, j.state, 'cancelled')", NotGivenUp(membership));
}

absl::StatusOr<int> GiveUpJobs(sql::Transaction& tx, int64_t sweep, std::span<const int64_t> jobs) {
  constexpr std::string_view kGiveUp =
      "INSERT OR IGNORE INTO given_up(sweep, job) SELECT sj.sweep, sj.job FROM sweep_jobs AS sj JOIN jobs AS j ON j.num = sj.job "
      "WHERE sj.job = ? AND sj.sweep = ? AND j.state <> 'succeeded'";
  // A job that has failed needs its inputs as well: it may be tried again.
  static const std::string kNeedless = fmt::format(
      "{} AND sj.role = 'prerequisite' AND NOT EXISTS (SELECT 1 FROM job_inputs AS i JOIN jobs AS d ON d.num = i.job "
      "JOIN sweep_jobs AS needs ON needs.job = d.num AND needs.sweep = sj.sweep WHERE i.source = sj.job AND d.state <> 'succeeded' AND {})",
      kGiveUp, NotGivenUp("needs"));
  std::vector<int64_t> next(jobs.begin(), jobs.end());
  std::vector<int64_t> given_up;
  while (!next.empty()) {
    const int64_t job = next.back();
    next.pop_back();
    ASSIGN_OR_RETURN(const int added, tx.Run(kGiveUp, job, sweep));
    if (added == 0) continue;
    given_up.push_back(job);
    ASSIGN_OR_RETURN(const std::vector<int64_t> dependants, DependantsOf(tx, job));
    next.insert(next.end(), dependants.begin(), dependants.end());
  }
  int wanted = 0;
  for (size_t i = 0; i < given_up.size(); ++i) {
    const int64_t job = given_up[i];
    ASSIGN_OR_RETURN(const int failed, tx.One<int>("SELECT state = 'failed' FROM jobs WHERE num = ?", job));
    wanted += 1 - failed;
    ASSIGN_OR_RETURN(const std::vector<JobInputRow> inputs, InputsOf(tx, job));
    for (const JobInputRow& input : inputs) {
      ASSIGN_OR_RETURN(const int added, tx.Run(kNeedless, input.source, sweep));
      if (added > 0) given_up.push_back(input.source);
    }
  }
  return wanted;
}

absl::StatusOr<int> TryJobsAgain(sql::Transaction& tx, int64_t sweep, std::span<const int64_t> jobs) {
  static const std::string kRetry = RetryFailedWhere("num = ? AND EXISTS (SELECT 1 FROM sweep_jobs AS sj WHERE sj.job = jobs.num AND sj.sweep = ?)");
  std::vector<int64_t> next(jobs.begin(), jobs.end());
  int again = 0;
  while (!next.empty()) {
    const int64_t job = next.back();
    next.pop_back();
    ASSIGN_OR_RETURN(const int failed, tx.Run(kRetry, job, sweep));
    ASSIGN_OR_RETURN(const int given_up, tx.Run("DELETE FROM given_up WHERE sweep = ? AND job = ?", sweep, job));
    // What such a job needs is neither failed nor given up.
    if (failed == 0 && given_up == 0) continue;
    ASSIGN_OR_RETURN(const int open, tx.One<int>("SELECT state <> 'succeeded' FROM jobs WHERE num = ?", job));
    again += open;
    if (open == 0) continue;
    ASSIGN_OR_RETURN(const std::vector<JobInputRow> inputs, InputsOf(tx, job));
    for (const JobInputRow& input : inputs) next.push_back(input.source);
  }
  return again;
}

absl::StatusOr<int> ForgetGivenUp(sql::Transaction& tx, int64_t sweep) { return tx.Run("DELETE FROM given_up WHERE sweep = ?", sweep); }

absl::StatusOr<std::vector<int64_t>> SweepsWithFirstFailure(sql::Connection& db, int64_t job) {
  static const std::string kSql = fmt::format(
      "SELECT s.num FROM sweep_jobs AS sj JOIN sweeps AS s ON s.num = sj.sweep WHERE sj.job = ? AND sj.role = 'member' "
      "AND s.jobs_failed = 1 AND s.state <> 'cancelled' AND {} ORDER BY s.num",
      NotGivenUp("sj"));
  return db.All<int64_t>(kSql, job);
}

absl::StatusOr<bool> AnyGivenUp(sql::Connection& db, int64_t sweep) {
  return db.One<bool>("SELECT EXISTS (SELECT 1 FROM given_up WHERE sweep = ?)", sweep);
}

absl::StatusOr<bool> HasGivenUp(sql::Connection& db, int64_t sweep, int64_t job) {
  return db.One<bool>("SELECT EXISTS (SELECT 1 FROM given_up WHERE sweep = ? AND job = ?)", sweep, job);
}

}  // namespace longreach::store
