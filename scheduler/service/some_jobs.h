// Jobs of a sweep that a client names to cancel or to retry them alone.
#pragma once

#include <cstdint>
#include <stop_token>
#include <utility>
#include <vector>

#include "longreach/v1/api.pb.h"
#include "proto/base/status.h"
#include "scheduler/service/members.h"
#include "store/sweeps.h"

namespace longreach::service {

// Whether a steering is of some jobs of its sweep, and not of the sweep.
bool IsOfSomeJobs(v1::SteerSweepRequest::Action action);

// Before such a steering, as it may look at every job. INVALID_ARGUMENT: `only` has what no job of the sweep has. NOT_FOUND: there is no such sweep. UNAVAILABLE once
// a stop is requested.
absl::Status CheckSomeJobs(sql::Connection& db, const v1::SteerSweepRequest& request, const std::stop_token& stop = {});

class SomeJobs {
 public:
  // INVALID_ARGUMENT: it names none, or something else than jobs.
  static absl::StatusOr<SomeJobs> Of(const store::SweepRow& sweep, const v1::SteerSweepRequest& request);

  // Cancels or retries those in a part of the sweep, which follows as far as rows go. For each part once. FAILED_PRECONDITION: the sweep's state does not admit it.
  absl::StatusOr<store::Settled> Steer(sql::Transaction& tx, const store::SweepRow& sweep, store::Positions part);

  // After all parts: how many were cancelled, or are to run again. INVALID_ARGUMENT: there is no such job. FAILED_PRECONDITION: all of them have come to an end that
  // stays, or those that are meant may be among the jobs of the sweep that are to come.
  absl::StatusOr<int> Steered(int64_t to_come) const;

 private:
  SomeJobs(Members members, Only only, bool cancels) : members_(std::move(members)), only_(std::move(only)), cancels_(cancels) {}

  // Those in a part that do not stay as they are; all are counted.
  absl::StatusOr<std::vector<int64_t>> In(sql::Connection& db, store::Positions part);

  Members members_;
  Only only_;
  bool cancels_;
  int steered_ = 0;
  int64_t succeeded_ = 0;
  int64_t failed_ = 0;
  int64_t others_ = 0;
};

}  // namespace longreach::service
