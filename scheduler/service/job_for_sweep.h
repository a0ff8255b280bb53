// What is answered where a sweep is asked for by a job's id: 'longreach retry JOB'.
#pragma once

#include <string_view>

#include "proto/base/status.h"
#include "store/sql/connection.h"

namespace longreach::service {

// Of a reference that no sweep has. NOT_FOUND: it is one job's id, or its beginning; with the job's sweeps, and the words by which --only names the job
// within the newest of them. OK: it is no job's, or that of several.
absl::Status RefuseJobForSweep(sql::Connection& db, std::string_view reference);

}  // namespace longreach::service
