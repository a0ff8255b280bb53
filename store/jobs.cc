#include "store/jobs.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "proto/types/job.h"
#include "store/artifacts.h"
#include "store/job_row.h"

namespace longreach::store {
namespace {

// Resolves the inputs of a new job; true: all of them are there.
absl::StatusOr<bool> ResolveInputs(sql::Transaction& tx, const NewJob& job, std::vector<int64_t>& sources) {
  static const std::string kNumAndState = fmt::format("SELECT j.num, j.state FROM jobs AS j {}", kWithId);
  bool all_there = true;
  for (const NewJobInput& input : job.inputs) {
    ASSIGN_OR_RETURN(sql::Rows rows, tx.Query(kNumAndState, input.source));
    if (!rows.Next()) {
      RETURN_IF_ERROR(rows.status());
      return absl::InternalError(fmt::format("job {} needs '{}' of job {}, which is not in the store", job.id, input.name,
                                             input.source));
    }
    sources.push_back(rows.Get<int64_t>(0));
    all_there = all_there && rows.Get<std::string>(1) == "succeeded";
  }
  return all_there;
}

struct OneJob {
  int64_t num = 0;
  State state = State::kQueued;
  bool created = false;
};

absl::StatusOr<OneJob> FoundJob(sql::Transaction& tx, const NewJob& job) {
  static const std::string kSql = fmt::format("SELECT j.num, j.spec, j.state FROM jobs AS j {}", kWithId);
  ASSIGN_OR_RETURN(sql::Rows rows, tx.Query(kSql, job.id));
  if (!rows.Next()) {
    RETURN_IF_ERROR(rows.status());
    return absl::InternalError(fmt::format("job {} is there and is not", job.id));
  }
  if (rows.Get<std::string_view>(1) != job.spec) {
    return absl::InternalError(fmt::format("job {} is in the store with another specification", job.id));
  }
  return OneJob{.num = rows.Get<int64_t>(0), .state = StateOf(rows.Get<std::string_view>(2)).value_or(State::kWaiting), .created = false};
}

absl::StatusOr<OneJob> InsertOrFindJob(sql::Transaction& tx, const NewJob& job, int64_t requirement, int64_t pack_key, Demand demand) {
  std::vector<int64_t> sources;
  ASSIGN_OR_RETURN(bool ready, ResolveInputs(tx, job, sources));
  ASSIGN_OR_RETURN(int inserted,
                   tx.Run("INSERT INTO jobs(id, experiment, task, encoding, randomized, learning_rate, seed, steps, state, "
                          "requirement, pack_key, spec, wanted, priority) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
                          "ON CONFLICT(substr(id, 1, 24)) DO NOTHING",
                          job.id, job.requirement.experiment, job.requirement.task, job.requirement.encoding, job.randomized,
                          job.learning_rate, job.seed, job.steps, ready ? "queued" : "waiting", requirement, pack_key, job.spec,
                          demand.wanted, demand.priority));
  if (inserted == 0) return FoundJob(tx, job);
  const int64_t num = tx.connection().LastInsertRow();
  for (size_t i = 0; i < job.inputs.size(); ++i) {
    const NewJobInput& input = job.inputs[i];
    RETURN_IF_ERROR(tx.Run("INSERT INTO job_inputs(job, name, source, artifact, metric) VALUES (?, ?, ?, ?, ?)", num,
                           input.name, sources[i], input.artifact, input.metric)
                        .status());
  }
  return OneJob{.num = num, .state = ready ? State::kQueued : State::kWaiting, .created = true};
}

absl::Status CheckResult(const JobResult& result) {
  if (result.diverged != result.measurements.empty()) {
    return absl::InvalidArgumentError(result.diverged ? "it is diverged and has measurements" : "it has no measurement");
  }
  for (const Measurement& m : result.measurements) {
    if (!std::isfinite(m.value)) {
      return absl::InvalidArgumentError(
          fmt::format("{} at length {} is not a finite number", m.metric, m.length));
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::string_view Word(State state) { return kJobStateWords[static_cast<size_t>(state)]; }

std::optional<State> StateOf(std::string_view word) {
  const auto found = std::ranges::find(kJobStateWords, word);
  if (found == kJobStateWords.end()) return std::nullopt;
  return static_cast<State>(found - kJobStateWords.begin());
}

std::string SelectJobs(std::string_view rest) {
  return "SELECT j.num, j.id, j.spec, r.experiment, r.task, r.task_revision, r.encoding, r.encoding_revision, "
         "r.model_revision, r.data, j.randomized, j.learning_rate, j.seed, j.steps, p.key, j.wanted, j.priority, j.state, "
         "j.attempt, j.failures, j.losses, j.failure, j.diverged, j.diverged_at, j.checkpoint_step, j.split_group "
         "FROM jobs AS j JOIN requirements AS r ON r.num = j.requirement JOIN pack_keys AS p ON p.num = j.pack_key " +
         std::string(rest);
}

JobRow ReadJob(const sql::Rows& rows) {
  JobRow job;
  int column = 0;
  const auto next = [&](auto& value) { value = rows.Get<std::remove_reference_t<decltype(value)>>(column++); };
  next(job.num);
  next(job.id);
  next(job.spec);
  next(job.requirement.experiment);
  next(job.requirement.task);
  next(job.requirement.task_revision);
  next(job.requirement.encoding);
  next(job.requirement.encoding_revision);
  next(job.requirement.model_revision);
  next(job.requirement.data);
  next(job.randomized);
  next(job.learning_rate);
  next(job.seed);
  next(job.steps);
  next(job.pack_key);
  next(job.wanted);
  next(job.priority);
  job.state = StateOf(rows.Get<std::string_view>(column++)).value_or(State::kWaiting);  // The schema admits no other word.
  next(job.attempt);
  next(job.failures);
  next(job.losses);
  next(job.failure);
  next(job.diverged);
  next(job.diverged_at);
  next(job.checkpoint_step);
  next(job.split_group);
  return job;
}

absl::StatusOr<std::vector<JobRow>> ReadJobs(sql::Rows rows) {
  std::vector<JobRow> jobs;
  while (rows.Next()) jobs.push_back(ReadJob(rows));
  RETURN_IF_ERROR(rows.status());
  return jobs;
}

absl::StatusOr<int64_t> FindOrAddRequirement(sql::Transaction& tx, const Requirement& r) {
  ASSIGN_OR_RETURN(std::optional<int64_t> found,
                   tx.First<int64_t>("SELECT num FROM requirements WHERE experiment = ? AND task = ? AND task_revision = ? "
                                     "AND encoding = ? AND encoding_revision = ? AND model_revision = ? AND data = ?",
                                     r.experiment, r.task, r.task_revision, r.encoding, r.encoding_revision, r.model_revision,
                                     r.data));
  if (found.has_value()) return *found;
  RETURN_IF_ERROR(tx.Run("INSERT INTO requirements(experiment, task, task_revision, encoding, encoding_revision, "
                         "model_revision, data) VALUES (?, ?, ?, ?, ?, ?, ?)",
                         r.experiment, r.task, r.task_revision, r.encoding, r.encoding_revision, r.model_revision, r.data)
                      .status());
  return tx.connection().LastInsertRow();
}

absl::StatusOr<int64_t> FindOrAddPackKey(sql::Transaction& tx, std::string_view key) {
  ASSIGN_OR_RETURN(std::optional<int64_t> found, tx.First<int64_t>("SELECT num FROM pack_keys WHERE key = ?", key));
  if (found.has_value()) return *found;
  RETURN_IF_ERROR(tx.Run("INSERT INTO pack_keys(key) VALUES (?)", key).status());
  return tx.connection().LastInsertRow();
}

std::string RetryFailedWhere(std::string_view which) {
  return fmt::format("UPDATE jobs SET failures = 0, losses = 0, failure = '', split_group = {}, state = {} WHERE state = 'failed' AND {}", kPackOfCheckpoint,
                     kStateToRun, which);
}

absl::Status ExactlyOne(const absl::StatusOr<int>& changed, std::string_view what) {
  RETURN_IF_ERROR(changed.status());
  if (*changed != 1) return absl::InternalError(fmt::format("{}: {} rows fit", what, *changed));
  return absl::OkStatus();
}

absl::StatusOr<InsertedJobs> InsertJobs(sql::Transaction& tx, std::span<const NewJob> jobs, Demand demand) {
  InsertedJobs result;
  result.nums.reserve(jobs.size());
  result.states.reserve(jobs.size());
  const NewJob* last = nullptr;  // Neighbours mostly ask for the same, and go together.
  int64_t requirement = 0;
  int64_t pack_key = 0;
  for (const NewJob& job : jobs) {
    if (last == nullptr || last->requirement != job.requirement) {
      ASSIGN_OR_RETURN(requirement, FindOrAddRequirement(tx, job.requirement));
    }
    if (last == nullptr || last->pack_key != job.pack_key) {
      ASSIGN_OR_RETURN(pack_key, FindOrAddPackKey(tx, job.pack_key));
    }
    last = &job;
    ASSIGN_OR_RETURN(const OneJob one, InsertOrFindJob(tx, job, requirement, pack_key, demand));
    result.nums.push_back(one.num);
    result.states.push_back(one.state);
    if (!one.created) result.found.push_back(one.num);
  }
  return result;
}

absl::StatusOr<std::optional<JobRow>> FindJob(sql::Connection& db, std::string_view id) {
  static const std::string kSql = SelectJobs(kWithId);
  ASSIGN_OR_RETURN(sql::Rows rows, db.Query(kSql, id));
  if (rows.Next()) return ReadJob(rows);
  RETURN_IF_ERROR(rows.status());
  return std::nullopt;
}

absl::StatusOr<JobRow> GetJob(sql::Connection& db, int64_t num) {
  static const std::string kSql = SelectJobs("WHERE j.num = ?");
  ASSIGN_OR_RETURN(sql::Rows rows, db.Query(kSql, num));
  if (rows.Next()) return ReadJob(rows);
  RETURN_IF_ERROR(rows.status());
  return absl::NotFoundError(fmt::format("there is no job with the number {}", num));
}

absl::StatusOr<std::optional<int64_t>> FindJobNum(sql::Connection& db, std::string_view id) {
  static const std::string kSql = fmt::format("SELECT j.num FROM jobs AS j {}", kWithId);
  return db.First<int64_t>(kSql, id);
}

absl::StatusOr<std::optional<State>> FindJobState(sql::Connection& db, std::string_view id) {
  static const std::string kSql = fmt::format("SELECT j.state FROM jobs AS j {}", kWithId);
  ASSIGN_OR_RETURN(std::optional<std::string> word, db.First<std::string>(kSql, id));
  return word.has_value() ? StateOf(*word) : std::nullopt;
}

absl::Status LeaseJobs(sql::Transaction& tx, int64_t attempt, std::span<const int64_t> jobs) {
  for (const int64_t job : jobs) {
    RETURN_IF_ERROR(ExactlyOne(
        tx.Run("UPDATE jobs SET state = 'leased', attempt = ? WHERE num = ? AND state = 'queued' AND wanted = 1", attempt, job),
        fmt::format("job {} is not queued and wanted", job)));
  }
  return absl::OkStatus();
}

absl::Status CompleteJob(sql::Transaction& tx, int64_t job, int64_t attempt, const JobResult& result) {
  RETURN_IF_ERROR(CheckResult(result));
  RETURN_IF_ERROR(ExactlyOne(tx.Run("UPDATE jobs SET state = 'succeeded', diverged = ?, diverged_at = ?, failure = '', "
                                    "checkpoint_step = 0 WHERE num = ? AND state = 'leased' AND attempt = ?",
                                    result.diverged, result.diverged ? result.diverged_at : 0, job, attempt),
                             fmt::format("job {} is not leased to attempt {}", job, attempt)));
  for (const Measurement& m : result.measurements) {
    const absl::Status status =
        tx.Run("INSERT INTO measurements(job, metric, length, slice, value) VALUES (?, ?, ?, ?, ?)", job, m.metric, m.length,
               m.slice, m.value)
            .status();
    if (status.code() == absl::StatusCode::kAlreadyExists) {
      return absl::InvalidArgumentError(
          fmt::format("{} at length {} is there twice (slice '{}')", m.metric, m.length, m.slice));
    }
    RETURN_IF_ERROR(status);
  }
  // An attempt before, on another device, may have come further.
  if (result.diverged) RETURN_IF_ERROR(tx.Run("DELETE FROM progress WHERE job = ? AND step > ?", job, result.diverged_at).status());
  return KeepFilesOfResult(tx, job, attempt);
}

absl::Status RequeueJob(sql::Transaction& tx, int64_t job, int64_t attempt, const Requeue& requeue) {
  return ExactlyOne(tx.Run("UPDATE jobs SET state = 'queued', attempt = NULL, failures = ?, losses = ?, failure = ?, "
                           "split_group = ? WHERE num = ? AND state = 'leased' AND attempt = ?",
                           requeue.failures, requeue.losses, requeue.failure, requeue.split_group, job, attempt),
                    fmt::format("job {} is not leased to attempt {}", job, attempt));
}

absl::Status FailJob(sql::Transaction& tx, int64_t job, int64_t attempt, const Requeue& last) {
  return ExactlyOne(tx.Run("UPDATE jobs SET state = 'failed', attempt = NULL, failures = ?, losses = ?, failure = ?, "
                           "split_group = ? WHERE num = ? AND state = 'leased' AND attempt = ?",
                           last.failures, last.losses, last.failure, last.split_group, job, attempt),
                    fmt::format("job {} is not leased to attempt {}", job, attempt));
}

absl::Status FailUnstartedJob(sql::Transaction& tx, int64_t job, std::string_view failure) {
  return ExactlyOne(tx.Run("UPDATE jobs SET state = 'failed', failure = ? WHERE num = ? AND state IN ('waiting', 'queued')",
                           failure, job),
                    fmt::format("job {} is neither waiting nor queued", job));
}

absl::Status ReleaseJob(sql::Transaction& tx, int64_t job) {
  static const std::string kSql = fmt::format("UPDATE jobs SET state = 'queued' WHERE num = ? AND state = 'waiting' AND {} = 'queued'", kStateToRun);
  return ExactlyOne(tx.Run(kSql, job), fmt::format("job {} does not wait, or an input is not there", job));
}

absl::StatusOr<std::vector<int64_t>> DependantsOf(sql::Connection& db, int64_t source) {
  return db.All<int64_t>("SELECT job FROM job_inputs WHERE source = ? ORDER BY job, name", source);
}

absl::StatusOr<std::vector<JobInputRow>> InputsOf(sql::Connection& db, int64_t job) {
  ASSIGN_OR_RETURN(sql::Rows rows, db.Query("SELECT i.name, i.source, s.id, s.state, s.diverged, s.failure, i.artifact, i.metric "
                                            "FROM job_inputs AS i JOIN jobs AS s ON s.num = i.source WHERE i.job = ? "
                                            "ORDER BY i.name",
                                            job));
  std::vector<JobInputRow> inputs;
  while (rows.Next()) {
    inputs.push_back({.name = rows.Get<std::string>(0),
                      .source = rows.Get<int64_t>(1),
                      .source_id = rows.Get<std::string>(2),
                      .source_state = StateOf(rows.Get<std::string_view>(3)).value_or(State::kWaiting),
                      .source_diverged = rows.Get<bool>(4),
                      .source_failure = rows.Get<std::string>(5),
                      .artifact = rows.Get<std::string>(6),
                      .metric = rows.Get<std::string>(7)});
  }
  RETURN_IF_ERROR(rows.status());
  return inputs;
}

}  // namespace longreach::store
