#include "scheduler/service/plan.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "proto/types/canonical.h"
#include "scheduler/core/packs.h"
#include "scheduler/core/plan.h"
#include "store/attempts.h"
#include "store/jobs.h"
#include "store/workers.h"

namespace longreach::service {
namespace {

// Attempts that the estimate looks back at.
constexpr int kLookBack = 200;

// Counts jobs, each once, whatever role it has.
class Counter {
 public:
  explicit Counter(sql::Connection& db) : db_(db) {}

  absl::Status Add(const experiments::ExpandedJob& job, bool member) {
    for (const experiments::ExpandedJob& maker : job.prerequisites) RETURN_IF_ERROR(Add(maker, false));
    bool& is_member = seen_.try_emplace(job.id.value, false).first->second;
    const bool counted = !counted_.insert(job.id.value).second;
    is_member |= member;
    if (counted) return absl::OkStatus();
    ASSIGN_OR_RETURN(std::optional<store::State> state, store::FindJobState(db_, job.id.value));
    if (state == store::State::kSucceeded) {
      done_.insert(job.id.value);
      return absl::OkStatus();
    }
    // Jobs that could be one pack cost the same.
    if (job.pack_key != cost_of_) cost_ = experiments::FindKind(job.spec.experiment())->CostOf(job.spec);
    cost_of_ = job.pack_key;
    flops_ += cost_.flops;
    checkpoint_bytes_ += cost_.checkpoint_bytes;
    ++open_[job.pack_key];
    return absl::OkStatus();
  }

  v1::Plan Plan(int pack_limit) const {
    v1::Plan plan;
    int64_t prerequisites = 0;
    int64_t prerequisites_done = 0;
    int64_t done = 0;
    for (const auto& [id, is_member] : seen_) {
      if (!is_member) ++prerequisites;
      if (done_.contains(id)) ++(is_member ? done : prerequisites_done);
    }
    int64_t packs = 0;
    for (const auto& [key, jobs] : open_) packs += core::PacksOf(jobs, pack_limit);
    plan.set_jobs(static_cast<int>(static_cast<int64_t>(seen_.size()) - prerequisites));
    plan.set_done(static_cast<int>(done));
    plan.set_prerequisites(static_cast<int>(prerequisites));
    plan.set_prerequisites_done(static_cast<int>(prerequisites_done));
    plan.set_packs(static_cast<int>(packs));
    plan.set_flops(flops_);
    plan.set_checkpoint_bytes(checkpoint_bytes_);
    return plan;
  }

 private:
  sql::Connection& db_;
  std::unordered_map<std::string, bool> seen_;  // Whether it is a member.
  std::unordered_set<std::string> counted_;
  std::unordered_set<std::string> done_;
  std::unordered_map<std::string, int64_t> open_;  // Jobs by pack key.
  std::string cost_of_;  // Pack key of the job that cost_ is of.
  experiments::Cost cost_;
  double flops_ = 0;
  double checkpoint_bytes_ = 0;
};

// Rates of finished attempts, newest first, by worker.
struct Rates {
  std::vector<double> all;
  std::map<std::string, std::vector<double>> of_worker;
};

absl::StatusOr<Rates> MeasuredRates(sql::Connection& db) {
  Rates rates;
  ASSIGN_OR_RETURN(std::vector<store::MeasuredAttempt> attempts, store::MeasuredAttempts(db, kLookBack));
  for (const store::MeasuredAttempt& attempt : attempts) {
    const absl::StatusOr<v1::JobSpec> job = experiments::ReadJob(attempt.spec);
    if (!job.ok()) continue;  // Of a kind that this program does not know.
    const double rate = experiments::FindKind(job->experiment())->CostOf(*job).flops * attempt.members / attempt.seconds;
    rates.all.push_back(rate);
    rates.of_worker[attempt.worker].push_back(rate);
  }
  return rates;
}

}  // namespace

absl::StatusOr<v1::Plan> MakePlan(sql::Connection& db, experiments::Expansion& sweep, const LiveBoard::State& live) {
  Counter counter(db);
  for (int64_t i = 0; i < sweep.size(); ++i) RETURN_IF_ERROR(counter.Add(sweep.At(i), true));

  ASSIGN_OR_RETURN(Rates rates, MeasuredRates(db));
  int pack_limit = 0;
  std::vector<double> worker_rates;
  ASSIGN_OR_RETURN(std::vector<store::WorkerRow> workers, store::ListWorkers(db));
  for (const store::WorkerRow& worker : workers) {
    if (!live.workers.contains(worker.id) || worker.state != store::WorkerState::kActive) continue;
    pack_limit = std::max(pack_limit, worker.pack_limit);
    const auto own = rates.of_worker.find(worker.id);
    worker_rates.push_back(own != rates.of_worker.end() ? core::Median(own->second) : 0);
  }
  if (pack_limit == 0) pack_limit = core::kUsualPackLimit;
  if (worker_rates.empty()) worker_rates.push_back(0);  // None is here: as if one were, of the usual speed.

  v1::Plan plan = counter.Plan(pack_limit);
  const core::Estimate estimate = core::EstimateHours(plan.flops(), worker_rates, rates.all);
  plan.set_hours(estimate.hours);
  plan.set_hours_low(estimate.hours_low);
  plan.set_hours_high(estimate.hours_high);
  return plan;
}

}  // namespace longreach::service
