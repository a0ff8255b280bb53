#include "store/merge.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "proto/base/text.h"
#include "proto/types/input_failure.h"
#include "proto/types/words.h"
#include "store/artifacts.h"
#include "store/attempts.h"
#include "store/job_row.h"
#include "store/measurements.h"
#include "store/reading.h"
#include "store/sweeps.h"

namespace longreach::store {
namespace {

constexpr size_t kMaxDifferences = 1000;

class Merge {
 public:
  Merge(sql::Connection& theirs, sql::Transaction& ours, const FilesOfMerge& files, const TellMerge& tell)
      : theirs_(theirs), ours_(ours), files_(files), tell_(tell) {}

  absl::StatusOr<MergeReport> Run() {
    RETURN_IF_ERROR(Workers());
    RETURN_IF_ERROR(DataSets());
    RETURN_IF_ERROR(Attempts());
    RETURN_IF_ERROR(Jobs());
    RETURN_IF_ERROR(AttemptMembers());
    RETURN_IF_ERROR(Sweeps());
    RETURN_IF_ERROR(SettleWaitingJobs());
    RETURN_IF_ERROR(ForgetNeedlessFiles());
    if (differing_ > kMaxDifferences) {
      report_.differences.push_back(fmt::format("... and {} more jobs with different results", differing_ - kMaxDifferences));
    }
    return std::move(report_);
  }

 private:
  absl::Status Workers();
  absl::Status DataSets();
  absl::Status Attempts();
  absl::Status Jobs();
  absl::Status AttemptMembers();
  absl::Status Sweeps();
  absl::Status SettleWaitingJobs();
  absl::Status ForgetNeedlessFiles();

  absl::StatusOr<int64_t> AddJob(const JobRow& job);
  absl::Status MergeJob(const JobRow& job, const JobRow& own);
  absl::Status TakeResult(const JobRow& job, const JobRow& own);
  absl::Status CopyResult(const JobRow& job, int64_t own);
  absl::Status CopyArtifacts(const JobRow& job, int64_t own, bool checkpoints_only);
  absl::Status KeepPack(int64_t own);
  int64_t PartOf(int64_t attempt, int64_t split_group);
  absl::Status LeaveAttempt(const JobRow& own);
  absl::Status Compare(const JobRow& job, const JobRow& own);
  // Notes of a job of theirs, and of its result, that ours is another one.
  void Differ(const JobRow& job, const std::string& how);
  // An input of a job of ours that over there is not what it is here, and in what; empty: there is none.
  absl::StatusOr<std::string> OtherInput(int64_t own);
  // Notes what a result that came was made of, where that did not come with it, and which results here were made of another one than the job's that came.
  absl::Status NoteOtherInputs(const JobRow& job, int64_t own);

