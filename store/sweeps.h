// The tables `sweeps` and `sweep_jobs`: what users submitted, and which jobs each sweep has.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "proto/types/words.h"
#include "store/sql/connection.h"

namespace longreach::store {

// Of the sweep's members; prerequisites are not counted. Kept by triggers. What it has given up is cancelled until it has a result. Members that are still to come count as waiting, or as
// cancelled with their sweep.
struct Counts {
  int waiting = 0;
  int queued = 0;
  int leased = 0;
  int succeeded = 0;
  int failed = 0;
  int cancelled = 0;
  int diverged = 0;  // Of the succeeded.
  int jobs() const { return waiting + queued + leased + succeeded + failed + cancelled; }
  int open() const { return waiting + queued + leased; }
};

// How long a sweep was expected to take, when that was known as it was submitted.
struct Expectation {
  double seconds = 0;
  WallTime made_at{};
};

struct NewSweep {
  std::string id{};    // SHA-256 of `spec`.
  std::string name{};
  std::string spec{};  // Canonical text.
  int priority = 0;
  WallTime submitted_at{};
  int64_t jobs = 0;  // Members that AddSweepJobs will give it.
  bool aside = false;  // "last" stays the sweep that it was.
  std::string table{};  // As SetSweepTable has it.
};

struct SweepRow {
  int64_t num = 0;
  std::string id{};
  std::string name{};
  std::string spec{};
  int priority = 0;
  SweepState state = SweepState::kLive;
  WallTime submitted_at{};
  WallTime asked_at{};  // When it was last submitted (again): "last" is the newest of these.
  Counts counts{};
  int64_t to_come = 0;  // Members that are not there yet.
  // The position from which on its jobs do not follow its state and priority yet; nothing: all do.
  std::optional<int64_t> unsettled_from{};
  std::optional<Expectation> expected{};
  int64_t there() const { return counts.jobs() - to_come; }
  // Nothing of it is to be waited for: no job of it is open, or it was cancelled, and those that still are another sweep wants.
  bool is_over() const { return counts.open() == 0 || (state == SweepState::kCancelled && !unsettled_from); }
};

// Adds a live sweep; its num. ALREADY_EXISTS: there is one of this id.
absl::StatusOr<int64_t> InsertSweep(sql::Transaction& tx, const NewSweep& sweep);
// Gives a sweep the next of its jobs, in order of expansion; prerequisites are jobs outside that the members need. A job that is
// both is a member, so a sweep with prerequisites gets all its jobs at once. Jobs that were there before must be settled afterwards
// (SettleJob, or RefreshWanted and ReviveCancelledJobs for all).
absl::Status AddSweepJobs(sql::Transaction& tx, int64_t sweep, std::span<const int64_t> members,
                          std::span<const int64_t> prerequisites);

// Counts the members of a sweep from this position on, which were to come until now. From then on the counters follow the jobs by themselves.
absl::Status CountMembers(sql::Transaction& tx, int64_t sweep, int64_t first);
// Sweeps of which jobs are to come, but for cancelled ones, or do not follow it yet; ascending.
absl::StatusOr<std::vector<int64_t>> UnfinishedSweeps(sql::Connection& db);
// Those that have open jobs, but for cancelled ones; ascending.
absl::StatusOr<std::vector<int64_t>> OpenSweeps(sql::Connection& db);

// Live ones with jobs that could be leased, while no attempt of any sweep runs: nobody works. In the order of their turn.
absl::StatusOr<std::vector<int64_t>> SweepsThatWait(sql::Connection& db);

absl::StatusOr<std::optional<SweepRow>> FindSweep(sql::Connection& db, std::string_view id);
absl::StatusOr<SweepRow> GetSweep(sql::Connection& db, int64_t num);
// Newest submission first.
absl::StatusOr<std::vector<SweepRow>> ListSweeps(sql::Connection& db);
// The sweeps that have the job, as member or prerequisite, newest first.
absl::StatusOr<std::vector<SweepRow>> SweepsOfJob(sql::Connection& db, int64_t job);
// Where in the sweep's order of expansion the job is; nothing if it is no member of it.
absl::StatusOr<std::optional<int64_t>> PositionInSweep(sql::Connection& db, int64_t sweep, int64_t job);
// A sweep by a reference as people write it: an id, its beginning (at least 4 digits), a name (the newest of that name, also where it is the
// beginning of another's id), or "last". NOT_FOUND with a suggestion; INVALID_ARGUMENT when several ids begin so. Who answers people asks
// first which one they mean (scheduler/service/references.h).
absl::StatusOr<SweepRow> NewestSweep(sql::Connection& db, std::string_view reference);

// Each of these sets only what it names. After a change of state or priority the jobs must follow: SetUnsettled(0), then SettleJobs in
// the same transaction and in further ones.
absl::Status SetSweepState(sql::Transaction& tx, int64_t sweep, SweepState state);
absl::Status SetSweepPriority(sql::Transaction& tx, int64_t sweep, int priority);
absl::Status SetSweepAsked(sql::Transaction& tx, int64_t sweep, WallTime at);
absl::Status SetSweepExpected(sql::Transaction& tx, int64_t sweep, const Expectation& expected);

// How it is to be printed, as the scheduler writes it down; empty: nobody has said. No part of SweepRow: few ask, and it may be long.
absl::StatusOr<std::string> TableOfSweep(sql::Connection& db, int64_t sweep);
absl::Status SetSweepTable(sql::Transaction& tx, int64_t sweep, std::string_view table);

absl::Status SetUnsettled(sql::Transaction& tx, int64_t sweep, std::optional<int64_t> from);

// Some of a sweep's jobs, in order of expansion; members and prerequisites have positions of their own.
struct Positions {
  int64_t from = 0;
  int64_t to = int64_t{1} << 40;  // The first behind them.
};
// Computes `wanted` and `priority` anew for the unfinished jobs of a sweep: a job is wanted while a live sweep has it that has not given it up
// (given_up.h), with the highest priority among those. What is given up counts as not there for those below, too.
absl::Status RefreshWanted(sql::Transaction& tx, int64_t sweep, Positions part = {});
// The same of one job, which a sweep has got; and if a live or paused sweep has it, it is cancelled no more.
absl::Status SettleJob(sql::Transaction& tx, int64_t job);

struct DroppedJob {
  int64_t job = 0;
  std::string id{};
  int64_t attempt = 0;  // The attempt that trained it until now.
};
// Cancels the unfinished jobs of a sweep that no live or paused sweep has (failed ones stay failed): any of waiting,
// queued, leased -> cancelled. Those that were leased are returned; the caller tells their workers. The sweep's state
// must have been set before. Checkpoints of those jobs go, and those of failed ones: on a full disk, this makes room. Revived or tried
// again, such a job begins anew.
absl::StatusOr<std::vector<DroppedJob>> CancelUnwantedJobs(sql::Transaction& tx, int64_t sweep, Positions part = {});
// cancelled -> queued, or waiting when an input is not there, for the jobs of a sweep that is not cancelled, and for those that are
// wanted; how many. `wanted` must have been computed before.
absl::StatusOr<int> ReviveCancelledJobs(sql::Transaction& tx, int64_t sweep, Positions part = {});
// failed -> queued or waiting, with fresh counters and out of their split groups, for the jobs of a sweep but those that it has given up; how many.
absl::StatusOr<int> RetryFailedJobs(sql::Transaction& tx, int64_t sweep, Positions part = {});

// What has changed with some jobs of a sweep.
struct Settled {
  std::vector<DroppedJob> dropped{};
  std::vector<int64_t> running{};  // Attempts that have some of them: their workers may have to stop, or to go on.
  bool more = false;               // There are others that do not follow yet.
};
// Makes a part of a sweep's jobs follow its state and priority, and what it has given up. `more` is of no meaning.
absl::StatusOr<Settled> SettlePart(sql::Transaction& tx, const SweepRow& sweep, Positions part);
// The next of them, `most` at a time, and notes how far it has come.
absl::StatusOr<Settled> SettleJobs(sql::Transaction& tx, const SweepRow& sweep, int64_t most);
// Some of its jobs need others: the states of all must change at once.
absl::StatusOr<bool> SweepHasInputs(sql::Connection& db, int64_t sweep);

// A sweep's jobs that need others, ascending: what makes an input comes before what needs it.
absl::StatusOr<std::vector<int64_t>> SweepJobsWithInputs(sql::Connection& db, int64_t sweep);

// Those of them, ascending, that are waiting, queued or cancelled.
absl::StatusOr<std::vector<int64_t>> UnstartedJobsWithInputs(sql::Connection& db, int64_t sweep);

// Jobs of a sweep, prerequisites too, that have neither succeeded nor failed and could be packs together.
struct OpenJobs {
  std::string spec{};  // Of one of them.
  int64_t jobs = 0;
};
absl::StatusOr<std::vector<OpenJobs>> OpenJobsOfSweep(sql::Connection& db, int64_t sweep);
// What a sweep needs beside its members.
struct Prerequisites {
  int64_t jobs = 0;
  int64_t succeeded = 0;
};
absl::StatusOr<Prerequisites> CountPrerequisites(sql::Connection& db, int64_t sweep);
// Members that have failed, also those that the sweep has given up, which it counts as cancelled.
absl::StatusOr<int64_t> CountFailedMembers(sql::Connection& db, const SweepRow& sweep);

}  // namespace longreach::store
