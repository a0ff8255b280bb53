// What a worker that has failed since its last success is offered before what it failed at (core::Offer).
#pragma once

#include <set>

#include "proto/base/status.h"
#include "scheduler/core/health.h"
#include "store/apart.h"

namespace longreach::service {

class OtherWork {
 public:
  // Empty health: nothing is apart from anything.
  static absl::StatusOr<OtherWork> Than(sql::Connection& db, const core::Health& failed);

  bool any_failed() const { return !jobs_.empty(); }
  // Some sweep has all the jobs that failed, so that it may be the sweep's fault.
  bool all_of_one_sweep() const { return !sweeps_.all.empty(); }
  // What jobs that are offered so stay away from.
  store::Apart Apart(core::Offer offer) const;

 private:
  std::set<int64_t> jobs_;
  std::set<int64_t> pack_keys_;
  store::SweepsOfJobs sweeps_;
};

}  // namespace longreach::service
