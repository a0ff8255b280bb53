// The reference model: what a scheduler has to answer and to remember, written from "The life of a job" in the design and from
// the comments of worker.proto, in the plainest way: no index, no cache, no I/O, no shortcut. It shares no code with the
// scheduler. It is a value: a group of events that is not committed is undone by assigning the copy that was made before.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "longreach/v1/api.pb.h"
#include "longreach/v1/worker.pb.h"
#include "proto/base/status.h"
#include "tests/simulation/universe.h"

namespace longreach::simulation {

class Model {
 public:
  static constexpr int kAllJobs = 1 << 30;
  enum class JobState { kAbsent, kWaiting, kQueued, kLeased, kSucceeded, kFailed, kCancelled };
  struct JobLife {
    JobState state = JobState::kAbsent;
    int64_t order = 0;    // Of submission.
    int64_t attempt = 0;  // Leased or succeeded.
    int failures = 0;
    int losses = 0;
    int64_t apart = 0;    // Leased only with jobs that have the same number here.
    bool weights = false;
    int checkpoint = 0;         // Step of the newest; 0: none.
    int checkpoint_before = 0;  // And of the one before it.
    int64_t checkpoint_by = 0;  // Which attempts made them.
    int64_t checkpoint_before_by = 0;
    // As its sweeps were when it last followed them: a live one has it, and the highest priority among those.
    bool wanted = false;
    int priority = 0;
    bool operator==(const JobLife&) const = default;
  };
  enum class SweepState { kAbsent, kLive, kPaused, kCancelled };
  struct SweepLife {
    SweepState state = SweepState::kAbsent;
    int priority = 0;
    int there = 0;  // Its jobs that have come, the first of Sweep::order.
    std::optional<int> unsettled = {};  // From which of these on they do not follow its state and priority yet.
    std::set<int> given_up = {};        // Cancelled alone: it goes on as if it did not have them.
    bool operator==(const SweepLife&) const = default;
  };
  struct Member {
    int job = 0;
    bool dropped = false;
    bool operator==(const Member&) const = default;
  };
  struct Attempt {
    std::string worker = {};
    uint64_t incarnation = 0;
    std::vector<Member> members = {};
    bool operator==(const Attempt&) const = default;
  };
  struct Worker {
    uint64_t incarnation = 0;
    std::string state = "active";
    // Attempts that failed, no job in two of them, the oldest first; and whether something else has succeeded since.
    struct Failed {
      std::set<int> jobs = {};
      bool old = false;
      bool operator==(const Failed&) const = default;
    };
    std::vector<Failed> failed = {};
    std::vector<int> alone = {};  // Jobs that failed alone, the newest last.
    bool operator==(const Worker&) const = default;
  };

  // Some jobs of a sweep that are cancelled or retried, part after part, and what the parts so far have come to.
  struct Steering {
    int sweep = 0;
    bool cancels = false;
    Some some = {};
    int at = 0;  // Where the next part begins.
    int succeeded = 0;
    int failed = 0;
    int others = 0;
    int steered = 0;  // How many whoever asked is told.
  };

  // How often what came was refused; no part of what is compared.
  struct Refusals {
    int64_t stale_reports = 0;
    int64_t results = 0;
    int64_t inputs = 0;
    int64_t put_aside = 0;
    int64_t aside_for_sweeps = 0;
    bool operator==(const Refusals&) const { return true; }
  };

  explicit Model(const Universe& universe)
      : universe_(&universe), jobs_(universe.jobs.size()), sweeps_(universe.sweeps.size()) {}

  // The events. Each returns what the scheduler has to answer; when that is an error, nothing has changed.
  // Of a sweep without inputs, `slice` jobs follow; the others with FollowNext or RetrySlice.
  absl::Status Submit(int sweep, std::optional<int> priority, int slice = kAllJobs);
  // The next jobs of a sweep come.
  void AddJobs(int sweep, int count);
  absl::Status SteerSweep(int sweep, v1::SteerSweepRequest::Action action, int priority, int slice = kAllJobs);
  void FollowNext(int sweep, int slice);
  absl::Status RetrySlice(int sweep, int from, int slice);
  // As SteerSweep; the rest of it with SteerNextJobs.
  absl::Status SteerJobs(Steering& steering, int slice = kAllJobs);
  absl::Status SteerNextJobs(Steering& steering, int slice);
  absl::Status SteerWorker(const std::string& worker, bool drain);
  absl::StatusOr<v1::SynchronizeResponse> Synchronize(const v1::SynchronizeRequest& request);
  absl::Status Upload(const v1::UploadHeader& header);
  // The leases of these attempts have run out.
  void Expire(const std::vector<int64_t>& attempts);

