// How a JobRow is read, for the files that select whole jobs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "store/jobs.h"

namespace longreach::store {

// "SELECT <columns> FROM jobs AS j JOIN requirements AS r ... " with what follows appended.
std::string SelectJobs(std::string_view rest);
// The row that `rows` stands at, of a query made by SelectJobs.
JobRow ReadJob(const sql::Rows& rows);
// All rows.
absl::StatusOr<std::vector<JobRow>> ReadJobs(sql::Rows rows);

// Jobs by their id, the only parameter: with its beginning too, which is what the index has. The plus keeps SQLite from writing ?1 for
// id in the first term as well, which would then be no use of the index. For queries FROM jobs AS j, as SelectJobs makes them.
inline constexpr std::string_view kWithId = "WHERE substr(j.id, 1, 24) = substr(?1, 1, 24) AND +j.id = ?1";

// What a job becomes that is to run: it waits for as long as one of its inputs is missing. For statements whose outer table is `jobs` by that name.
inline constexpr std::string_view kStateToRun =
    "iif(EXISTS (SELECT 1 FROM job_inputs AS i JOIN jobs AS s ON s.num = i.source WHERE i.job = jobs.num AND s.state <> 'succeeded'), "
    "'waiting', 'queued')";

// Of a job `j` that has its result and a job `s` that makes an input of it: the result that `s` has in this store, if any, is not what `j` began with. So it is once a repair has had `s` run again.
// Otherwise the numbers of attempts ascend from what makes an input to what begins with it, whichever store they came from.
inline constexpr std::string_view kIsOfAnotherRun = "(s.state <> 'succeeded' OR s.attempt > j.attempt)";

// The split_group of a job that goes on from its newest checkpoint as the pack that made it, by the number that the scheduler gives such a pack (GroupOfBegun() in
// scheduler/core); 0 where there is none. One of step 0, of a job that is trained, is none: it begins anew, with whom there is. For statements whose outer table is
// `jobs` by that name.
inline constexpr std::string_view kPackOfCheckpoint =
    "ifnull((SELECT -a.attempt FROM artifacts AS a WHERE a.job = jobs.num AND a.kind = 'checkpoint' AND (a.step > 0 OR jobs.steps = 0) "
    "ORDER BY a.step DESC, a.attempt DESC LIMIT 1), 0)";

// The statement by which jobs that have failed are to run again, with fresh counters and out of their split groups: those for which `which`, a condition on `jobs`, holds.
// What goes on from a checkpoint goes on as the pack that made it: two packs that are at the same step would else be mixed.
std::string RetryFailedWhere(std::string_view which);

// The num of a requirement's row, which is made when there is none.
absl::StatusOr<int64_t> FindOrAddRequirement(sql::Transaction& tx, const Requirement& requirement);
// The num of a pack key's row, which is made when there is none.
absl::StatusOr<int64_t> FindOrAddPackKey(sql::Transaction& tx, std::string_view key);

// INTERNAL unless exactly one row was changed; `what` says what was wanted.
absl::Status ExactlyOne(const absl::StatusOr<int>& changed, std::string_view what);

}  // namespace longreach::store
