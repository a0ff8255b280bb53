// What the agent knows of one attempt while it holds it.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "longreach/v1/trainer_pipe.pb.h"
#include "longreach/v1/worker.pb.h"
#include "proto/types/artifact_kind.h"
#include "proto/types/words.h"

namespace longreach::agent {

struct Checkpoint {
  std::filesystem::path file;
  int step = 0;
};

struct FileToHandIn {
  ArtifactKind kind = ArtifactKind::kLog;
  int step = 0;
  std::filesystem::path file;
  std::string job = "";  // Whose file it is; empty: all members'.
};

// What the scheduler asks for of what an attempt prints, for as long as it does (Directive.log_from).
struct AskedLog {
  uint64_t from = 0;  // By the newest directive.
  // What the next calls say of it, from there on; nothing: it was not read yet, and they say so.
  std::optional<v1::AttemptLog> part = {};
  bool reading = false;
  std::chrono::steady_clock::time_point due = {};  // When it is read next, once the scheduler has what was read before.

  bool owes() const { return part && !part->text().empty(); }
};

//   kFetching --files there, data sets whole--> kReady --the trainer is free--> kTraining --ended--> kHandingIn --files stored--> a report
//   kTraining --its process ended, by whose fault nobody knows--> kFetching (agent_suspects.cc)
struct Attempt {
  enum class Stage { kFetching, kReady, kTraining, kHandingIn };

  uint64_t number() const { return lease.attempt(); }
  // For its files and data sets, or for a trainer.
  bool waits() const { return stage == Stage::kFetching || stage == Stage::kReady; }
  // A trainer has had it.
  bool begun() const { return !members.empty(); }
  bool suspected() const { return suspect_at.has_value() && stage != Stage::kHandingIn; }

  v1::Lease lease;
  std::filesystem::path folder;
  Stage stage = Stage::kFetching;
  // From kReady on: the pack with the paths of its files. From kTraining on: without those that were dropped before.
  v1::StartPack start;
  // From kTraining on: the jobs along the member axis of all files that the trainer writes.
  std::vector<std::string> members;
  // The scheduler, the worker's end or another suspect's turn asked for a checkpoint and the end of the attempt; why, where only the agent can say.
  bool stopping = false;
  std::string why_stopped;
  // It may be at fault for the end of the process that trained it (agent_suspects.cc): the furthest step at which such an end has found it. Nothing: it is not suspected.
  std::optional<int> suspect_at = {};
  std::string suspected_why;
  int checkpoints_as_suspect = 0;  // Written since then.
  // Members that nobody wants any more.
  std::set<std::string> dropped;

  // What the trainer said last.
  int step = 0;
  double steps_per_second = 0;
  AttemptPhase phase = AttemptPhase::kStarting;
  std::deque<v1::ProgressPoint> points;  // Not acknowledged yet.
  bool began = false;  // The trainer has said at which step.
  // That is before the one that the lease names, whose checkpoint could not be used. Until the scheduler has written it down it is told this step, and the report waits: which builds
  // and devices a result is of is told by where its attempts began. Nothing: it is not, or it has.
  std::optional<int> began_at = {};

  std::optional<AskedLog> log;  // Nothing: nobody asks.
  std::chrono::steady_clock::time_point log_read_at;

  // Written by this attempt and still on disk, the newest last.
  std::deque<Checkpoint> checkpoints;
  std::optional<std::filesystem::path> uploading;  // One of them.
  std::filesystem::path handed_in;  // The last one of which that is true.

  std::stop_source checkpoint_upload;
  std::stop_source transfers;  // All others.

  // What remains to be said once the files are stored, and the files.
  v1::AttemptReport report;
  std::vector<FileToHandIn> files;
  bool kept = false;    // Both are on disk, for the worker's next start (finished.h).
  // Its process was killed: what remains of it is a checkpoint, and it is not reported (left_checkpoint.h).
  bool lost = false;
  bool stored = false;  // The files are: only points are ahead of the report.
};

// Points that one call carries for an attempt, and for all together: some 80 bytes each, and a call has at most 16 MiB.
inline constexpr size_t kPointsPerCall = 5000;
inline constexpr size_t kPointsOfAllPerCall = 50'000;

// What the trainer has told, as the attempt has it from now on.
void TakeProgress(const v1::PackProgress& progress, Attempt& attempt);
// Of a call that was answered.
void NoteTold(const v1::HeldAttempt& told, Attempt& attempt);

// What its trainer is told once members are dropped: all of those, as it does nothing about what it knows.
v1::ToTrainer DropOf(const Attempt& attempt);

// With at most so many of its points.
v1::HeldAttempt HeldOf(const Attempt& attempt, size_t most_points = kPointsPerCall);

// The pack without its dropped members; `start` has the paths of fetched files already.
v1::StartPack WithoutDropped(v1::StartPack start, const std::set<std::string>& dropped);

// What is to be trained: from the attempt's own checkpoints, if it has been begun before, and else from those that came with the lease.
v1::StartPack GoingOn(const Attempt& attempt);

// A report with the points that no call has carried (with kPointsPerCall of them at most: the others go before), without the dropped members.
v1::AttemptReport Completed(const Attempt& attempt);

}  // namespace longreach::agent
