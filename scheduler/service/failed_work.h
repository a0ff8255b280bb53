// What has failed on a worker, and what follows for the jobs that it is given.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "proto/base/status.h"
#include "scheduler/core/health.h"
#include "store/apart.h"
#include "store/workers.h"

namespace longreach::service {

class FailedWork {
 public:
  // As it is stored with the worker.
  static absl::StatusOr<FailedWork> Of(sql::Connection& db, std::string_view recent_failures);

  core::Standing standing() const { return standing_; }
  // What jobs stay away from that the worker is given, the best first: the next is for when nothing is ready so.
  const std::vector<store::Apart>& Offers() const { return offers_; }

  // Why it is put aside, and what brings it back. `last`: what was said of the last failure, and of which jobs; empty: nobody says so now.
  absl::StatusOr<std::string> Reason(sql::Connection& db, const store::WorkerRow& worker, std::string_view last, const std::set<int64_t>& jobs) const;

 private:
  absl::Status Blame(sql::Connection& db, const core::Health& health, const std::vector<core::SweepsOfAttempt>& of_attempts, const std::set<int64_t>& blamed);

  core::Standing standing_ = core::Standing::kGood;
  bool in_a_row_ = false;     // Nothing has succeeded in between.
  bool others_ = false;       // Of the sweeps to blame it still gets jobs of other kinds of packs.
  std::set<int64_t> sweeps_;  // Those to blame: the live ones, if there are any.
  std::vector<store::Apart> offers_;
};

}  // namespace longreach::service