  sql::Connection& theirs_;
  sql::Transaction& ours_;
  const FilesOfMerge& files_;
  const TellMerge& tell_;
  MergeReport report_;
  size_t differing_ = 0;
  std::set<int64_t> kept_;          // Jobs of which both have a result and these differ, by our numbers.
  std::set<int64_t> kept_weights_;  // Those that differ in their weights alone.
  // From numbers over there to ours.
  std::unordered_map<int64_t, int64_t> attempts_;
  std::vector<int64_t> new_attempts_;  // Theirs,
  std::set<int64_t> came_;             // and the same by our numbers.
  std::unordered_map<int64_t, int64_t> jobs_;
  // By an attempt that came: the split groups here of jobs that begin from its checkpoint, in the order in which they were found.
  std::map<int64_t, std::vector<int64_t>> parts_;
};

absl::Status Merge::Workers() {
  ASSIGN_OR_RETURN(sql::Rows rows, theirs_.Query("SELECT id, name, incarnation, abilities, build, device, threads, pack_limit, "
                                                 "first_seen_at, seen_at, device_id FROM workers ORDER BY id"));
  while (rows.Next()) {
    // A worker is active again when it comes; a drain over there does not concern this store.
    RETURN_IF_ERROR(ours_.Run("INSERT INTO workers(id, name, incarnation, abilities, build, device, threads, pack_limit, "
                              "first_seen_at, seen_at, device_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT(id) DO NOTHING",
                              rows.Get<std::string>(0), rows.Get<std::string>(1), rows.Get<int64_t>(2), rows.Get<std::string>(3),
                              rows.Get<std::string>(4), rows.Get<std::string>(5), rows.Get<int64_t>(6), rows.Get<int64_t>(7),
                              rows.Get<int64_t>(8), rows.Get<int64_t>(9), rows.Get<std::string>(10))
                        .status());
  }
  return rows.status();
}

absl::Status Merge::DataSets() {
  ASSIGN_OR_RETURN(sql::Rows rows, theirs_.Query("SELECT name, sha256, bytes, first_seen_at FROM data_sets ORDER BY name"));
  while (rows.Next()) {
    RETURN_IF_ERROR(ours_.Run("INSERT INTO data_sets(name, sha256, bytes, first_seen_at) VALUES (?, ?, ?, ?) ON CONFLICT(name) DO NOTHING",
                              rows.Get<std::string>(0), rows.Get<std::string>(1), rows.Get<double>(2), rows.Get<int64_t>(3))
                        .status());
  }
  return rows.status();
}

// What makes an attempt known across stores: no worker starts two attempts with the same first job at the same microsecond.
using AttemptKey = std::tuple<std::string, int64_t, std::string>;

struct KnownAttempt {
  AttemptKey key;
  int64_t id = 0;
  bool succeeded = false;
};

absl::StatusOr<std::vector<KnownAttempt>> KnownAttempts(sql::Connection& db) {
  ASSIGN_OR_RETURN(sql::Rows rows, db.Query("SELECT a.id, a.worker, a.started_at, j.id, a.outcome IS 'succeeded' FROM attempts AS a "
                                            "JOIN attempt_jobs AS aj ON aj.attempt = a.id AND aj.member = 0 "
                                            "JOIN jobs AS j ON j.num = aj.job ORDER BY a.id"));
  std::vector<KnownAttempt> all;
  while (rows.Next()) {
    all.push_back({.key = {rows.Get<std::string>(1), rows.Get<int64_t>(2), rows.Get<std::string>(3)}, .id = rows.Get<int64_t>(0), .succeeded = rows.Get<bool>(4)});
  }
  RETURN_IF_ERROR(rows.status());
  return all;
}

// Those of theirs that are here too, with our numbers. One that has succeeded there and not here (it ran when the stores were merged
// before, or is this store's own since one was copied from the other) is not: its results belong to an attempt that has succeeded.
std::map<int64_t, int64_t> Counterparts(const std::vector<KnownAttempt>& theirs, const std::vector<KnownAttempt>& ours) {
  std::map<std::pair<AttemptKey, bool>, int64_t> own;  // By whether they have succeeded.
  for (const KnownAttempt& attempt : ours) own.emplace(std::pair(attempt.key, attempt.succeeded), attempt.id);
  std::map<int64_t, int64_t> known;
  for (const KnownAttempt& attempt : theirs) {
    auto found = own.find({attempt.key, attempt.succeeded});
    if (found == own.end() && !attempt.succeeded) found = own.find({attempt.key, true});
    if (found != own.end()) known.emplace(attempt.id, found->second);
  }
  return known;
}

absl::Status Merge::Attempts() {
  ASSIGN_OR_RETURN(const std::vector<KnownAttempt> own, KnownAttempts(ours_));
  ASSIGN_OR_RETURN(const std::vector<KnownAttempt> there, KnownAttempts(theirs_));
  const std::map<int64_t, int64_t> known = Counterparts(there, own);
  ASSIGN_OR_RETURN(sql::Rows rows,
                   theirs_.Query("SELECT a.id, a.worker, a.incarnation, a.started_at, ifnull(a.ended_at, max(w.seen_at, a.started_at)), "
                                 "ifnull(a.outcome, 'lost'), iif(a.outcome IS NULL, 'it ran when its store was merged', a.detail), "
                                 "a.build, a.device, a.engine, a.threads, a.members, a.start_step, a.step, a.device_id "
                                 "FROM attempts AS a JOIN workers AS w ON w.id = a.worker ORDER BY a.id"));
  while (rows.Next()) {
    const auto id = rows.Get<int64_t>(0);
    if (const auto found = known.find(id); found != known.end()) {
      attempts_.emplace(id, found->second);
      continue;
    }
    RETURN_IF_ERROR(ours_.Run("INSERT INTO attempts(worker, incarnation, started_at, ended_at, outcome, detail, build, device, "
                              "engine, threads, members, start_step, step, device_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                              rows.Get<std::string>(1), rows.Get<int64_t>(2), rows.Get<int64_t>(3), rows.Get<int64_t>(4),
                              rows.Get<std::string>(5), rows.Get<std::string>(6), rows.Get<std::string>(7),
                              rows.Get<std::string>(8), rows.Get<std::string>(9), rows.Get<int64_t>(10), rows.Get<int64_t>(11),
                              rows.Get<int64_t>(12), rows.Get<int64_t>(13), rows.Get<std::string>(14))
                        .status());
    attempts_.emplace(id, ours_.connection().LastInsertRow());
    new_attempts_.push_back(id);
    came_.insert(attempts_.at(id));
  }
  return rows.status();
}

absl::Status Merge::Jobs() {
  static const std::string kAll = SelectJobs("ORDER BY j.num");
  ASSIGN_OR_RETURN(const double count, theirs_.One<double>("SELECT count(*) FROM jobs"));
  ASSIGN_OR_RETURN(sql::Rows rows, theirs_.Query(kAll));
  while (rows.Next()) {
    const JobRow job = ReadJob(rows);
    ASSIGN_OR_RETURN(std::optional<JobRow> own, FindJob(ours_, job.id));
    if (own.has_value()) {
      jobs_.emplace(job.num, own->num);
      RETURN_IF_ERROR(MergeJob(job, *own));
    } else {
      ASSIGN_OR_RETURN(int64_t num, AddJob(job));
      jobs_.emplace(job.num, num);
    }
    if (tell_) tell_({.part = MergeStep::Part::kJobs, .done = static_cast<double>(jobs_.size()), .of = count});
  }
  return rows.status();
}

absl::StatusOr<int64_t> Merge::AddJob(const JobRow& job) {
  ASSIGN_OR_RETURN(int64_t requirement, FindOrAddRequirement(ours_, job.requirement));
  ASSIGN_OR_RETURN(int64_t pack_key, FindOrAddPackKey(ours_, job.pack_key));
  // What ran there is queued here; a result is added by CopyResult, and who must wait is settled at the end.
  State state = job.state;
  if (state == State::kLeased || state == State::kSucceeded) state = State::kQueued;
  RETURN_IF_ERROR(ours_.Run("INSERT INTO jobs(id, experiment, task, encoding, randomized, learning_rate, seed, steps, state, "
                            "failures, losses, failure, requirement, pack_key, spec) "
                            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                            job.id, job.requirement.experiment, job.requirement.task, job.requirement.encoding, job.randomized,
                            job.learning_rate, job.seed, job.steps, Word(state), job.failures, job.losses, job.failure,
                            requirement, pack_key, job.spec)
                      .status());
  const int64_t num = ours_.connection().LastInsertRow();
  ASSIGN_OR_RETURN(std::vector<JobInputRow> inputs, InputsOf(theirs_, job.num));
  for (const JobInputRow& input : inputs) {
    const auto source = jobs_.find(input.source);
    if (source == jobs_.end()) {
      return absl::DataLossError(fmt::format("job {} over there comes before its input '{}'", job.id, input.name));
    }
    RETURN_IF_ERROR(ours_.Run("INSERT INTO job_inputs(job, name, source, artifact, metric) VALUES (?, ?, ?, ?, ?)", num, input.name,
                              source->second, input.artifact, input.metric)
                        .status());
  }
  ++report_.jobs_added;
  if (job.state == State::kSucceeded) RETURN_IF_ERROR(CopyResult(job, num));
  RETURN_IF_ERROR(CopyArtifacts(job, num, false));
  if (job.state != State::kSucceeded) {
    ASSIGN_OR_RETURN(std::vector<ProgressRow> progress, ProgressOf(theirs_, job.num));
    RETURN_IF_ERROR(AddProgress(ours_, num, progress));
  }
  return num;
}

absl::Status Merge::MergeJob(const JobRow& job, const JobRow& own) {
  if (job.spec != own.spec) return absl::DataLossError(fmt::format("job {} has another specification over there", job.id));
  if (own.state == State::kSucceeded) return job.state == State::kSucceeded ? Compare(job, own) : absl::OkStatus();
  if (job.state == State::kSucceeded) return TakeResult(job, own);
  // Unfinished in both: the later checkpoint counts. Who trains it here goes on with what it has.
  if (own.state == State::kLeased || job.checkpoint_step <= own.checkpoint_step) return absl::OkStatus();
  return CopyArtifacts(job, own.num, true);
}

absl::Status Merge::TakeResult(const JobRow& job, const JobRow& own) {
  if (own.state == State::kLeased) RETURN_IF_ERROR(LeaveAttempt(own));
  RETURN_IF_ERROR(RemoveCheckpoints(ours_, own.num));
  RETURN_IF_ERROR(CopyResult(job, own.num));
  return CopyArtifacts(job, own.num, false);
}

absl::Status Merge::LeaveAttempt(const JobRow& own) {
  RETURN_IF_ERROR(DropMember(ours_, *own.attempt, own.num));
  report_.dropped.push_back({.job = own.num, .id = own.id, .attempt = *own.attempt});
  return ExactlyOne(ours_.Run("UPDATE jobs SET state = 'queued', attempt = NULL WHERE num = ? AND state = 'leased'", own.num),
                    fmt::format("job {} is not leased", own.num));
}

absl::Status Merge::CopyResult(const JobRow& job, int64_t own) {
  const auto attempt = attempts_.find(job.attempt.value_or(0));
  if (attempt == attempts_.end()) return absl::DataLossError(fmt::format("job {} has no attempt over there", job.id));
  RETURN_IF_ERROR(ExactlyOne(ours_.Run("UPDATE jobs SET state = 'succeeded', attempt = ?, diverged = ?, diverged_at = ?, failures = ?, "
                                       "losses = ?, failure = '' WHERE num = ? AND state NOT IN ('leased', 'succeeded')",
                                       attempt->second, job.diverged, job.diverged_at, job.failures, job.losses, own),
                             fmt::format("job {} cannot take a result", job.id)));
  // One that has ended well in both may have lost the job here before it did, where one of the two is a copy of the other.
  RETURN_IF_ERROR(ours_.Run("UPDATE attempt_jobs SET dropped = 0 WHERE attempt = ? AND job = ? AND dropped = 1", attempt->second, own).status());
  ASSIGN_OR_RETURN(std::vector<Measurement> measurements, MeasurementsOf(theirs_, job.num, false));
  for (const Measurement& m : measurements) {
    RETURN_IF_ERROR(ours_.Run("INSERT INTO measurements(job, metric, length, slice, value) VALUES (?, ?, ?, ?, ?)", own, m.metric,
                              m.length, m.slice, m.value)
                        .status());
  }
  // The loss curve is that of the run that made the result.
  RETURN_IF_ERROR(ours_.Run("DELETE FROM progress WHERE job = ?", own).status());
  ASSIGN_OR_RETURN(std::vector<ProgressRow> progress, ProgressOf(theirs_, job.num));
  RETURN_IF_ERROR(AddProgress(ours_, own, progress));
  ++report_.results_added;
  return NoteOtherInputs(job, own);
}

absl::Status Merge::CopyArtifacts(const JobRow& job, int64_t own, bool checkpoints_only) {
  ASSIGN_OR_RETURN(std::vector<ArtifactRow> artifacts, ArtifactsOf(theirs_, job.num));
  // What goes on from there would be told to be made of the input that is here.
  ASSIGN_OR_RETURN(const std::string other, OtherInput(own));
  for (ArtifactRow& artifact : artifacts) {
    if (checkpoints_only && artifact.kind != ArtifactKind::kCheckpoint) continue;
    if (artifact.kind == ArtifactKind::kCheckpoint && !other.empty()) continue;
    if (artifact.kind == ArtifactKind::kCheckpoint && files_.lacking.contains(artifact.sha256)) continue;  // One of ours may be whole.
    const auto attempt = attempts_.find(artifact.attempt);
    if (attempt == attempts_.end()) return absl::DataLossError(fmt::format("an artifact of job {} has no attempt", job.id));
    artifact.job = own;
    artifact.attempt = attempt->second;
    RETURN_IF_ERROR(CopyArtifact(ours_, artifact));
    ++report_.artifacts_added;
  }
  if (job.state == State::kSucceeded) return KeepFilesOfResult(ours_, own, attempts_.at(job.attempt.value_or(0)));
  return KeepPack(own);
}

// What goes on from a checkpoint goes on as the pack that made it: with no group, packs that are at the same step would be mixed anew here.
absl::Status Merge::KeepPack(int64_t own) {
  static const std::string kSql =
      fmt::format("UPDATE jobs SET split_group = {} WHERE num = ? AND split_group <= 0 AND state <> 'leased'", kPackOfCheckpoint);
  RETURN_IF_ERROR(ours_.Run(kSql, own).status());
  // One that was split here stays so, in a part with those of its group that came to this step with it: groups have neighbouring numbers, and a pack of several would have
  // those fail once more who are not to blame. Of an attempt that was here before, the numbers may be those of its halves.
  ASSIGN_OR_RETURN(const std::vector<ArtifactRow> checkpoints, CheckpointsOf(ours_, own));
  if (checkpoints.empty() || !came_.contains(checkpoints.front().attempt)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::optional<int64_t> group, ours_.First<int64_t>("SELECT split_group FROM jobs WHERE num = ? AND split_group > 0 AND state <> 'leased' AND (steps = 0 OR ? > 0)",
                                                                            own, checkpoints.front().step));
  if (!group) return absl::OkStatus();
  return ours_.Run("UPDATE jobs SET split_group = ? WHERE num = ?", PartOf(checkpoints.front().attempt, *group), own).status();
}

// An attempt has two numbers of its own for the halves that it is split into (core::SplitGroups()), and jobs of one that came may be of quarters and eighths here. So
// these numbers are behind those of all attempts.
int64_t Merge::PartOf(int64_t attempt, int64_t split_group) {
  constexpr int64_t kBehindAll = int64_t{1} << 62, kMostParts = 1 << 12;
  std::vector<int64_t>& groups = parts_[attempt];
  auto found = std::ranges::find(groups, split_group);
  if (found == groups.end()) found = groups.insert(found, split_group);
  return kBehindAll + kMostParts * attempt + std::min<int64_t>(found - groups.begin(), kMostParts - 1);
}

void Merge::Differ(const JobRow& job, const std::string& how) {
  if (++differing_ > kMaxDifferences) return;
  report_.differences.push_back(fmt::format("job {} ({}, {}, learning rate {}, seed {}): {}", job.id.substr(0, 8),
                                            job.requirement.task, catalog::ToText({.name = job.requirement.encoding, .randomized = job.randomized}),
                                            ShortestNumber(job.learning_rate), job.seed, how));
}

absl::StatusOr<std::string> Merge::OtherInput(int64_t own) {
  if (kept_.empty() && kept_weights_.empty()) return std::string();
  ASSIGN_OR_RETURN(const std::vector<JobInputRow> inputs, InputsOf(ours_, own));
  for (const JobInputRow& input : inputs) {
    if (kept_.contains(input.source)) return fmt::format("{} (job {}) has another result than here", input.name, input.source_id.substr(0, 8));
    if (!input.artifact.empty() && kept_weights_.contains(input.source)) return fmt::format("{} (job {}) has other weights than here", input.name, input.source_id.substr(0, 8));
  }
  return std::string();
}

absl::Status Merge::NoteOtherInputs(const JobRow& job, int64_t own) {
  ASSIGN_OR_RETURN(const std::string other, OtherInput(own));
  ASSIGN_OR_RETURN(const std::vector<JobInputRow> gone, InputsOfAnotherRun(theirs_, job.num));
  if (!other.empty()) Differ(job, fmt::format("its result comes from there, where its input {}", other));
  else if (!gone.empty()) Differ(job, fmt::format("its result comes from there, where it was made of a result of its input {} (job {}) that is not there any more", gone[0].name, gone[0].source_id.substr(0, 8)));
  // Of a job that a repair here has had run again, and that had not ended.
  ASSIGN_OR_RETURN(const std::vector<int64_t> made_here, MadeOfAnotherRun(ours_, own));
  for (const int64_t num : made_here) {
    ASSIGN_OR_RETURN(const JobRow made, GetJob(ours_, num));
    Differ(made, fmt::format("its result was made here, of another result of its input, job {}, than the one that comes from there", job.id.substr(0, 8)));
  }
  return absl::OkStatus();
}

absl::Status Merge::Compare(const JobRow& job, const JobRow& own) {
  ++report_.results_in_both;
  ASSIGN_OR_RETURN(const std::string difference, DifferenceOfResults(theirs_, job, ours_, own));
  if (!difference.empty()) {
    kept_.insert(own.num);
    Differ(job, difference);
    return absl::OkStatus();
  }
  // Two runs may end with the same values, as of a share that is 1 in both, and not with the same weights.
  ASSIGN_OR_RETURN(const std::optional<TwoFiles> files, OtherFilesOfWeights(theirs_, job.num, ours_, own.num));
  if (!files) return absl::OkStatus();
  const auto same = files_.same_weights.find(job.id);
  if (same == files_.same_weights.end()) {
    ++report_.weights_not_compared;
  } else if (!same->second) {
    kept_weights_.insert(own.num);
    Differ(job, "its values are the same here and there, and its weights are not: there are two runs of it");
  }
  return absl::OkStatus();
}

absl::Status Merge::AttemptMembers() {
  for (const int64_t attempt : new_attempts_) {
    ASSIGN_OR_RETURN(std::vector<AttemptMember> members, MembersOf(theirs_, attempt));
    for (const AttemptMember& member : members) {
      std::optional<int64_t> from;
      if (const auto known = attempts_.find(member.from_attempt.value_or(0)); known != attempts_.end()) from = known->second;
      RETURN_IF_ERROR(ours_.Run("INSERT INTO attempt_jobs(attempt, member, job, dropped, from_attempt) VALUES (?, ?, ?, ?, ?)", attempts_.at(attempt),
                                member.member, jobs_.at(member.job), member.dropped, from)
                          .status());
    }
  }
  return absl::OkStatus();
}

absl::Status Merge::Sweeps() {
  ASSIGN_OR_RETURN(sql::Rows rows, theirs_.Query("SELECT num, id, name, submitted_at, asked_at, priority, state, spec, "
                                                 "jobs_to_come + (SELECT count(*) FROM sweep_jobs WHERE sweep = num AND role = 'member'), table_spec, expected_seconds, expected_at "
                                                 "FROM sweeps ORDER BY num"));
  while (rows.Next()) {
    const auto num = rows.Get<int64_t>(0);
    const auto id = rows.Get<std::string>(1);
    ASSIGN_OR_RETURN(std::optional<SweepRow> own, FindSweep(ours_, id));
    const auto table = rows.Get<std::string>(9);
    if (own.has_value()) {
      // It is printed as it was here; where nobody has said how, as it is there.
      RETURN_IF_ERROR(ours_.Run("UPDATE sweeps SET table_spec = ? WHERE num = ? AND table_spec = ''", table, own->num).status());
      continue;
    }
    RETURN_IF_ERROR(ours_.Run("INSERT INTO sweeps(id, name, submitted_at, asked_at, priority, state, spec, jobs_to_come, table_spec, expected_seconds, expected_at) "
                              "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                              id, rows.Get<std::string>(2), rows.Get<int64_t>(3), rows.Get<int64_t>(4), rows.Get<int64_t>(5),
                              rows.Get<std::string>(6), rows.Get<std::string>(7), rows.Get<int64_t>(8), table, rows.Get<std::optional<double>>(10),
                              rows.Get<std::optional<int64_t>>(11))
                        .status());
    const int64_t sweep = ours_.connection().LastInsertRow();
    ASSIGN_OR_RETURN(sql::Rows members,
                     theirs_.Query("SELECT role, position, job FROM sweep_jobs WHERE sweep = ? ORDER BY role, position", num));
    while (members.Next()) {
      RETURN_IF_ERROR(ours_.Run("INSERT INTO sweep_jobs(sweep, role, position, job) VALUES (?, ?, ?, ?)", sweep,
                                members.Get<std::string>(0), members.Get<int64_t>(1), jobs_.at(members.Get<int64_t>(2)))
                          .status());
    }
    RETURN_IF_ERROR(members.status());
    RETURN_IF_ERROR(CountMembers(ours_, sweep, 0));
    ASSIGN_OR_RETURN(sql::Rows given_up, theirs_.Query("SELECT job FROM given_up WHERE sweep = ? ORDER BY job", num));
    while (given_up.Next()) {
      RETURN_IF_ERROR(ours_.Run("INSERT INTO given_up(sweep, job) VALUES (?, ?)", sweep, jobs_.at(given_up.Get<int64_t>(0))).status());
    }
    RETURN_IF_ERROR(given_up.status());
    RETURN_IF_ERROR(RefreshWanted(ours_, sweep));
    RETURN_IF_ERROR(ReviveCancelledJobs(ours_, sweep).status());
    ++report_.sweeps_added;
  }
  return rows.status();
}

absl::Status Merge::SettleWaitingJobs() {
  // New jobs were added as queued; results that came may have ended the wait of others.
  static const std::string kSettle = fmt::format("UPDATE jobs SET state = {0} WHERE state IN ('waiting', 'queued') AND state <> {0}", kStateToRun);
  RETURN_IF_ERROR(ours_.Run(kSettle).status());
  // What waits for a job that has failed, or has diverged and left nothing, fails too; then what waits for that. Where a diverged job
  // has left its weights, the scheduler decides when it leases: it knows who may use them. As there, what no retry brings is the reason before all others.
  static const std::string kFail =
      fmt::format("UPDATE jobs SET state = 'failed', failure = f.failure FROM (SELECT i.job, substr(min(iif(s.why <> '', 'a', 'b') || '{0}: ' "
                  "|| i.name || ' (job ' || substr(s.id, 1, 8) || s.why || ')'), 2) AS failure "
                  "FROM job_inputs AS i JOIN (SELECT num, id, state, diverged, iif(diverged, ' diverged', iif(instr(failure, '{0}') = 1 AND "
                  "instr(failure, ' diverged') > 0, '{1}', '')) AS why FROM jobs) AS s ON s.num = i.source "
                  "WHERE s.state = 'failed' OR (s.diverged = 1 AND NOT EXISTS "
                  "(SELECT 1 FROM artifacts AS a WHERE a.job = s.num AND a.kind = i.artifact)) GROUP BY i.job) AS f "
                  "WHERE jobs.num = f.job AND jobs.state IN ('waiting', 'queued')",
                  kInputFailed, kWhoseInputDiverged);
  int changed = 1;
  while (changed > 0) {
    ASSIGN_OR_RETURN(changed, ours_.Run(kFail));
  }
  return absl::OkStatus();
}

// Files were copied before it was known which of them rows would name.
absl::Status Merge::ForgetNeedlessFiles() {
  for (const std::string& hash : files_.unsettled) RETURN_IF_ERROR(NoteUnnamed(ours_, hash));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<MergeReport> MergeRows(sql::Connection& theirs, sql::Transaction& ours, const FilesOfMerge& files, const TellMerge& tell) {
  RETURN_IF_ERROR(CheckMerge(theirs, ours));
  return Merge(theirs, ours, files, tell).Run();
}

}  // namespace longreach::store
