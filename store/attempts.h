// The tables `attempts` and `attempt_jobs`: each execution of a pack, for ever. An attempt's id is never used again.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "proto/types/words.h"
#include "store/jobs.h"
#include "store/sql/connection.h"

namespace longreach::store {

struct NewAttempt {
  std::string worker{};  // Its id; the worker must have a row.
  uint64_t incarnation = 0;
  WallTime started_at{};
  std::string build{};
  std::string device{};
  int threads = 0;
  int start_step = 0;
  std::string device_id{};  // Which one of its kind; empty: its worker did not say.
};

struct AttemptRow {
  int64_t id = 0;
  std::string worker{};
  std::string worker_name{};
  uint64_t incarnation = 0;
  WallTime started_at{};
  std::optional<WallTime> ended_at{};
  std::optional<Outcome> outcome{};  // Nothing while it runs.
  std::string detail{};
  std::string build{};
  std::string device{};
  std::string engine{};
  int threads = 0;
  int members = 0;     // At its start.
  int start_step = 0;
  int step = 0;        // The last that it told of.
  // Of AttemptsOfJob() alone: whose checkpoint of that job it went on from, at `start_step`. Nothing: none's, or it was not written down.
  std::optional<int64_t> from_attempt{};
  std::string device_id{};
};

struct AttemptMember {
  int member = 0;  // Position along the pack axis.
  int64_t job = 0;
  std::string id{};
  int steps = 0;  // Of the job.
  bool dropped = false;
  std::optional<int64_t> from_attempt{};  // As AttemptRow has it.
};

// Adds an attempt with its members in order and leases the jobs to it (LeaseJobs); its id. Each goes on from its newest checkpoint, if it has one of use: whose that is
// is written down.
absl::StatusOr<int64_t> StartAttempt(sql::Transaction& tx, const NewAttempt& attempt, std::span<const int64_t> jobs);

absl::StatusOr<std::optional<AttemptRow>> FindAttempt(sql::Connection& db, int64_t id);
// In order of the pack axis, dropped ones included.
absl::StatusOr<std::vector<AttemptMember>> MembersOf(sql::Connection& db, int64_t attempt);
// The same with the whole jobs, without the dropped ones: what a lease is made of.
absl::StatusOr<std::vector<JobRow>> JobsOfAttempt(sql::Connection& db, int64_t attempt);
// Attempts that have not ended, ascending: of one worker, or all.
absl::StatusOr<std::vector<AttemptRow>> UnfinishedAttempts(sql::Connection& db, std::string_view worker);
absl::StatusOr<std::vector<AttemptRow>> UnfinishedAttempts(sql::Connection& db);
// Attempts that had the job, newest first.
absl::StatusOr<std::vector<AttemptRow>> AttemptsOfJob(sql::Connection& db, int64_t job);

// An attempt that trained its pack from the first step to the result.
struct MeasuredAttempt {
  std::string worker{};  // Its id.
  double seconds = 0;
  // How many attempts its worker had meanwhile, itself included, in the mean over this time: each has a part of the machine.
  double at_once = 1;
  int members = 0;
  std::string spec{};    // Canonical text of its first job.
};
// The newest of them first, at most `limit`.
absl::StatusOr<std::vector<MeasuredAttempt>> MeasuredAttempts(sql::Connection& db, int limit);

// Marks a member as dropped: it gets no result. The job's own state is the caller's.
absl::Status DropMember(sql::Transaction& tx, int64_t attempt, int64_t job);
absl::Status SetAttemptStep(sql::Transaction& tx, int64_t attempt, int step);
// It began at this step, before the one that it was leased for, from another checkpoint of its jobs or none. Of one that has ended, or began there or earlier, nothing
// is written.
absl::Status SetAttemptStart(sql::Transaction& tx, int64_t attempt, int step);
// Ends an attempt that has not ended: INTERNAL otherwise, or when a job is still leased to it.
absl::Status EndAttempt(sql::Transaction& tx, int64_t attempt, Outcome outcome, std::string_view detail,
                        std::string_view engine, WallTime at);

}  // namespace longreach::store
