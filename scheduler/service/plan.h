// What a sweep asks for, beside what the store already has.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <unordered_map>

#include "longreach/v1/api.pb.h"
#include "proto/base/status.h"
#include "scheduler/core/plan.h"
#include "scheduler/experiments/expansion.h"
#include "scheduler/service/live_board.h"
#include "store/jobs.h"
#include "store/sql/connection.h"
#include "store/sweeps.h"

namespace longreach::service {

// Counts jobs, each once, whatever role it has.
class PlanCounter {
 public:
  // `distinct`: no job is added twice, as none is of a sweep without inputs; then nothing is remembered of each.
  explicit PlanCounter(bool distinct) : distinct_(distinct) {}

  // Without its prerequisites, which are added before it. What has failed is not to run.
  void Add(const experiments::ExpandedJob& job, bool member, store::State state);
  // Jobs that are one pack if there is room, of which one has this specification.
  void AddOpen(const v1::JobSpec& spec, const std::string& pack_key, int64_t jobs);
  // The plan without the times that it takes, for workers with this pack limit.
  v1::Plan Plan(int pack_limit) const;
  // FLOP of the open jobs of each size that a trainer has to do.
  const std::map<core::WorkSize, double>& work() const { return work_; }

 private:
  friend absl::StatusOr<v1::Plan> PlanOfSweep(sql::Connection& db, const store::SweepRow& sweep, const LiveBoard::State& live);

  // The jobs that make its inputs are known.
  experiments::Cost CostOf(const v1::JobSpec& spec) const;
  // Finds out about those that make a job's inputs, and counts none of them.
  absl::Status LearnMakers(sql::Connection& db, const v1::JobSpec& spec);

  const bool distinct_;
  int64_t members_ = 0;
  int64_t members_done_ = 0;
  int64_t members_failed_ = 0;
  int64_t prerequisites_ = 0;
  int64_t prerequisites_done_ = 0;
  struct Role {
    bool member = false;
    store::State state = store::State::kQueued;
    bool stores_weights = true;
  };
  // Jobs that may be trained together.
  struct Open {
    int64_t jobs = 0;
    experiments::Cost cost = {};  // Of each.
    int most_in_pack = 1;         // Whatever workers could take.
  };
  std::unordered_map<std::string, Role> seen_;
  std::unordered_map<std::string, Open> open_;     // By pack key.
  int64_t alone_ = 0;                              // Jobs that need no trainer.
  std::string cost_of_;                            // Pack key of the job that cost_ is of.
  experiments::Cost cost_;
  core::WorkSize size_;
  int most_in_pack_ = 1;
  bool needs_trainer_ = true;
  std::set<std::string> data_sets_;
  std::map<core::WorkSize, double> work_;
  double flops_ = 0;
  double checkpoint_bytes_ = 0;
};

// Of all that was counted, with the times that it takes the workers at hand.
absl::StatusOr<v1::Plan> Estimated(sql::Connection& db, const PlanCounter& counter, const LiveBoard::State& live);
// Of a sweep that the store may or may not have. Millions of jobs take seconds: CANCELLED as soon as `given_up` says that nobody waits for it.
absl::StatusOr<v1::Plan> MakePlan(sql::Connection& db, experiments::Expansion& sweep, const LiveBoard::State& live, const std::function<bool()>& given_up);
// Of a sweep that the store has: its jobs need not be made for it.
absl::StatusOr<v1::Plan> PlanOfSweep(sql::Connection& db, const store::SweepRow& sweep, const LiveBoard::State& live);

}  // namespace longreach::service
