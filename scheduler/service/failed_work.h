// What has failed on a worker, and what follows for the jobs that it is given.
#pragma once

#include <set>
#include <string_view>
#include <vector>

#include "proto/base/status.h"
#include "scheduler/core/health.h"
#include "store/apart.h"

namespace longreach::service {

class FailedWork {
 public:
  // As it is stored with the worker.
  static absl::StatusOr<FailedWork> Of(sql::Connection& db, std::string_view recent_failures);

  core::Standing standing() const { return standing_; }
  // The sweeps that it gets no jobs of: of those that the verdict names the live ones, if there are any.
  const std::set<int64_t>& sweeps() const { return sweeps_; }

  // What jobs stay away from that the worker is given, the best first: the next is for when nothing is ready so.
  const std::vector<store::Apart>& Offers() const { return offers_; }

 private:
  core::Standing standing_ = core::Standing::kGood;
  std::set<int64_t> sweeps_;
  std::vector<store::Apart> offers_;
};

}  // namespace longreach::service
