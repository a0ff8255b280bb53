// The table `jobs`: one row per training or evaluation run, and what may happen to it. The states are those of DESIGN:
//
//   waiting -> queued -> leased -> succeeded | failed;   all but succeeded -> cancelled -> queued
//
// Every function that changes a state repeats the rule of scheduler/core in its WHERE clause and returns INTERNAL, which
// takes the whole event back, when the row is not what the caller thought. The counters in `sweeps` follow by triggers.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "store/sql/connection.h"

namespace longreach::store {

// In the order of longreach::JobState's alternatives (proto/types/job.h).
enum class State { kWaiting, kQueued, kLeased, kSucceeded, kFailed, kCancelled };
// One of kJobStateWords, in whose order they are.
std::string_view Word(State state);
std::optional<State> StateOf(std::string_view word);

// What a job asks of a worker. Jobs share a few of these, so that finding work for a worker needs one look per kind
// of work and not one per job.
struct Requirement {
  std::string experiment{};
  std::string task{};
  int task_revision = 1;
  std::string encoding{};
  int encoding_revision = 1;
  int model_revision = 1;
  std::string data{};  // Names of data sets, as the scheduler joins them; empty: none.
  bool operator==(const Requirement&) const = default;
};

struct NewJobInput {
  std::string name{};
  std::string source{};    // The id of the job that makes it; must be in the store or in the same call.
  std::string artifact{};  // Exactly one of artifact (a kind) and metric (a name); the other is empty.
  std::string metric{};
};

// A job as it is first written. Its `state` follows from its inputs.
struct NewJob {
  std::string id{};    // SHA-256 of `spec`.
  std::string spec{};  // Canonical text.
  Requirement requirement{};
  bool randomized = false;
  double learning_rate = 0;
  uint32_t seed = 0;
  int steps = 0;
  std::string pack_key{};
  std::vector<NewJobInput> inputs{};
};

struct JobRow {
  int64_t num = 0;  // Also the order of submission.
  std::string id{};
  std::string spec{};
  Requirement requirement{};
  bool randomized = false;
  double learning_rate = 0;
  uint32_t seed = 0;
  int steps = 0;
  std::string pack_key{};
  // A live sweep has it. Kept for all jobs that have not succeeded.
  bool wanted = false;
  // The highest among the live sweeps that have it; 0 when there is none.
  int priority = 0;
  State state = State::kQueued;
  // leased: the attempt that trains it; succeeded: the one whose result was accepted; else nothing.
  std::optional<int64_t> attempt{};
  int failures = 0;
  int losses = 0;
  std::string failure{};  // Why it failed, or why its last attempt did; empty: neither.
  bool diverged = false;
  int diverged_at = 0;      // Updates done when its loss was not finite.
  int checkpoint_step = 0;  // Of its newest checkpoint; 0: none.
  int64_t split_group = 0;  // Jobs are packed only with jobs of the same group. Negative: those that go on from where their pack was interrupted.
};

// ---- Submission.

struct InsertedJobs {
  std::vector<int64_t> nums{};  // One for each given job, in order.
  std::vector<State> states{};    // Of each.
  std::vector<int64_t> found{};   // Those that were there before.
};
// What the sweep asks for that brings new jobs.
struct Demand {
  bool wanted = false;
  int priority = 0;
};
// Adds the jobs that are not there yet and finds those that are. New ones are `waiting` when an input is not there yet, else `queued`, and
// wanted as `demand` says; the sweep must have them at the end of the same transaction (AddSweepJobs).
// INTERNAL: an input's source is unknown (sources come before the jobs that need them), or another spec under the id.
absl::StatusOr<InsertedJobs> InsertJobs(sql::Transaction& tx, std::span<const NewJob> jobs, Demand demand = {});

// ---- Reading. Nothing or NOT_FOUND as the type says.

absl::StatusOr<std::optional<JobRow>> FindJob(sql::Connection& db, std::string_view id);
absl::StatusOr<JobRow> GetJob(sql::Connection& db, int64_t num);
absl::StatusOr<std::optional<int64_t>> FindJobNum(sql::Connection& db, std::string_view id);
absl::StatusOr<std::optional<State>> FindJobState(sql::Connection& db, std::string_view id);

// ---- Finding work. The cost depends on the number of kinds of work, not on the number of jobs.

struct RequirementRow {
  int64_t num = 0;
  Requirement requirement{};
};
// All that jobs of this store have ever asked for, ascending by num; rows are never changed or removed.
absl::StatusOr<std::vector<RequirementRow>> Requirements(sql::Connection& db);

// Jobs that may be leased together.
struct LeaseGroup {
  int64_t first = 0;  // The num of its first job in line.
  int priority = 0;   // Of that job.
  int64_t pack_key = 0;
  int checkpoint_step = 0;
  int64_t split_group = 0;
};
// The group whose turn it is among the wanted queued jobs with this requirement: highest priority, then lowest num.
absl::StatusOr<std::optional<LeaseGroup>> NextGroup(sql::Connection& db, int64_t requirement);
// The wanted queued jobs of a group in line: by priority, then num; at most `limit`.
absl::StatusOr<std::vector<JobRow>> JobsOfGroup(sql::Connection& db, const LeaseGroup& group, int limit);
// The wanted queued jobs with this requirement in line, whatever their groups; at most `limit`.
absl::StatusOr<std::vector<JobRow>> FirstReady(sql::Connection& db, int64_t requirement, int limit);
// How many wanted queued jobs each group has, in no order. For lists: its cost grows with the number of jobs.
absl::StatusOr<std::vector<int64_t>> ReadyGroupSizes(sql::Connection& db);

// ---- The life of a job. `attempt` is the fencing token: a job that does not hold it is INTERNAL here; the caller has
// decided before whether a late report is refused or ignored.

// queued and wanted -> leased, for all of them.
absl::Status LeaseJobs(sql::Transaction& tx, int64_t attempt, std::span<const int64_t> jobs);

struct Measurement {
  std::string metric{};
  int length = 0;
  std::string slice{};
  double value = 0;
};
struct JobResult {
  bool diverged = false;
  int diverged_at = 0;
  std::vector<Measurement> measurements{};
};
// leased to `attempt` -> succeeded, with its measurements; its checkpoints' rows go (RemoveCheckpoints).
// INVALID_ARGUMENT: a value that is not finite, a measurement twice, measurements of a diverged job, or none of
// one that is not: nothing is written then.
absl::Status CompleteJob(sql::Transaction& tx, int64_t job, int64_t attempt, const JobResult& result);

// leased to `attempt` -> queued. Counters are the new values, not increments.
struct Requeue {
  int failures = 0;
  int losses = 0;
  std::string failure{};
  int64_t split_group = 0;
};
absl::Status RequeueJob(sql::Transaction& tx, int64_t job, int64_t attempt, const Requeue& requeue);

// leased to `attempt` -> failed.
absl::Status FailJob(sql::Transaction& tx, int64_t job, int64_t attempt, const Requeue& last);
// waiting or queued -> failed, because of an input. `failure` says so: "input failed: weights (job 1a2b3c4d)".
absl::Status FailUnstartedJob(sql::Transaction& tx, int64_t job, std::string_view failure);
// waiting -> queued; its inputs must all be there.
absl::Status ReleaseJob(sql::Transaction& tx, int64_t job);

// Jobs that need something of `source`, ascending; of several things, as often.
absl::StatusOr<std::vector<int64_t>> DependantsOf(sql::Connection& db, int64_t source);

struct JobInputRow {
  std::string name{};
  int64_t source = 0;
  std::string source_id{};
  State source_state = State::kWaiting;
  bool source_diverged = false;
  std::string source_failure{};
  std::string artifact{};
  std::string metric{};
};
// Ascending by name.
absl::StatusOr<std::vector<JobInputRow>> InputsOf(sql::Connection& db, int64_t job);

}  // namespace longreach::store
