// Finding work apart from some jobs: for a worker that has failed, and is offered something else.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "store/jobs.h"

namespace longreach::store {

// Jobs to stay away from: those of these sweeps, those with these pack keys (pack_keys.num), and these themselves.
struct Apart {
  std::set<int64_t> sweeps{};
  std::set<int64_t> pack_keys{};
  std::set<int64_t> jobs{};
};

// The sweeps that have any of these jobs, and those that have all of them.
struct SweepsOfJobs {
  std::set<int64_t> any{};
  std::set<int64_t> all{};
};
absl::StatusOr<SweepsOfJobs> SweepsOf(sql::Connection& db, const std::set<int64_t>& jobs);
absl::StatusOr<std::set<int64_t>> PackKeysOf(sql::Connection& db, const std::set<int64_t>& jobs);

// NextGroup() of the jobs apart from those. It looks at 1,000 jobs at most, and leaps over what is left of a sweep after 32 of its jobs:
// then it may find none where there is one.
absl::StatusOr<std::optional<LeaseGroup>> NextGroupApart(sql::Connection& db, int64_t requirement, const Apart& from);

// Of the wanted queued jobs of a group at most `limit`, in line from its first on and of that one's priority; of those the ones that are
// apart.
absl::StatusOr<std::vector<JobRow>> JobsOfGroupApart(sql::Connection& db, const LeaseGroup& group, int limit, const Apart& from);

}  // namespace longreach::store
