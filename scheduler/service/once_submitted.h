// What a submission would leave of jobs, for plans: those that have failed stay so, and so do those that fail at once, as what makes an input of theirs has
// failed, or has a result that has no such input. All others that have no result are to run, also those that were cancelled.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>

#include "proto/base/status.h"
#include "scheduler/experiments/expansion.h"
#include "scheduler/service/plan.h"
#include "store/jobs.h"
#include "store/sql/connection.h"

namespace longreach::service {

// Of a sweep that the store need not have: its jobs one after the other.
class OnceSubmitted {
 public:
  explicit OnceSubmitted(sql::Connection& db) : db_(db) {}

  // Counts a job of the sweep, and before it all that its inputs need.
  absl::Status CountInto(PlanCounter& counter, const experiments::ExpandedJob& job);

 private:
  absl::Status CountMakers(PlanCounter& counter, const experiments::ExpandedJob& job);
  // Its makers are known.
  absl::StatusOr<store::State> StateOf(const experiments::ExpandedJob& job, const std::optional<store::JobRow>& row) const;

  sql::Connection& db_;
  // Jobs that make inputs, by id, as what needs them will find them: `source` and what follows it.
  std::unordered_map<std::string, store::JobInputRow> makers_;
};

// Of a sweep that the store has: jobs that have not failed yet, and would.
struct FailingJobs {
  int64_t members = 0;
  std::map<std::string, int64_t> by_pack_key = {};  // Prerequisites too.
};
absl::StatusOr<FailingJobs> FailingOnceSubmitted(sql::Connection& db, int64_t sweep);

}  // namespace longreach::service
