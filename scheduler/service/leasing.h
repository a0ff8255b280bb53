// Finding work for a worker, and the leases that it is sent.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "longreach/v1/worker.pb.h"
#include "proto/base/status.h"
#include "scheduler/core/packs.h"
#include "scheduler/service/effects.h"
#include "scheduler/service/failed_work.h"
#include "store/artifact_files.h"
#include "store/attempts.h"
#include "store/jobs.h"
#include "store/workers.h"

namespace longreach::service {

// Reads jobs' specifications. Neighbours differ in learning rate and seed, which are columns too, so what they share is read once.
class SpecReader {
 public:
  absl::StatusOr<v1::JobSpec> Read(const store::JobRow& job);

 private:
  std::string shared_;  // The text of the last one, without the lines of the two.
  v1::JobSpec spec_;
};

// The room for leases in an answer.
class AnswerRoom {
 public:
  explicit AnswerRoom(size_t bytes) : left_(bytes) {}
  // Whether there is room for it; then it is taken. After the first that has none nothing fits any more, so that none waits for ever
  // behind smaller ones.
  bool Take(const v1::Lease& lease) { return TakeBytes(lease.ByteSizeLong() + kAroundLease); }
  bool TakeBytes(size_t bytes) {
    full_ = full_ || bytes > left_;
    if (!full_) left_ -= bytes;
    return !full_;
  }
  bool full() const { return full_; }

 private:
  static constexpr size_t kAroundLease = 32;  // The attempt's number, and that this is a lease.
  size_t left_;
  bool full_ = false;
};

// Attempts of a worker, as how many more it could take or gets: packs for its trainer, and jobs that need none, each as a pack of its own.
struct Room {
  int packs = 0;
  int noops = 0;

  int& Of(bool noop) { return noop ? noops : packs; }
  int Of(bool noop) const { return noop ? noops : packs; }
  bool IsNone() const { return packs <= 0 && noops <= 0; }
};

// Gives jobs to workers. One object lives as long as the engine and is used within its events only.
class Leasing {
 public:
  // With jobs that would not fit into an answer of that size. `files`: where inputs lie; null: nobody looks.
  Leasing(size_t answer_bytes, const store::ArtifactFiles* files) : most_bytes_(answer_bytes - answer_bytes / 8), files_(files) {}

  // Leases the packs whose turn it is, of those that the worker can train, as far as the answer has room for them: the worker asks for
  // the others with its next call. Jobs whose inputs turn out to be gone for good, and those that no answer has room for, fail on the way.
  absl::Status Lease(sql::Transaction& tx, const store::WorkerRow& worker, const FailedWork& failed, const v1::Abilities& abilities, Room room,
                     WallTime now, AnswerRoom& answer, v1::SynchronizeResponse& response, Effects& effects);
  // The last Lease() did not look at all that may be ready: who got nothing has to be looked for again, without anything having happened.
  bool gave_up() const { return gave_up_; }

  // Something may have become ready, a worker can do other things, or an event was taken back: nothing that was seen before counts.
  void Forget() {
    works_.reset();
    lines_.clear();
    able_.clear();
  }

 private:
  // One kind of work.
  struct Work {
    store::RequirementRow row;
    bool noop = false;
  };
  // The first job in line of each kind of work, as it was seen; not seen: nullopt.
  using Heads = std::vector<std::optional<std::optional<store::LeaseGroup>>>;
  struct Turn {
    std::optional<size_t> work = {};  // Index of its kind; nothing: there is nothing to lease.
    store::LeaseGroup group = {};
    std::optional<core::GroupHead> before = {};  // Its jobs come before this one, which is another's.
    store::Apart apart = {};
  };
  // Data sets that these jobs ask for, and nobody has announced before, are from now on what this worker has under their names.
  absl::StatusOr<const std::vector<size_t>*> AbleFor(sql::Transaction& tx, const std::string& worker, const v1::Abilities& abilities, WallTime now);
  // Seen, unless it gave up: then it is looked at again each time.
  absl::Status Look(sql::Connection& db, size_t work, const store::Apart& apart, std::optional<std::optional<store::LeaseGroup>>& head);
  absl::StatusOr<Turn> Next(sql::Connection& db, const std::vector<size_t>& able, const store::Apart& apart, const Room& room);
  absl::StatusOr<Turn> NextOf(sql::Connection& db, const std::vector<size_t>& able, const FailedWork& failed, const Room& room);
  absl::StatusOr<std::vector<store::JobRow>> JobsOf(sql::Connection& db, const Turn& turn, const v1::Abilities& abilities, int room);

  // Of the jobs of a lease: an answer has data sets and directives, too.
  const size_t most_bytes_;
  const store::ArtifactFiles* const files_;
  // What was seen.
  std::optional<std::vector<Work>> works_;
  // By what the jobs are apart from; nearly all workers' is empty. A head may have gone since, so it is looked at again before it counts;
  // that an earlier one has come is for Forget() to say.
  std::map<store::Apart, Heads> lines_;
  // Which kinds each worker can do, until its abilities change: then Forget() is called, too.
  std::map<std::string, std::vector<size_t>> able_;
  bool gave_up_ = false;
  SpecReader specs_;
};

// The lease of a running attempt as it is sent, and sent again until the worker holds it. NOT_FOUND: an input is gone.
absl::StatusOr<v1::Lease> BuildLease(sql::Connection& db, int64_t attempt, const store::ArtifactFiles* files);

// Their pack is a worker's agent's, without a trainer.
bool NeedsNoTrainer(std::span<const store::JobRow> jobs);

// What the board shows of an attempt.
absl::StatusOr<LiveAttempt> LiveAttemptOf(sql::Connection& db, const store::AttemptRow& attempt);

}  // namespace longreach::service
