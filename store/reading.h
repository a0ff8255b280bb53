// Reads over several tables, for answers that people look at. Nothing is decided by them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "store/jobs.h"
#include "store/sql/connection.h"

namespace longreach::store {

// A job in a list; of a sweep's, in the state that it has there (given_up.h).
struct ListedJob {
  int64_t num = 0;
  int64_t position = 0;  // In its sweep's order of expansion; 0 when read by its num.
  std::string id{};
  std::string task{};
  std::string encoding{};
  bool randomized = false;
  double learning_rate = 0;
  uint32_t seed = 0;
  State state = State::kQueued;
  bool diverged = false;
  int diverged_at = 0;
  int failures = 0;
  int losses = 0;
  std::string failure{};
  int steps = 0;
  int checkpoint_step = 0;
  std::optional<int64_t> attempt{};
  int attempt_step = 0;         // Of a leased one: the last that this attempt told of.
  std::optional<double> score{};  // Of the metric that was asked for, over all lengths.
};

// Jobs in one of these states, and those that diverged if they are asked for; where nothing is asked for, all.
struct JobFilter {
  std::set<State> states{};
  bool diverged = false;
};

// Members of a sweep behind a position (-1: from the start) in order of expansion, at most `limit`.
absl::StatusOr<std::vector<ListedJob>> ListSweepJobs(sql::Connection& db, int64_t sweep, int64_t after_position,
                                                     const JobFilter& filter, std::string_view score_metric, int limit);
// NOT_FOUND: there is no such job.
absl::StatusOr<ListedJob> GetListedJob(sql::Connection& db, int64_t job, std::string_view score_metric);
// Ids of jobs that begin so, ascending; at most `limit`.
absl::StatusOr<std::vector<std::string>> JobIdsBeginning(sql::Connection& db, std::string_view prefix, int limit);

// A job of a sweep with one of its measurements, kTrainingLoss too (loss_curves.h). The texts are the query's: there are a million of them.
struct MeasuredJob {
  int64_t num = 0;
  int64_t position = -1;  // Of a member: in its sweep's order of expansion.
  std::string_view task{};
  std::string_view encoding{};
  std::string_view data{};  // As a requirement has it.
  bool randomized = false;
  double learning_rate = 0;
  uint32_t seed = 0;
  State state = State::kQueued;  // Of a member: that it has in its sweep (given_up.h).
  bool diverged = false;
  std::optional<double> value{};
  std::string_view builds{};   // Which trained it, one a line; empty before there is a result.
  std::string_view engines{};  // The same; an attempt that was lost has not said which it had.
};
// Calls `use` for each member in order of expansion; what it is given holds for that call. Of a job's measurements only the one asked
// for is read.
absl::Status ForEachMeasuredMember(sql::Connection& db, int64_t sweep, std::string_view metric, int length,
                                   std::string_view slice, const std::function<void(const MeasuredJob&)>& use);
// The same of the jobs that make the input `input` of the members, each once.
absl::Status ForEachMeasuredMaker(sql::Connection& db, int64_t sweep, std::string_view input, std::string_view metric,
                                  int length, std::string_view slice, const std::function<void(const MeasuredJob&)>& use);

// What one job has measured of a metric at each length (not 0, all together), ascending by length.
struct LengthValue {
  int length = 0;
  double value = 0;
};
absl::StatusOr<std::vector<LengthValue>> ValuesAtLengths(sql::Connection& db, int64_t job, std::string_view metric, std::string_view slice);

// The same in all slices, ascending by length and slice; length 0 too.
struct SliceValue {
  int length = 0;
  std::string slice{};
  double value = 0;
};
absl::StatusOr<std::vector<SliceValue>> ValuesInSlices(sql::Connection& db, int64_t job, std::string_view metric);

// The part of a running attempt's pack that belongs to a sweep.
struct RunningPart {
  int64_t attempt = 0;
  std::string worker_name{};
  std::string task{};
  std::string encoding{};
  bool randomized = false;
  int members = 0;  // Jobs of the sweep, without dropped ones and those that it has given up.
  int step = 0;     // The last that it told of, or that it started from.
  int steps = 0;
  std::string worker{};       // Its id.
  int64_t position = 0;       // Of the first of these jobs, in order of expansion.
};
// Ascending by attempt. The cost depends on what runs in the store, not on the sweep's size.
absl::StatusOr<std::vector<RunningPart>> RunningInSweep(sql::Connection& db, int64_t sweep);

// Steps of a sweep's jobs that have a checkpoint and do not run.
struct StepsBegun {
  double open = 0;    // Of waiting and queued ones.
  double closed = 0;  // Of failed and cancelled ones.
};
absl::StatusOr<StepsBegun> StepsBegunInSweep(sql::Connection& db, int64_t sweep);
// Steps of the first job of a sweep: all jobs have as many where it has no systems. 0: it has no job.
absl::StatusOr<int> StepsOfFirstJob(sql::Connection& db, int64_t sweep);
// Steps of all jobs of a sweep; reads each of them.
struct StepsOfJobs {
  double all = 0;
  double succeeded = 0;
  double open = 0;  // Waiting, queued and leased.
};
absl::StatusOr<StepsOfJobs> StepsOfAllJobs(sql::Connection& db, int64_t sweep);

// When the last attempt ended that had a job of the sweep. Nothing: none has. Reads each of its jobs.
absl::StatusOr<std::optional<WallTime>> LastEndInSweep(sql::Connection& db, int64_t sweep);

// All ids of the sweeps of a name, the newest first.
absl::StatusOr<std::vector<std::string>> SweepsNamed(sql::Connection& db, std::string_view name);
// All ids of sweeps that begin so.
absl::StatusOr<std::vector<std::string>> SweepIdsBeginning(sql::Connection& db, std::string_view beginning);

// Wanted queued jobs that are leased before this one to a worker that can do either: higher priority, or the same and
// submitted before.
absl::StatusOr<int64_t> JobsAhead(sql::Connection& db, int priority, int64_t job);

// Inputs of a job with a result that was made of another run of theirs than the one that is here, ascending by name (kIsOfAnotherRun, job_row.h).
absl::StatusOr<std::vector<JobInputRow>> InputsOfAnotherRun(sql::Connection& db, int64_t job);
// Members of a sweep, by their ids in order of expansion, whose result was made of another run of an input's job than the one that is here (kIsOfAnotherRun, job_row.h).
absl::StatusOr<std::vector<std::string>> MembersMadeOfAnotherRun(sql::Connection& db, int64_t sweep);

}  // namespace longreach::store
