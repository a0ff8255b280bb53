// Finding work apart from some jobs: for a worker that has failed, and is given something else.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "store/jobs.h"

namespace longreach::store {

// Jobs to stay away from: those of these sweeps but what they have given up, those with these pack keys (pack_keys.num), and these themselves.
struct Apart {
  std::set<int64_t> sweeps{};
  std::set<int64_t> pack_keys{};
  std::set<int64_t> jobs{};

  bool empty() const { return sweeps.empty() && pack_keys.empty() && jobs.empty(); }
  auto operator<=>(const Apart&) const = default;
};

// The sweeps that have all of these jobs, in whatever state they are.
absl::StatusOr<std::set<int64_t>> SweepsWithAll(sql::Connection& db, const std::set<int64_t>& jobs);
// Those of them that have given none of these jobs up.
absl::StatusOr<std::set<int64_t>> SweepsWantingAll(sql::Connection& db, const std::set<int64_t>& jobs);
// The sweeps that have any of these jobs and have not given it up; of a job that all of its sweeps have given up, all of these.
absl::StatusOr<std::set<int64_t>> SweepsWantingAny(sql::Connection& db, const std::set<int64_t>& jobs);
// Those of `sweeps` that are live; if none is, all of them.
absl::StatusOr<std::set<int64_t>> LiveElseAll(sql::Connection& db, const std::set<int64_t>& sweeps);
absl::StatusOr<std::set<int64_t>> PackKeysOf(sql::Connection& db, const std::set<int64_t>& jobs);

struct ApartGroup {
  std::optional<LeaseGroup> group{};
  bool gave_up = false;  // There may be one all the same, behind 1,000 jobs that are not apart.
};
// NextGroup() of the jobs apart from those. It passes over a sweep's jobs by the runs of their numbers, so that the cost does not grow with
// them. (Of another sweep whose jobs came between two slices of that one, and where jobs that both did not bring shift the numbers, it may
// pass over one as well.)
absl::StatusOr<ApartGroup> NextGroupApart(sql::Connection& db, int64_t requirement, const Apart& from);

absl::StatusOr<bool> IsApart(sql::Connection& db, int64_t job, const Apart& from);

// Of the wanted queued jobs of a group at most `limit`, in line from its first on and of that one's priority; of those the ones that are
// apart.
absl::StatusOr<std::vector<JobRow>> JobsOfGroupApart(sql::Connection& db, const LeaseGroup& group, int limit, const Apart& from);

}  // namespace longreach::store
