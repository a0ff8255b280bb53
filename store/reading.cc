#include "store/reading.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "proto/types/words.h"
#include "store/given_up.h"
#include "store/job_row.h"
#include "store/loss_curves.h"
#include "store/reference.h"

namespace longreach::store {
namespace {

// Binds the metric of the score, then what `rest` binds. Only of what runs the attempt is looked up: of the others nobody asks for its step.
std::string SelectListed(std::string_view position, std::string_view state, std::string_view from, std::string_view rest) {
  return fmt::format(
      "SELECT {}, j.num, j.id, j.task, j.encoding, j.randomized, j.learning_rate, j.seed, {}, j.diverged, j.diverged_at, "
      "j.failures, j.losses, j.failure, j.steps, j.checkpoint_step, j.attempt, a.step, m.value FROM {} "
      "LEFT JOIN attempts AS a ON a.id = iif(j.state = 'leased', j.attempt, NULL) "
      "LEFT JOIN measurements AS m ON m.job = j.num AND m.metric = ? AND m.length = 0 AND m.slice = '' {}",
      position, state, from, rest);
}

ListedJob ReadListed(const sql::Rows& rows) {
  return {.num = rows.Get<int64_t>(1),
          .position = rows.Get<int64_t>(0),
          .id = rows.Get<std::string>(2),
          .task = rows.Get<std::string>(3),
          .encoding = rows.Get<std::string>(4),
          .randomized = rows.Get<bool>(5),
          .learning_rate = rows.Get<double>(6),
          .seed = rows.Get<uint32_t>(7),
          .state = StateOf(rows.Get<std::string_view>(8)).value_or(State::kFailed),  // The schema admits no other.
          .diverged = rows.Get<bool>(9),
          .diverged_at = rows.Get<int>(10),
          .failures = rows.Get<int>(11),
          .losses = rows.Get<int>(12),
          .failure = rows.Get<std::string>(13),
          .steps = rows.Get<int>(14),
          .checkpoint_step = rows.Get<int>(15),
          .attempt = rows.Get<std::optional<int64_t>>(16),
          .attempt_step = rows.Get<int>(17),
          .score = rows.Get<std::optional<double>>(18)};
}

}  // namespace

absl::StatusOr<std::vector<ListedJob>> ListSweepJobs(sql::Connection& db, int64_t sweep, int64_t after_position,
                                                     const JobFilter& filter, std::string_view score_metric, int limit) {
  // No state's word is within another one.
  static const std::string kSql =
      SelectListed("sj.position", StateIn("sj"), "sweep_jobs AS sj CROSS JOIN jobs AS j ON j.num = sj.job",
                   fmt::format("WHERE sj.sweep = ? AND sj.role = 'member' AND sj.position > ? AND (? = '' OR instr(?, {}) > 0 "
                               "OR (? AND j.diverged)) ORDER BY sj.position LIMIT ?",
                               StateIn("sj")));
  std::string states;  // "failed,queued,"
  for (const State state : filter.states) (states += Word(state)) += ',';
  if (states.empty() && filter.diverged) states = ",";
  ASSIGN_OR_RETURN(sql::Rows rows, db.Query(kSql, score_metric, sweep, after_position, states, states, filter.diverged, limit));
  std::vector<ListedJob> jobs;
  while (rows.Next()) jobs.push_back(ReadListed(rows));
  RETURN_IF_ERROR(rows.status());
  return jobs;
}

absl::StatusOr<ListedJob> GetListedJob(sql::Connection& db, int64_t job, std::string_view score_metric) {
  static const std::string kSql = SelectListed("0", "j.state", "jobs AS j", "WHERE j.num = ?");
  ASSIGN_OR_RETURN(sql::Rows rows, db.Query(kSql, score_metric, job));
  if (rows.Next()) return ReadListed(rows);
  RETURN_IF_ERROR(rows.status());
  return absl::NotFoundError(fmt::format("there is no job with the number {}", job));
}

absl::StatusOr<std::vector<std::string>> JobIdsBeginning(sql::Connection& db, std::string_view prefix, int limit) {
  // The index has the ids' beginnings, in the order of the ids; what is longer than these is compared beside it.
  const std::string_view beginning = prefix.substr(0, 24);
  return db.All<std::string>("SELECT id FROM jobs WHERE substr(id, 1, 24) >= ? AND substr(id, 1, 24) < ? AND id >= ? AND id < ? "
                             "ORDER BY substr(id, 1, 24) LIMIT ?",
                             beginning, AfterPrefix(beginning), prefix, AfterPrefix(prefix), limit);
}

namespace {

// Of the attempts that a job's result is of, a column, one a line: of the attempt `a` that brought it and, where that went on from a checkpoint, of those whose checkpoints
// were gone on from, back to the one that began.
std::string OfMakers(std::string_view column) {
  // Whose checkpoint an attempt of before the thirteenth schema went on from nobody has written down: the last one's before it, in the midst of others.
  constexpr std::string_view kByOrigins =
      "(WITH RECURSIVE makers(id) AS (SELECT a.id UNION SELECT coalesce(o.from_attempt, iif(x.start_step > 0, (SELECT max(b.attempt) FROM attempt_jobs AS b "
      "WHERE b.job = j.num AND b.attempt < x.id), NULL)) FROM makers JOIN attempts AS x ON x.id = makers.id JOIN attempt_jobs AS o ON o.job = j.num AND o.attempt = x.id) "
      "SELECT group_concat(x.{0}, char(10)) FROM makers JOIN attempts AS x ON x.id = makers.id)";
  // Where `a` itself is such a one. While a job is tested it stays at its last step (of one that is only tested at 0): which of the attempts that began there left tests behind is
  // not known, so that all count that did not fail.
  constexpr std::string_view kBySteps =
      "(SELECT group_concat({0}, char(10)) FROM ("
      "SELECT x.id, x.{0}, x.outcome, x.start_step, lead(x.start_step) OVER (ORDER BY x.id) AS next_step FROM attempt_jobs AS xj "
      "JOIN attempts AS x ON x.id = xj.attempt WHERE xj.job = j.num AND x.id <= a.id AND (j.steps = 0 OR x.id >= ("
      "SELECT ifnull(max(y.id), 0) FROM attempt_jobs AS yj JOIN attempts AS y ON y.id = yj.attempt WHERE yj.job = j.num AND y.id < a.id AND y.start_step = 0))) "
      "WHERE id = a.id OR next_step > start_step OR (start_step = j.steps AND next_step = start_step AND outcome IN ('given_back', 'lost')))";
  return fmt::format("CASE WHEN a.start_step > 0 OR (j.steps = 0 AND j.experiment <> 'noop') THEN iif((SELECT o.from_attempt FROM attempt_jobs AS o "
                     "WHERE o.job = j.num AND o.attempt = a.id) IS NULL, {1}, {2}) ELSE a.{0} END",
                     column, fmt::format(kBySteps, column), fmt::format(kByOrigins, column));
}

// What is read of a job `j`, with the column of `m` that has the value. Task and encoding are those of its requirement: a number is read
// faster than two texts.
std::string MeasuredColumns(std::string_view value, std::string_view state) {
  return fmt::format("j.requirement, j.randomized, j.learning_rate, j.seed, {}, j.diverged, m.{}, {}, j.num, {}", state, value, OfMakers("build"), OfMakers("engine"));
}
constexpr std::string_view kAttemptJoin = "LEFT JOIN attempts AS a ON a.id = j.attempt ";
// The whole primary key of measurements is bound, so that a job's other lengths are never looked at.
constexpr std::string_view kMeasurementJoin = "LEFT JOIN measurements AS m ON m.job = j.num AND m.metric = ? AND m.length = ? AND m.slice = ? ";

// Bind what `join` binds, then the sweep.
std::string SelectMembers(std::string_view value, std::string_view join) {
  return fmt::format("SELECT sj.position, {} FROM sweep_jobs AS sj CROSS JOIN jobs AS j ON j.num = sj.job {} {} "
                     "WHERE sj.sweep = ? AND sj.role = 'member' ORDER BY sj.position",
                     MeasuredColumns(value, StateIn("sj")), kAttemptJoin, join);
}
// Bind the input and the sweep, then what `join` binds.
std::string SelectMakers(std::string_view value, std::string_view join) {
  return fmt::format("SELECT -1, {} FROM (SELECT DISTINCT ji.source AS num FROM sweep_jobs AS sj CROSS JOIN job_inputs AS ji ON ji.job = sj.job "
                     "WHERE ji.name = ? AND sj.sweep = ? AND sj.role = 'member') AS maker CROSS JOIN jobs AS j ON j.num = maker.num {} {} "
                     "ORDER BY j.num",
                     MeasuredColumns(value, "j.state"), kAttemptJoin, join);
}

absl::Status ReadMeasured(sql::Connection& db, sql::Rows rows, const std::function<void(const MeasuredJob&)>& use) {
  ASSIGN_OR_RETURN(const std::vector<RequirementRow> requirements, Requirements(db));
  const RequirementRow* requirement = nullptr;  // Neighbours mostly have the same.
  while (rows.Next()) {
    const auto num = rows.Get<int64_t>(1);
    if (requirement == nullptr || requirement->num != num) {
      const auto found = std::ranges::lower_bound(requirements, num, {}, &RequirementRow::num);
      if (found == requirements.end() || found->num != num) return absl::InternalError(fmt::format("there is no requirement {}", num));
      requirement = &*found;
    }
    use({.num = rows.Get<int64_t>(9),
         .position = rows.Get<int64_t>(0),
         .task = requirement->requirement.task,
         .encoding = requirement->requirement.encoding,
         .data = requirement->requirement.data,
         .randomized = rows.Get<bool>(2),
         .learning_rate = rows.Get<double>(3),
         .seed = rows.Get<uint32_t>(4),
         .state = StateOf(rows.Get<std::string_view>(5)).value_or(State::kFailed),
         .diverged = rows.Get<bool>(6),
         .value = rows.Get<std::optional<double>>(7),
         .builds = rows.Get<std::string_view>(8),
         .engines = rows.Get<std::string_view>(10)});
  }
  return rows.status();
}

}  // namespace

absl::Status ForEachMeasuredMember(sql::Connection& db, int64_t sweep, std::string_view metric, int length,
                                   std::string_view slice, const std::function<void(const MeasuredJob&)>& use) {
  static const std::string kMeasured = SelectMembers("value", kMeasurementJoin), kLosses = SelectMembers("loss", LossJoin());
  ASSIGN_OR_RETURN(sql::Rows rows, metric == kTrainingLoss ? db.Query(kLosses, StepOf(length, slice), sweep)
                                                           : db.Query(kMeasured, metric, length, slice, sweep));
  return ReadMeasured(db, std::move(rows), use);
}

absl::Status ForEachMeasuredMaker(sql::Connection& db, int64_t sweep, std::string_view input, std::string_view metric,
                                  int length, std::string_view slice, const std::function<void(const MeasuredJob&)>& use) {
  static const std::string kMeasured = SelectMakers("value", kMeasurementJoin), kLosses = SelectMakers("loss", LossJoin());
  ASSIGN_OR_RETURN(sql::Rows rows, metric == kTrainingLoss ? db.Query(kLosses, input, sweep, StepOf(length, slice))
                                                           : db.Query(kMeasured, input, sweep, metric, length, slice));
  return ReadMeasured(db, std::move(rows), use);
}

absl::StatusOr<std::vector<LengthValue>> ValuesAtLengths(sql::Connection& db, int64_t job, std::string_view metric, std::string_view slice) {
  ASSIGN_OR_RETURN(sql::Rows rows, db.Query("SELECT length, value FROM measurements WHERE job = ? AND metric = ? AND slice = ? AND length > 0 "
                                            "ORDER BY length",
                                            job, metric, slice));
  std::vector<LengthValue> values;
  while (rows.Next()) values.push_back({.length = rows.Get<int>(0), .value = rows.Get<double>(1)});
  RETURN_IF_ERROR(rows.status());
  return values;
}

absl::StatusOr<std::vector<SliceValue>> ValuesInSlices(sql::Connection& db, int64_t job, std::string_view metric) {
  if (metric == kTrainingLoss) return LossesInSlices(db, job);
  ASSIGN_OR_RETURN(sql::Rows rows, db.Query("SELECT length, slice, value FROM measurements WHERE job = ? AND metric = ? ORDER BY length, slice", job, metric));
  std::vector<SliceValue> values;
  while (rows.Next()) values.push_back({.length = rows.Get<int>(0), .slice = rows.Get<std::string>(1), .value = rows.Get<double>(2)});
  RETURN_IF_ERROR(rows.status());
  return values;
}

absl::StatusOr<std::vector<RunningPart>> RunningInSweep(sql::Connection& db, int64_t sweep) {
  // From what runs, by the partial index, to the sweep: CROSS JOIN keeps this order.
  static const std::string kSql = fmt::format(
      "SELECT a.id, w.name, j.task, j.encoding, j.randomized, count(*), max(a.step, a.start_step, max(j.checkpoint_step)), "
      "max(j.steps), a.worker, min(sj.position) FROM attempts AS a INDEXED BY attempts_running "
      "CROSS JOIN attempt_jobs AS aj ON aj.attempt = a.id AND aj.dropped = 0 "
      "CROSS JOIN sweep_jobs AS sj ON sj.job = aj.job AND sj.sweep = ? AND sj.role = 'member' "
      "CROSS JOIN jobs AS j ON j.num = aj.job JOIN workers AS w ON w.id = a.worker "
      "WHERE a.ended_at IS NULL AND {} GROUP BY a.id ORDER BY a.id",
      NotGivenUp("sj"));
  ASSIGN_OR_RETURN(sql::Rows rows, db.Query(kSql, sweep));
  std::vector<RunningPart> parts;
  while (rows.Next()) {
    parts.push_back({.attempt = rows.Get<int64_t>(0),
                     .worker_name = rows.Get<std::string>(1),
                     .task = rows.Get<std::string>(2),
                     .encoding = rows.Get<std::string>(3),
                     .randomized = rows.Get<bool>(4),
                     .members = rows.Get<int>(5),
                     .step = rows.Get<int>(6),
                     .steps = rows.Get<int>(7),
                     .worker = rows.Get<std::string>(8),
                     .position = rows.Get<int64_t>(9)});
  }
  RETURN_IF_ERROR(rows.status());
  return parts;
}

absl::StatusOr<StepsBegun> StepsBegunInSweep(sql::Connection& db, int64_t sweep) {
  // The WHERE clause on jobs is that of the partial index jobs_begun.
  static const std::string kSql = fmt::format(
      "SELECT total(iif({0} IN ('waiting', 'queued'), j.checkpoint_step, 0)), "
      "total(iif({0} IN ('failed', 'cancelled'), j.checkpoint_step, 0)) "
      "FROM jobs AS j INDEXED BY jobs_begun CROSS JOIN sweep_jobs AS sj "
      "ON sj.job = j.num AND sj.sweep = ? AND sj.role = 'member' "
      "WHERE j.checkpoint_step > 0 AND j.state NOT IN ('leased', 'succeeded')",
      StateIn("sj"));
  ASSIGN_OR_RETURN(sql::Rows rows, db.Query(kSql, sweep));
  StepsBegun begun;
  if (rows.Next()) begun = {.open = rows.Get<double>(0), .closed = rows.Get<double>(1)};
  RETURN_IF_ERROR(rows.status());
  return begun;
}

absl::StatusOr<StepsOfJobs> StepsOfAllJobs(sql::Connection& db, int64_t sweep) {
  static const std::string kSql = fmt::format(
      "SELECT total(j.steps), total(iif(j.state = 'succeeded', j.steps, 0)), total(iif({} IN ('waiting', 'queued', 'leased'), j.steps, 0)) "
      "FROM sweep_jobs AS sj JOIN jobs AS j ON j.num = sj.job WHERE sj.sweep = ? AND sj.role = 'member'",
      StateIn("sj"));
  ASSIGN_OR_RETURN(sql::Rows rows, db.Query(kSql, sweep));
  StepsOfJobs steps;
  if (rows.Next()) steps = {.all = rows.Get<double>(0), .succeeded = rows.Get<double>(1), .open = rows.Get<double>(2)};
  RETURN_IF_ERROR(rows.status());
  return steps;
}

absl::StatusOr<int> StepsOfFirstJob(sql::Connection& db, int64_t sweep) {
  ASSIGN_OR_RETURN(std::optional<int> steps,
                   db.First<int>("SELECT j.steps FROM sweep_jobs AS sj JOIN jobs AS j ON j.num = sj.job "
                                 "WHERE sj.sweep = ? AND sj.role = 'member' ORDER BY sj.position LIMIT 1",
                                 sweep));
  return steps.value_or(0);
}

absl::StatusOr<std::optional<WallTime>> LastEndInSweep(sql::Connection& db, int64_t sweep) {
  return db.One<std::optional<WallTime>>("SELECT max(a.ended_at) FROM sweep_jobs AS sj CROSS JOIN attempt_jobs AS aj ON aj.job = sj.job "
                                         "CROSS JOIN attempts AS a ON a.id = aj.attempt WHERE sj.sweep = ? AND sj.role = 'member'",
                                         sweep);
}

absl::StatusOr<std::vector<std::string>> SweepsNamed(sql::Connection& db, std::string_view name) {
  return db.All<std::string>("SELECT id FROM sweeps WHERE name = ? ORDER BY asked_at DESC, num DESC", name);
}

absl::StatusOr<std::vector<std::string>> SweepIdsBeginning(sql::Connection& db, std::string_view beginning) {
  return db.All<std::string>("SELECT id FROM sweeps WHERE id >= ? AND id < ? ORDER BY id", beginning, AfterPrefix(beginning));
}

absl::StatusOr<int64_t> JobsAhead(sql::Connection& db, int priority, int64_t job) {
  // Two ranges of the partial index jobs_ready for each kind of work.
  return db.One<int64_t>(
      "SELECT ifnull(sum((SELECT count(*) FROM jobs AS j WHERE j.requirement = r.num AND j.state = 'queued' AND j.wanted = 1 "
      "AND j.priority > ?) + (SELECT count(*) FROM jobs AS j WHERE j.requirement = r.num AND j.state = 'queued' "
      "AND j.wanted = 1 AND j.priority = ? AND j.num < ?)), 0) FROM requirements AS r",
      priority, priority, job);
}

absl::StatusOr<std::vector<JobInputRow>> InputsOfAnotherRun(sql::Connection& db, int64_t job) {
  static const std::string kSql = fmt::format("SELECT i.name FROM job_inputs AS i CROSS JOIN jobs AS s ON s.num = i.source CROSS JOIN jobs AS j ON j.num = i.job "
                                              "WHERE i.job = ? AND j.state = 'succeeded' AND {} ORDER BY i.name",
                                              kIsOfAnotherRun);
  ASSIGN_OR_RETURN(const std::vector<std::string> names, db.All<std::string>(kSql, job));
  ASSIGN_OR_RETURN(std::vector<JobInputRow> inputs, InputsOf(db, job));
  std::erase_if(inputs, [&names](const JobInputRow& input) { return !std::ranges::binary_search(names, input.name); });
  return inputs;
}

absl::StatusOr<std::vector<std::string>> MembersMadeOfAnotherRun(sql::Connection& db, int64_t sweep) {
  static const std::string kSql = fmt::format("SELECT j.id FROM sweep_jobs AS sj CROSS JOIN jobs AS j ON j.num = sj.job WHERE sj.sweep = ? AND sj.role = 'member' AND j.state = 'succeeded' AND EXISTS ("
                                              "SELECT 1 FROM job_inputs AS i CROSS JOIN jobs AS s ON s.num = i.source WHERE i.job = j.num AND {}) ORDER BY sj.position",
                                              kIsOfAnotherRun);
  return db.All<std::string>(kSql, sweep);
}

}  // namespace longreach::store