  const Universe& universe() const { return *universe_; }
  const std::vector<JobLife>& jobs() const { return jobs_; }
  const std::vector<SweepLife>& sweeps() const { return sweeps_; }
  const std::map<int64_t, Attempt>& running() const { return running_; }
  // A sweep has a job of its own from when it has come.
  bool Has(int sweep, int job) const;
  int ToCome(int sweep) const;
  // It has a job, and has not given it up.
  bool Claims(int sweep, int job) const;
  // Of attempt 1, 2, ...; empty: it runs.
  const std::vector<std::string_view>& outcomes() const { return outcomes_; }
  const std::map<std::string, Worker>& workers() const { return workers_; }
  const Refusals& refusals() const { return refusals_; }
  bool IsWanted(int job) const { return At(job).wanted; }
  int PriorityOf(int job) const { return At(job).priority; }
  bool operator==(const Model&) const = default;

 private:
  JobLife& At(int job) { return jobs_[static_cast<size_t>(job)]; }
  const JobLife& At(int job) const { return jobs_[static_cast<size_t>(job)]; }
  const Job& Spec(int job) const { return universe_->jobs[static_cast<size_t>(job)]; }
  std::span<const int> There(int sweep) const;
  // Those from one on, at most `slice`.
  std::span<const int> Part(int sweep, int from, int slice) const;
  bool IsMember(int sweep, int job) const;
  bool IsClaimedByAny(int job, std::initializer_list<SweepState> states) const;
  void Refresh(int job);
  void Revive(int job);
  void Cancel(std::span<const int> jobs);
  void Follow(int sweep, int slice);
  void FollowNow(int sweep, std::span<const int> jobs);
  absl::Status CanSteerJobs(const Steering& steering) const;
  bool IsNeeded(int sweep, int job) const;
  int GiveUp(int sweep, const std::vector<int>& jobs);
  int TryAgain(int sweep, const std::vector<int>& jobs);
  bool AtOnce(int sweep, int slice) const;
  bool InputsThere(int job) const;
  std::vector<int> OwnJobs(const Attempt& attempt) const;
  static void KeepCheckpoint(JobLife& life, int step, int64_t by);
  void Settle(int job);
  void SettleDependants(int source);
  void FailOrRequeue(int job, bool fails);
  void CountFailure(int job);
  void End(int64_t attempt, std::string_view outcome);
  // An attempt of a worker with these jobs left failed.
  void NoteFailure(const std::vector<int>& jobs, Worker& worker);
  void Report(const v1::AttemptReport& report, int64_t attempt, Worker& worker);
  void KeepTogether(int64_t attempt, const std::vector<int>& jobs);
  void GiveBack(int64_t attempt);
  void Lose(int64_t attempt);
  bool AllWanted(const Attempt& attempt) const;
  // How many more attempts a worker gets: of jobs that are trained, and of jobs that compute nothing.
  struct Room {
    int packs = 0;
    int noops = 0;
  };
  std::vector<int> ReadyFor(const v1::SynchronizeRequest& request, const Room& room) const;
  // Bit i: sweep i has it; and has not given it up; the latter, or the former where none has not.
  uint32_t SweepsOf(int job) const;
  uint32_t ClaimsOn(int job) const;
  uint32_t ClaimsElseSweepsOf(int job) const;
  uint32_t OfAll(const std::set<int>& jobs) const;
  uint32_t ClaimsOnAll(const std::set<int>& jobs) const;
  uint32_t LiveOf(uint32_t some) const;
  // The machine is to blame; else the sweeps that are.
  bool IsAside(const Worker& worker) const;
  uint32_t BlamedSweeps(const Worker& worker) const;
  void Succeeded(const std::set<int>& jobs, Worker& worker);
  // Which jobs a worker is given: those of the first kind of which some are ready.
  struct Offer {
    std::function<bool(int job)> has;
    bool all = false;  // Nothing is kept from it.
  };
  std::vector<Offer> OffersFor(const Worker& worker) const;
  std::optional<v1::Lease> LeaseNext(const v1::SynchronizeRequest& request, const Worker& worker, Room& room);
  v1::Lease LeaseOf(int64_t attempt) const;

  const Universe* universe_;
  std::vector<JobLife> jobs_;
  std::vector<SweepLife> sweeps_;
  std::map<int64_t, Attempt> running_;
  std::vector<std::string_view> outcomes_;
  std::map<std::string, Worker> workers_;
  int64_t last_order_ = 0;
  int64_t last_apart_ = 0;
  Refusals refusals_;
};

}  // namespace longreach::simulation
