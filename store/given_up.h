// The table `given_up`: jobs of a sweep that were cancelled alone. It goes on without them, and another sweep that has them is not asked. What needs such a job is
// given up with it, so that no job which a sweep wants waits for one that it does not want.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "store/sql/connection.h"
#include "store/sweeps.h"

namespace longreach::store {

// For a WHERE clause: the sweep of `membership`, a row of sweep_jobs, has not given its job up.
std::string NotGivenUp(std::string_view membership);
// For a query: the state that the job `j` has in the sweep of `membership`. What a sweep has given up is cancelled there until it has a result, whatever becomes of it
// for another one; the sweep's counters have it so as well.
std::string StateIn(std::string_view membership);

// After each of these the sweep's jobs must follow (SettlePart, or SettleJobs).

// Gives those of these jobs up that the sweep has and that have no result, with all that needs them, and prerequisites that nothing else of the sweep needs. How many
// of them it wanted until now: those that have failed stay so, and do not count.
absl::StatusOr<int> GiveUpJobs(sql::Transaction& tx, int64_t sweep, std::span<const int64_t> jobs);
// Those of these jobs that have failed are to run again, with fresh counters and out of their split groups, and those that were given up are wanted again, with what
// they need. How many.
absl::StatusOr<int> TryJobsAgain(sql::Transaction& tx, int64_t sweep, std::span<const int64_t> jobs);
// Nothing of the sweep is given up any more; how many jobs were.
absl::StatusOr<int> ForgetGivenUp(sql::Transaction& tx, int64_t sweep);

// Sweeps that have a job as member, which failed just now, and no other failed one; but for cancelled sweeps, and for those that have given it up. Ascending.
absl::StatusOr<std::vector<int64_t>> SweepsWithFirstFailure(sql::Connection& db, int64_t job);

absl::StatusOr<bool> AnyGivenUp(sql::Connection& db, int64_t sweep);
absl::StatusOr<bool> HasGivenUp(sql::Connection& db, int64_t sweep, int64_t job);

}  // namespace longreach::store
