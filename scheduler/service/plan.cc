#include "scheduler/service/plan.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "proto/types/canonical.h"
#include "scheduler/core/packs.h"
#include "scheduler/core/plan.h"
#include "scheduler/service/needs.h"
#include "scheduler/service/once_submitted.h"
#include "scheduler/service/query_workers.h"
#include "store/attempts.h"
#include "store/jobs.h"
#include "store/workers.h"

namespace longreach::service {
namespace {

// Attempts that the estimate looks back at.
constexpr int kLookBack = 200;
// Of the open work, that of which no such attempt says anything; with more, nobody knows how long it takes.
constexpr double kMostUnknown = 0.1;

// Rates of finished attempts, newest first, by worker.
struct Rates {
  std::vector<double> all;
  std::map<std::string, std::vector<double>> of_worker;
};

// Of attempts at jobs like those that are open: none where much of the work is like nothing that was measured.
absl::StatusOr<Rates> MeasuredRates(sql::Connection& db, const std::map<core::WorkSize, double>& work) {
  Rates rates;
  std::set<core::WorkSize> known;
  ASSIGN_OR_RETURN(std::vector<store::MeasuredAttempt> attempts, store::MeasuredAttempts(db, kLookBack));
  for (const store::MeasuredAttempt& attempt : attempts) {
    const absl::StatusOr<v1::JobSpec> job = experiments::ReadJob(attempt.spec);
    if (!job.ok()) continue;  // Of a kind that this program does not know.
    const experiments::Kind* kind = experiments::FindKind(job->experiment());
    const experiments::Cost cost = kind->CostOf(*job);
    const double rate = cost.flops * attempt.members / attempt.seconds * attempt.at_once;  // Of the whole worker.
    if (rate <= 0) continue;  // It computed nothing, so its time says nothing.
    bool tells = false;
    for (const auto& [size, flops] : work) {
      if (!core::TellsOf({.experiment = kind->Name(), .memory_bytes = cost.memory_bytes, .flops = cost.flops}, attempt.seconds, size)) continue;
      known.insert(size);
      tells = true;
    }
    if (!tells) continue;
    rates.all.push_back(rate);
    rates.of_worker[attempt.worker].push_back(rate);
  }
  double all = 0, unknown = 0;
  for (const auto& [size, flops] : work) {
    all += flops;
    if (!known.contains(size)) unknown += flops;
  }
  return unknown > kMostUnknown * all ? Rates() : rates;
}

// Of so many jobs, in the engine that takes more for biases of pairs: workers may have either.
double MemoryOfPack(const experiments::Cost& cost, int64_t jobs) {
  const double members = static_cast<double>(jobs);
  return members * cost.memory_bytes + std::max(members * cost.pair_bytes, cost.pair_tables.BytesOfPack(jobs));
}

}  // namespace

experiments::Cost PlanCounter::CostOf(const v1::JobSpec& spec) const {
  return experiments::FindKind(spec.experiment())->CostOf(spec, [this](const std::string& maker) {
    const auto known = seen_.find(maker);
    return known == seen_.end() || known->second.stores_weights;
  });
}

absl::Status PlanCounter::LearnMakers(sql::Connection& db, const v1::JobSpec& spec) {
  for (const v1::JobInput& input : spec.inputs()) {
    if (seen_.contains(input.job())) continue;
    ASSIGN_OR_RETURN(const std::optional<store::JobRow> row, store::FindJob(db, input.job()));
    if (!row) continue;
    ASSIGN_OR_RETURN(const v1::JobSpec maker, experiments::ReadJob(row->spec));
    RETURN_IF_ERROR(LearnMakers(db, maker));
    seen_[input.job()].stores_weights = CostOf(maker).stores_weights;
  }
  return absl::OkStatus();
}

void PlanCounter::AddOpen(const v1::JobSpec& spec, const std::string& pack_key, int64_t jobs) {
  // Jobs that could be one pack cost the same, but for what their inputs' makers store.
  if (pack_key != cost_of_ || spec.inputs_size() > 0) {
    const experiments::Kind* kind = experiments::FindKind(spec.experiment());
    cost_ = CostOf(spec);
    needs_trainer_ = !kind->ComputesNothing();
    size_ = {.experiment = kind->Name(), .memory_bytes = cost_.memory_bytes, .flops = cost_.flops};
    most_in_pack_ = MostInPack(spec);
    cost_of_ = pack_key;
    for (std::string& name : AllOf(DataSetNamesOf(spec))) data_sets_.insert(std::move(name));
  }
  flops_ += cost_.flops * static_cast<double>(jobs);
  checkpoint_bytes_ += cost_.checkpoint_bytes * static_cast<double>(jobs);
  if (!needs_trainer_) {
    alone_ += jobs;
    return;
  }
  work_[size_] += cost_.flops * static_cast<double>(jobs);
  Open& open = open_[pack_key];
  open.jobs += jobs;
  open.cost = cost_;
  open.most_in_pack = most_in_pack_;
}

void PlanCounter::Add(const experiments::ExpandedJob& job, bool member, store::State state) {
  if (!distinct_) {
    const auto [role, is_new] = seen_.try_emplace(job.id.value, Role{.member = member, .state = state});
    if (!is_new) {
      if (!member || role->second.member) return;
      // It was counted as what another job needs.
      role->second.member = true;
      --prerequisites_;
      ++members_;
      if (role->second.state == store::State::kFailed) ++members_failed_;
      if (role->second.state != store::State::kSucceeded) return;
      --prerequisites_done_;
      ++members_done_;
      return;
    }
    role->second.stores_weights = CostOf(job.spec).stores_weights;
  }
  ++(member ? members_ : prerequisites_);
  if (state == store::State::kFailed) {
    if (member) ++members_failed_;
  } else if (state == store::State::kSucceeded) {
    ++(member ? members_done_ : prerequisites_done_);
  } else {
    AddOpen(job.spec, job.pack_key, 1);
  }
}

v1::Plan PlanCounter::Plan(int pack_limit) const {
  int64_t packs = alone_;
  double memory_bytes = 0;
  for (const auto& [key, open] : open_) {
    const int most = std::min(pack_limit, open.most_in_pack);
    packs += core::PacksOf(open.jobs, most);
    memory_bytes = std::max(memory_bytes, MemoryOfPack(open.cost, std::min<int64_t>(open.jobs, most)));
  }
  v1::Plan plan;
  plan.set_jobs(static_cast<int>(members_));
  plan.set_done(static_cast<int>(members_done_));
  plan.set_failed(static_cast<int>(members_failed_));
  plan.set_prerequisites(static_cast<int>(prerequisites_));
  plan.set_prerequisites_done(static_cast<int>(prerequisites_done_));
  plan.set_packs(static_cast<int>(packs));
  plan.set_flops(flops_);
  plan.set_checkpoint_bytes(checkpoint_bytes_);
  plan.set_pack_memory_bytes(memory_bytes);
  for (const std::string& name : data_sets_) plan.add_data_sets(name);
  return plan;
}

absl::StatusOr<v1::Plan> Estimated(sql::Connection& db, const PlanCounter& counter, const LiveBoard::State& live) {
  ASSIGN_OR_RETURN(Rates rates, MeasuredRates(db, counter.work()));
  std::vector<double> worker_rates;
  ASSIGN_OR_RETURN(std::vector<store::WorkerRow> workers, WorkersThere(db, live));
  for (const store::WorkerRow& worker : workers) {
    if (worker.state != WorkerState::kActive) continue;
    const auto own = rates.of_worker.find(worker.id);
    worker_rates.push_back(own != rates.of_worker.end() ? core::Median(own->second) : 0);
  }
  if (worker_rates.empty()) worker_rates.push_back(0);  // None is here: as if one were, of the usual speed.

  v1::Plan plan = counter.Plan(PackLimitAtHand(workers));
  const core::Estimate estimate = core::EstimateHours(plan.flops(), worker_rates, rates.all);
  plan.set_hours(estimate.hours);
  plan.set_hours_low(estimate.hours_low);
  plan.set_hours_high(estimate.hours_high);
  return plan;
}

absl::StatusOr<v1::Plan> MakePlan(sql::Connection& db, experiments::Expansion& sweep, const LiveBoard::State& live, const std::function<bool()>& given_up) {
  constexpr int64_t kBetweenLooks = 1000;
  PlanCounter counter(!sweep.has_inputs());
  OnceSubmitted submitted(db);
  for (int64_t i = 0; i < sweep.size(); ++i) {
    if (i % kBetweenLooks == 0 && given_up()) return absl::CancelledError("nobody waits for this plan any more");
    RETURN_IF_ERROR(submitted.CountInto(counter, sweep.At(i)));
  }
  return Estimated(db, counter, live);
}

absl::StatusOr<v1::Plan> PlanOfSweep(sql::Connection& db, const store::SweepRow& sweep, const LiveBoard::State& live) {
  PlanCounter counter(true);
  counter.members_ = sweep.counts.jobs();
  counter.members_done_ = sweep.counts.succeeded;
  ASSIGN_OR_RETURN(const store::Prerequisites prerequisites, store::CountPrerequisites(db, sweep.num));
  counter.prerequisites_ = prerequisites.jobs;
  counter.prerequisites_done_ = prerequisites.succeeded;
  ASSIGN_OR_RETURN(FailingJobs failing, FailingOnceSubmitted(db, sweep.num));
  ASSIGN_OR_RETURN(counter.members_failed_, store::CountFailedMembers(db, sweep));
  counter.members_failed_ += failing.members;
  ASSIGN_OR_RETURN(const std::vector<store::OpenJobs> open, store::OpenJobsOfSweep(db, sweep.num));
  for (const store::OpenJobs& jobs : open) {
    const std::string pack_key = PackKeyOf(jobs.spec);
    int64_t& fail = failing.by_pack_key[pack_key];
    const int64_t to_run = jobs.jobs - std::min(fail, jobs.jobs);
    fail -= jobs.jobs - to_run;
    if (to_run == 0) continue;
    ASSIGN_OR_RETURN(const v1::JobSpec spec, experiments::ReadJob(jobs.spec));
    RETURN_IF_ERROR(counter.LearnMakers(db, spec));
    counter.AddOpen(spec, pack_key, to_run);
  }
  return Estimated(db, counter, live);
}

}  // namespace longreach::service
