// What a job has measured (declared in repair.h).
#include <string>

#include <fmt/format.h>

#include "store/given_up.h"
#include "store/job_row.h"
#include "store/repair.h"

namespace longreach::store {
namespace {

// Of a job `jobs`: a value that is no number.
constexpr const char* kHasNonFinite = "EXISTS (SELECT 1 FROM measurements AS m WHERE m.job = jobs.num AND abs(m.value) > 1.7976931348623157e308)";
constexpr const char* kHasValues = "EXISTS (SELECT 1 FROM measurements AS m WHERE m.job = jobs.num)";
// Not the score that tables show, without which no result is accepted.
constexpr const char* kLacksScore =
    "EXISTS (SELECT 1 FROM main_metrics AS k WHERE k.experiment = jobs.experiment AND NOT EXISTS (SELECT 1 FROM measurements AS m "
    "WHERE m.job = jobs.num AND m.metric = k.metric AND m.length = 0 AND m.slice = ''))";
// A query of the attempts that have succeeded with the job.
constexpr const char* kSucceededWith =
    "FROM attempt_jobs AS aj CROSS JOIN attempts AS a ON a.id = aj.attempt WHERE aj.job = jobs.num AND aj.dropped = 0 AND a.outcome = 'succeeded'";
constexpr const char* kValues = "(SELECT count(*) FROM measurements AS m WHERE m.job = jobs.num)";
// Jobs that have begun with its result, and have none of their own.
constexpr const char* kBegunWithIt = "SELECT DISTINCT b.num FROM job_inputs AS i JOIN jobs AS b ON b.num = i.job WHERE i.source = {} AND b.state <> 'succeeded'";
constexpr const char* kMadeOfIt = "(SELECT count(DISTINCT made.num) FROM job_inputs AS i JOIN jobs AS made ON made.num = i.job WHERE i.source = jobs.num AND made.state = 'succeeded')";
// A row that says itself that it is of another kind says nothing about which score it lacks.
constexpr const char* kIsOfItsKind = "EXISTS (SELECT 1 FROM requirements AS r WHERE r.num = jobs.requirement AND r.experiment = jobs.experiment)";
constexpr const char* kJob = "'job ' || substr(jobs.id, 1, 8)";

// Its values are whole, and one attempt alone can have measured them.
MendingRule ResultsWithoutAJob() {
  return {.find = fmt::format("SELECT num, {} || ' was ' || state || ' and had values: they are the result of attempt ' || (SELECT max(aj.attempt) {}) || ' again' FROM jobs "
                              "WHERE state <> 'succeeded' AND {} AND {} AND NOT {} AND NOT {} AND (SELECT count(*) {}) = 1 ORDER BY num",
                              kJob, kSucceededWith, kHasValues, kIsOfItsKind, kLacksScore, kHasNonFinite, kSucceededWith),
          .mends = {fmt::format("UPDATE jobs SET state = 'succeeded', attempt = (SELECT max(aj.attempt) {}), diverged = 0, diverged_at = 0, failure = '' WHERE num = ?1", kSucceededWith)}};
}

// In its way when the job is done: a result comes once.
MendingRule ValuesOfNoResult() {
  return {.find = fmt::format("SELECT num, {} || ' is ' || state || ' and had values of no result that was accepted, which are in the backup alone: ' || {} FROM jobs "
                              "WHERE state <> 'succeeded' AND {} AND {} AND ({} OR {} OR (SELECT count(*) {}) = 0) ORDER BY num",
                              kJob, kValues, kHasValues, kIsOfItsKind, kLacksScore, kHasNonFinite, kSucceededWith),
          .mends = {"DELETE FROM measurements WHERE job = ?1"}};
}

// The attempt is what a number is traced to. One that has the job, or that has succeeded and may have had it, is not put in doubt: a merge brings attempts that succeeded with
// a job whose result was not taken.
MendingRule ResultsOfAnotherAttempt() {
  return {.find = fmt::format("SELECT num, {} || ' had the result of attempt ' || attempt || ': the one that succeeded with it is ' || (SELECT max(aj.attempt) {}) FROM jobs "
                              "WHERE state = 'succeeded' AND (SELECT count(*) {}) = 1 AND NOT EXISTS (SELECT 1 FROM attempts AS own WHERE own.id = jobs.attempt AND own.outcome IS 'succeeded') "
                              "AND NOT EXISTS (SELECT 1 FROM attempt_jobs AS mine WHERE mine.attempt = jobs.attempt AND mine.job = jobs.num) ORDER BY num",
                              kJob, kSucceededWith, kSucceededWith),
          .mends = {fmt::format("UPDATE jobs SET attempt = (SELECT max(aj.attempt) {}) WHERE num = ?1", kSucceededWith)}};
}

// Trained and tested again: of a part of a result nobody knows what else is wrong with it.
MendingRule ResultsThatAreNotWhole() {
  const std::string has_a_sweep = fmt::format(
      "EXISTS (SELECT 1 FROM sweep_jobs AS sj JOIN sweeps AS s ON s.num = sj.sweep WHERE sj.job = jobs.num AND s.state IN ('live', 'paused') AND {})", NotGivenUp("sj"));
  const std::string begun = fmt::format("(SELECT count(*) FROM ({} AND b.checkpoint_step > 0))", fmt::format(kBegunWithIt, "jobs.num"));
  return {.find = fmt::format("SELECT num, {} || ' runs again: its result was not whole' || iif({} > 0, '; values of it that are in the backup alone: ' || {}, '') "
                              "|| iif({} > 0, '; results that were made of it, and stay: ' || {}, '') "
                              "|| iif({} > 0, '; jobs that had begun with it, and begin anew: ' || {}, '') FROM jobs "
                              "WHERE state = 'succeeded' AND {} AND (({} AND diverged = 1) OR (diverged = 0 AND NOT {}) OR (diverged = 0 AND {}) OR {}) ORDER BY num",
                              kJob, kValues, kValues, kMadeOfIt, kMadeOfIt, begun, begun, kIsOfItsKind, kHasValues, kHasValues, kLacksScore, kHasNonFinite),
          .mends = {"DELETE FROM measurements WHERE job = ?1",
                    // On a GPU it may come to other weights, and a job that went on from its checkpoint would be made of both.
                    fmt::format("DELETE FROM artifacts WHERE kind = 'checkpoint' AND job IN ({})", fmt::format(kBegunWithIt, "?1")),
                    fmt::format("UPDATE jobs SET checkpoint_step = 0, split_group = max(split_group, 0) WHERE num IN ({})", fmt::format(kBegunWithIt, "?1")),
                    fmt::format("UPDATE jobs SET state = iif({}, {}, 'cancelled'), attempt = NULL, diverged = 0, diverged_at = 0, failures = 0, losses = 0, failure = '', split_group = 0 "
                                "WHERE num = ?1",
                                has_a_sweep, kStateToRun)}};
}

}  // namespace

absl::Status MendResults(sql::Transaction& tx, Mended& mended) {
  for (const MendingRule& rule : {ResultsWithoutAJob(), ValuesOfNoResult(), ResultsOfAnotherAttempt(), ResultsThatAreNotWhole()}) {
    RETURN_IF_ERROR(Follow(tx, rule, mended).status());
  }
  return absl::OkStatus();
}

}  // namespace longreach::store
