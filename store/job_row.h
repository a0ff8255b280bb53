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

// The num of a requirement's row, which is made when there is none.
absl::StatusOr<int64_t> FindOrAddRequirement(sql::Transaction& tx, const Requirement& requirement);

// INTERNAL unless exactly one row was changed; `what` says what was wanted.
absl::Status ExactlyOne(const absl::StatusOr<int>& changed, std::string_view what);

}  // namespace longreach::store
