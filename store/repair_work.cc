// What is to run, what runs, and what is counted (declared in repair.h): all of it follows from sweeps, inputs and attempts.
#include <string>
#include <vector>

#include <fmt/format.h>

#include "store/given_up.h"
#include "store/job_row.h"
#include "store/repair.h"

namespace longreach::store {
namespace {

// More than any chain of inputs is long.
constexpr int kMostRounds = 1000;

// Of a job `jobs`: those of its sweeps that want it.
std::string LiveSweeps() {
  return fmt::format("FROM sweep_jobs AS sj JOIN sweeps AS s ON s.num = sj.sweep WHERE sj.job = jobs.num AND s.state = 'live' AND {}", NotGivenUp("sj"));
}

// Who waits has inputs: one whose rows of them are gone does not begin without.
constexpr const char* kHasInputs = "EXISTS (SELECT 1 FROM job_inputs AS mine WHERE mine.job = jobs.num)";
constexpr const char* kLacksAnInput = "EXISTS (SELECT 1 FROM job_inputs AS i JOIN jobs AS source ON source.num = i.source WHERE i.job = jobs.num AND source.state <> 'succeeded')";
// The input that has failed, with the scheduler's words.
constexpr const char* kFailedInput =
    "(SELECT 'input failed: ' || i.name || ' (job ' || substr(source.id, 1, 8) || ')' FROM job_inputs AS i JOIN jobs AS source ON source.num = i.source "
    "WHERE i.job = jobs.num AND source.state = 'failed' ORDER BY i.name LIMIT 1)";

// Of a prerequisite `sj`: no job of its sweep begins with it, or says in its specification that it does; and it has a sweep beside that one, as each job came with one.
constexpr const char* kIsNeedless =
    "sj.role = 'prerequisite' AND NOT EXISTS (SELECT 1 FROM job_inputs AS i CROSS JOIN sweep_jobs AS o ON o.job = i.job AND o.sweep = sj.sweep WHERE i.source = sj.job) "
    "AND NOT EXISTS (SELECT 1 FROM sweep_jobs AS o CROSS JOIN jobs AS d ON d.num = o.job WHERE o.sweep = sj.sweep AND "
    "instr(d.spec, '.job=' || (SELECT id FROM jobs WHERE num = sj.job) || char(10)) > 0) "
    "AND EXISTS (SELECT 1 FROM sweep_jobs AS o WHERE o.job = sj.job AND o.sweep <> sj.sweep)";
// Jobs that make what those of the sweep ?1 begin with, by their rows and by their specifications, and that it does not have.
constexpr const char* kLacking =
    "(WITH RECURSIVE needed(job) AS (SELECT job FROM sweep_jobs WHERE sweep = ?1 UNION "
    "SELECT i.source FROM needed AS n CROSS JOIN job_inputs AS i ON i.job = n.job CROSS JOIN jobs AS d ON d.num = i.job CROSS JOIN jobs AS m ON m.num = i.source "
    "WHERE instr(d.spec, '.job=' || m.id || char(10)) > 0) "
    "SELECT job FROM needed WHERE NOT EXISTS (SELECT 1 FROM sweep_jobs AS o WHERE o.job = needed.job AND o.sweep = ?1))";

// What a sweep has beside its members is what its jobs begin with.
MendingRule NeedlessPrerequisites() {
  return {.find = fmt::format("SELECT s.num, 'sweep ' || substr(s.id, 1, 8) || ' is rid of prerequisites that none of its jobs begins with: ' || count(*) "
                              "FROM sweeps AS s CROSS JOIN sweep_jobs AS sj ON sj.sweep = s.num WHERE {} GROUP BY s.num ORDER BY s.num",
                              kIsNeedless),
          .mends = {fmt::format("DELETE FROM sweep_jobs AS sj WHERE sj.sweep = ?1 AND {}", kIsNeedless)}};
}

std::vector<MendingRule> RulesOfPrerequisites() {
  constexpr int64_t kBehindAll = int64_t{1} << 40;
  return {
      {.find = "SELECT s.num, 'sweep ' || substr(s.id, 1, 8) || ' has again what its jobs begin with: ' || count(DISTINCT i.source) FROM job_inputs AS i CROSS JOIN sweep_jobs AS sj ON sj.job = i.job "
               "CROSS JOIN sweeps AS s ON s.num = sj.sweep CROSS JOIN jobs AS d ON d.num = i.job CROSS JOIN jobs AS m ON m.num = i.source "
               "WHERE NOT EXISTS (SELECT 1 FROM sweep_jobs AS o WHERE o.job = i.source AND o.sweep = sj.sweep) AND instr(d.spec, '.job=' || m.id || char(10)) > 0 GROUP BY s.num ORDER BY s.num",
       .mends = {fmt::format("INSERT INTO sweep_jobs(sweep, role, position, job) SELECT ?1, 'prerequisite', "
                             "(SELECT ifnull(max(position), -1) FROM sweep_jobs WHERE sweep = ?1 AND role = 'prerequisite') + row_number() OVER (ORDER BY job), job FROM {}",
                             kLacking)}},
      // Positions that are free: no two rows may have one, not even between two of these changes.
      {.find = "SELECT s.num, 'sweep ' || substr(s.id, 1, 8) || ' has its ' || count(*) || ' prerequisites numbered without gaps' FROM sweeps AS s CROSS JOIN sweep_jobs AS sj ON sj.sweep = s.num "
               "WHERE sj.role = 'prerequisite' GROUP BY s.num HAVING min(sj.position) <> 0 OR max(sj.position) <> count(*) - 1 ORDER BY s.num",
       .mends = {fmt::format("UPDATE sweep_jobs SET position = position + {} WHERE sweep = ?1 AND role = 'prerequisite'", kBehindAll),
                 "UPDATE sweep_jobs SET position = n.place FROM (SELECT job, row_number() OVER (ORDER BY position) - 1 AS place FROM sweep_jobs WHERE sweep = ?1 AND role = 'prerequisite') AS n "
                 "WHERE sweep_jobs.sweep = ?1 AND sweep_jobs.role = 'prerequisite' AND sweep_jobs.job = n.job"}},
  };
}

std::vector<MendingRule> RulesOfJobs() {
  return {
      {.find = "SELECT num, 'job ' || substr(id, 1, 8) || ' is not leased any more: attempt ' || attempt || ' has ended or does not have it' FROM jobs WHERE state = 'leased' AND NOT EXISTS ("
               "SELECT 1 FROM attempts AS a JOIN attempt_jobs AS aj ON aj.attempt = a.id WHERE a.id = jobs.attempt AND a.ended_at IS NULL AND aj.job = jobs.num AND aj.dropped = 0) ORDER BY num",
       // With the pack that made its checkpoint, as after any attempt that ends: two that are at the same step would else be mixed.
       .mends = {fmt::format("UPDATE jobs SET attempt = NULL, split_group = iif(split_group <= 0, {}, split_group), state = {} WHERE num = ?1", kPackOfCheckpoint, kStateToRun)}},
      {.find = "SELECT num, 'job ' || substr(id, 1, 8) || ' is tried afresh: it was ' || state || ' after ' || failures || ' failures and ' || losses || ' lost workers' FROM jobs "
               "WHERE state IN ('waiting', 'queued', 'leased') AND (failures >= 3 OR losses >= 10) ORDER BY num",
       .mends = {"UPDATE jobs SET failures = 0, losses = 0 WHERE num = ?1"}},
      {.find = "SELECT DISTINCT g.job, 'job ' || substr(j.id, 1, 8) || ' is not given up by sweeps that do not have it' FROM given_up AS g JOIN jobs AS j ON j.num = g.job "
               "WHERE NOT EXISTS (SELECT 1 FROM sweep_jobs AS sj WHERE sj.sweep = g.sweep AND sj.job = g.job) ORDER BY g.job",
       .mends = {"DELETE FROM given_up WHERE job = ?1 AND NOT EXISTS (SELECT 1 FROM sweep_jobs AS sj WHERE sj.sweep = given_up.sweep AND sj.job = given_up.job)"}},
      // Those that have yet to follow their sweeps do so by themselves.
      {.find = fmt::format("SELECT num, 'job ' || substr(id, 1, 8) || ' is ' || iif((SELECT count(*) {0}) > 0, 'wanted', 'not wanted') || ', with priority ' || ifnull((SELECT max(s.priority) {0}), 0) "
                           "FROM jobs WHERE state <> 'succeeded' AND (wanted <> ((SELECT count(*) {0}) > 0) OR priority <> ifnull((SELECT max(s.priority) {0}), 0)) "
                           "AND NOT EXISTS (SELECT 1 FROM sweep_jobs AS o JOIN sweeps AS t ON t.num = o.sweep WHERE o.job = jobs.num AND o.position >= t.unsettled_from) ORDER BY num",
                           LiveSweeps()),
       .mends = {fmt::format("UPDATE jobs SET wanted = (SELECT count(*) {0}) > 0, priority = ifnull((SELECT max(s.priority) {0}), 0) WHERE num = ?1", LiveSweeps())}},
      {.find = "SELECT num, 'job ' || substr(id, 1, 8) || ' is cancelled no more, as a live sweep wants it' FROM jobs WHERE state = 'cancelled' AND wanted = 1 ORDER BY num",
       .mends = {fmt::format("UPDATE jobs SET state = {} WHERE num = ?1", kStateToRun)}},
      {.find = "SELECT num, 'job ' || substr(id, 1, 8) || ' has failed, and why is not known any more' FROM jobs WHERE state = 'failed' AND failure = '' ORDER BY num",
       .mends = {"UPDATE jobs SET failure = 'not known: the store did not say why' WHERE num = ?1"}},
  };
}

std::vector<MendingRule> RulesOfInputs() {
  return {
      {.find = fmt::format("SELECT num, 'job ' || substr(id, 1, 8) || ' waits: it was ' || state || ', and not all of its inputs are there' FROM jobs "
                           "WHERE state IN ('queued', 'leased') AND {} ORDER BY num",
                           kLacksAnInput),
       .mends = {"UPDATE jobs SET state = 'waiting', attempt = NULL WHERE num = ?1"}},
      {.find = fmt::format("SELECT num, 'job ' || substr(id, 1, 8) || ' waits no more: all of its inputs are there' FROM jobs WHERE state = 'waiting' AND {} AND NOT {} ORDER BY num", kHasInputs,
                           kLacksAnInput),
       .mends = {"UPDATE jobs SET state = 'queued' WHERE num = ?1"}},
      {.find = fmt::format("SELECT num, 'job ' || substr(id, 1, 8) || ' has failed with what it waited for: ' || {0} FROM jobs WHERE state = 'waiting' AND wanted = 1 AND {0} IS NOT NULL ORDER BY num",
                           kFailedInput),
       .mends = {fmt::format("UPDATE jobs SET state = 'failed', failure = {} WHERE num = ?1", kFailedInput)}},
  };
}

// What has its result stays with the attempt that has measured it.
constexpr const char* kIsNoMember = "aj.dropped = 0 AND NOT EXISTS (SELECT 1 FROM jobs AS mine WHERE mine.num = aj.job AND mine.attempt = aj.attempt AND mine.state IN ('leased', 'succeeded'))";

std::vector<MendingRule> RulesOfAttempts(WallTime now) {
  return {
      {.find = fmt::format("SELECT a.id, 'attempt ' || a.id || ' is rid of jobs that are not leased to it: ' || count(*) FROM attempts AS a "
                           "JOIN attempt_jobs AS aj ON aj.attempt = a.id WHERE a.ended_at IS NULL AND {} GROUP BY a.id ORDER BY a.id",
                           kIsNoMember),
       .mends = {fmt::format("UPDATE attempt_jobs AS aj SET dropped = 1 WHERE aj.attempt = ?1 AND {}", kIsNoMember)}},
      {.find = "SELECT id, 'attempt ' || id || ' has ended, as it has no job' FROM attempts WHERE ended_at IS NULL "
               "AND NOT EXISTS (SELECT 1 FROM attempt_jobs AS aj WHERE aj.attempt = attempts.id AND aj.dropped = 0) ORDER BY id",
       .mends = {fmt::format("UPDATE attempts SET ended_at = max(started_at, {}), outcome = 'dropped' WHERE id = ?1", now.time_since_epoch().count())}},
  };
}

// As schema/check.sql counts.
MendingRule Counters() {
  constexpr std::string_view kCounted =
      "SELECT count(j.state) FILTER (WHERE j.state = 'waiting' AND g.job IS NULL) AS waiting, count(j.state) FILTER (WHERE j.state = 'queued' AND g.job IS NULL) AS queued, "
      "count(j.state) FILTER (WHERE j.state = 'leased' AND g.job IS NULL) AS leased, count(j.state) FILTER (WHERE j.state = 'succeeded') AS succeeded, "
      "count(j.state) FILTER (WHERE j.state = 'failed' AND g.job IS NULL) AS failed, "
      "count(j.state) FILTER (WHERE j.state = 'cancelled' OR (j.state <> 'succeeded' AND g.job IS NOT NULL)) AS cancelled, count(j.state) FILTER (WHERE j.diverged) AS diverged "
      "FROM sweep_jobs AS sj JOIN jobs AS j ON j.num = sj.job LEFT JOIN given_up AS g ON g.sweep = sj.sweep AND g.job = sj.job WHERE sj.role = 'member' AND sj.sweep = sweeps.num";
  constexpr std::string_view kKept = "jobs_waiting, jobs_queued, jobs_leased, jobs_succeeded, jobs_failed, jobs_cancelled, jobs_diverged";
  // A member that is gone leaves no other trace.
  constexpr std::string_view kHad = "(jobs_waiting + jobs_queued + jobs_leased + jobs_succeeded + jobs_failed + jobs_cancelled)";
  constexpr std::string_view kHas = "(SELECT count(*) FROM sweep_jobs AS sj WHERE sj.role = 'member' AND sj.sweep = sweeps.num)";
  return {.find = fmt::format("SELECT num, 'sweep ' || substr(id, 1, 8) || ' was counted anew' || iif({0} = {1}, '', ': it has ' || {1} || ' jobs, and had counted ' || {0}) FROM sweeps "
                              "WHERE ({2}) <> ({3}) ORDER BY num",
                              kHad, kHas, kKept, kCounted),
          .mends = {fmt::format("UPDATE sweeps SET ({}) = ({}) WHERE num = ?1", kKept, kCounted)}};
}

// Each may show another one to be done.
absl::Status FollowAgain(sql::Transaction& tx, const std::vector<MendingRule>& rules, Mended& mended) {
  int mends = 1;
  for (int round = 0; mends > 0 && round < kMostRounds; ++round) {
    mends = 0;
    for (const MendingRule& rule : rules) {
      ASSIGN_OR_RETURN(const int some, Follow(tx, rule, mended));
      mends += some;
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status MendWork(sql::Transaction& tx, WallTime now, Mended& mended) {
  RETURN_IF_ERROR(FollowAgain(tx, {NeedlessPrerequisites()}, mended));
  for (const MendingRule& rule : RulesOfPrerequisites()) RETURN_IF_ERROR(Follow(tx, rule, mended).status());
  for (const MendingRule& rule : RulesOfJobs()) RETURN_IF_ERROR(Follow(tx, rule, mended).status());
  RETURN_IF_ERROR(FollowAgain(tx, RulesOfInputs(), mended));
  for (const MendingRule& rule : RulesOfAttempts(now)) RETURN_IF_ERROR(Follow(tx, rule, mended).status());
  return Follow(tx, Counters(), mended).status();
}

}  // namespace longreach::store
