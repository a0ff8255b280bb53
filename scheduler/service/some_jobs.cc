#include "scheduler/service/some_jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "scheduler/core/sweep_life.h"
#include "scheduler/service/references.h"
#include "scheduler/service/replies.h"
#include "store/given_up.h"

namespace longreach::service {
namespace {

constexpr int kReadAtOnce = 250;

struct NamedJobs {
  v1::SweepSpec spec;
  Members members;
  Only only;
};

absl::StatusOr<NamedJobs> NamedBy(const store::SweepRow& sweep, const v1::SteerSweepRequest& request) {
  NamedJobs named;
  ASSIGN_OR_RETURN(named.spec, SpecOf(sweep));
  named.members = {.sweep = sweep.num, .metric = "", .systems = experiments::SystemRanges(named.spec), .at_once = kReadAtOnce};
  ASSIGN_OR_RETURN(named.only, Only::OfJobs(request.only(), named.spec, named.members));
  return named;
}

}  // namespace

bool IsOfSomeJobs(v1::SteerSweepRequest::Action action) {
  return action == v1::SteerSweepRequest::ACTION_CANCEL_JOBS || action == v1::SteerSweepRequest::ACTION_RETRY_JOBS;
}

absl::Status CheckSomeJobs(sql::Connection& db, const v1::SteerSweepRequest& request, const std::stop_token& stop) {
  const sql::StopQueries stopping(db, stop);
  ASSIGN_OR_RETURN(const store::SweepRow sweep, ResolveSweep(db, request.sweep()));
  ASSIGN_OR_RETURN(NamedJobs named, NamedBy(sweep, request));
  return named.only.Check(db, named.spec, named.members);
}

absl::StatusOr<SomeJobs> SomeJobs::Of(const store::SweepRow& sweep, const v1::SteerSweepRequest& request) {
  if (request.only().empty()) return absl::InvalidArgumentError("only: it is empty; name the jobs, as task=even_pairs or seed=0,1, or steer the whole sweep");
  ASSIGN_OR_RETURN(NamedJobs named, NamedBy(sweep, request));
  return SomeJobs(std::move(named.members), std::move(named.only), request.action() == v1::SteerSweepRequest::ACTION_CANCEL_JOBS);
}

absl::StatusOr<std::vector<int64_t>> SomeJobs::In(sql::Connection& db, store::Positions part) {
  std::vector<int64_t> jobs;
  RETURN_IF_ERROR(ForEachJob(db, members_, part.from, {}, LiveBoard::State(), [&](const store::ListedJob& row, const v1::Job& job) -> absl::StatusOr<bool> {
    if (row.position >= part.to) return false;
    if (!only_.Takes(job)) return true;
    if (row.state == store::State::kSucceeded) ++succeeded_;
    else if (row.state == store::State::kFailed) ++failed_;
    else ++others_;
    const bool stays = row.state == store::State::kSucceeded || (cancels_ && row.state == store::State::kFailed);
    if (!stays) jobs.push_back(row.num);
    return true;
  }));
  return jobs;
}

absl::StatusOr<store::Settled> SomeJobs::Steer(sql::Transaction& tx, const store::SweepRow& sweep, store::Positions part) {
  RETURN_IF_ERROR(cancels_ ? core::CheckCancelJobs(sweep.state, sweep.to_come) : core::CheckRetry(sweep.state));
  ASSIGN_OR_RETURN(const std::vector<int64_t> jobs, In(tx, part));
  ASSIGN_OR_RETURN(const int steered, cancels_ ? store::GiveUpJobs(tx, sweep.num, jobs) : store::TryJobsAgain(tx, sweep.num, jobs));
  steered_ += steered;
  return store::SettlePart(tx, sweep, part);
}

absl::StatusOr<int> SomeJobs::Steered(int64_t to_come) const {
  if (steered_ > 0 || others_ > 0) return steered_;
  if (!cancels_ && failed_ > 0) return steered_;
  RETURN_IF_ERROR(core::CheckAllAreThere(to_come));
  if (succeeded_ + failed_ == 0) return absl::InvalidArgumentError("only: no job of the sweep has all of these; 'longreach jobs SWEEP --only ...' shows which there are");
  const std::string failed = failed_ == 0 ? "" : fmt::format(", {} failed", failed_);
  return absl::FailedPreconditionError(fmt::format("only: there is nothing to {} among these jobs, all of which have come to their end: {} succeeded{}",
                                                   cancels_ ? "cancel" : "retry", succeeded_, failed));
}

}  // namespace longreach::service
