// A small scheduler in memory around scheduler/core's pure functions: what is written down is a value, so that a group of events
// is undone by assigning the copy that was made before. Every decision is the core's; what is here looks things up and assigns.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "longreach/v1/api.pb.h"
#include "proto/base/status.h"
#include "scheduler/core/health.h"
#include "scheduler/core/job_life.h"
#include "scheduler/core/sweep_life.h"
#include "tests/simulation/universe.h"

namespace longreach::simulation {

class CoreStore {
 public:
  struct JobRow {
    bool there = false;
    core::Life life = {};
    int64_t num = 0;
    int64_t split_group = 0;
    int checkpoint = 0;
    int checkpoint_before = 0;
    int64_t checkpoint_by = 0;  // Which attempts made them.
    int64_t checkpoint_before_by = 0;
    bool weights = false;
  };
  struct SweepRow {
    std::optional<SweepState> state = {};
    int priority = 0;
    std::set<int> given_up = {};
  };
  struct Member {
    int job = 0;
    bool dropped = false;
  };
  struct AttemptRow {
    std::string worker = {};
    uint64_t incarnation = 0;
    std::vector<Member> members = {};
    std::optional<Outcome> outcome = {};
  };
  struct WorkerRow {
    uint64_t incarnation = 0;
    std::string state = "active";
    core::Health health = {};
  };

  explicit CoreStore(const Universe& universe) : universe_(&universe), jobs(universe.jobs.size()), sweeps(universe.sweeps.size()) {}

  absl::Status InsertJobs(int sweep);
  absl::Status Submit(int sweep, std::optional<int> priority);
  absl::Status SteerSweep(int sweep, v1::SteerSweepRequest::Action action, int priority);
  absl::Status SteerJobs(int sweep, bool cancels, const Some& some);
  absl::Status SteerWorker(const std::string& id, bool drain);
  absl::Status Upload(const v1::UploadHeader& header);
  absl::StatusOr<v1::SynchronizeResponse> Synchronize(const v1::SynchronizeRequest& request);
  absl::Status Expire(int64_t attempt);

  core::Demand DemandOf(int job) const;

 private:
  const Universe* universe_;

 public:
  std::vector<JobRow> jobs;
  std::vector<SweepRow> sweeps;
  std::vector<AttemptRow> attempts;  // Number 1 first.
  std::map<std::string, WorkerRow> workers;

 private:
  JobRow& At(int job) { return jobs[static_cast<size_t>(job)]; }
  const Job& Spec(int job) const { return universe_->jobs[static_cast<size_t>(job)]; }
  AttemptRow& AttemptAt(int64_t attempt) { return attempts[static_cast<size_t>(attempt - 1)]; }
  bool IsRunning(uint64_t attempt) const { return attempt >= 1 && attempt <= attempts.size() && !attempts[attempt - 1].outcome; }
  bool InputsThere(int job) const;
  absl::Status Assign(int job, absl::StatusOr<core::Life> after);
  static void KeepCheckpoint(JobRow& row, int step, int64_t attempt);
  static void KeepTogether(JobRow& row, int64_t attempt);
  absl::Status Settle(int job);
  absl::Status SettleDependants(int job);
  bool IsOpen(int job) const { return !std::holds_alternative<Succeeded>(jobs[static_cast<size_t>(job)].life.state); }
  bool IsToGo(int sweep, int job, const std::set<int>& gone) const;
  absl::Status CancelUnclaimed(int sweep);
  absl::Status ReviveClaimed(int sweep);
  absl::Status TryAgain(int sweep, int job);
  std::vector<int> Own(int64_t attempt) const;
  absl::Status Release(int64_t attempt, Outcome outcome, const std::string& reason);
  void NoteFailure(const std::vector<int>& own, WorkerRow& worker) const;
  absl::Status Report(const v1::AttemptReport& report, WorkerRow& worker);
  v1::Lease LeaseOf(int64_t attempt) const;
  // How many more attempts a worker gets, as in the model.
  struct Room {
    int packs = 0;
    int noops = 0;
  };
  uint32_t SweepsWith(int job) const;
  uint32_t SweepsWanting(int job) const;
  uint32_t SweepsWantingElseWith(int job) const;
  uint32_t LiveOf(uint32_t some) const;
  core::SweepsOfAttempt SweepsOfAll(const std::vector<int64_t>& failed) const;
  core::Verdict VerdictOn(const WorkerRow& worker) const;
  void NoteSuccess(const std::set<int>& accepted, WorkerRow& worker) const;
  // Jobs to stay away from.
  struct Apart {
    uint32_t sweeps = 0;
    std::set<std::string> pack_keys = {};
    std::set<int64_t> jobs = {};
    bool operator==(const Apart&) const = default;
  };
  std::vector<Apart> OffersFor(const WorkerRow& worker) const;
  bool IsApart(int job, const Apart& from) const;
  // The jobs that may be leased to who asks.
  std::vector<int> ReadyFor(const v1::SynchronizeRequest& request, const Room& room) const;
  absl::StatusOr<std::optional<v1::Lease>> LeaseNext(const v1::SynchronizeRequest& request, const Apart& from, Room& room);

  int64_t last_num_ = 0;
};

}  // namespace longreach::simulation
