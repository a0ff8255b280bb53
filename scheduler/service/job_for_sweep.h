// How a sweep's commands name one of its jobs, and what is answered where a sweep is asked for by a job's id: 'longreach retry JOB'.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "proto/base/status.h"
#include "store/reading.h"
#include "store/sql/connection.h"
#include "store/sweeps.h"

namespace longreach::service {

// "--only task=even_pairs --only encoding=rope ...", by all that a sweep is expanded by, so that they are of this job alone. `position` is its place in the
// sweep.
absl::StatusOr<std::string> OnlyThisJob(const store::SweepRow& sweep, int64_t position, const store::ListedJob& row);

// Of a reference that no sweep has. NOT_FOUND: it is one job's id, or its beginning; with the job's sweeps, and the words by which --only names the job
// within the newest of them. OK: it is no job's, or that of several.
absl::Status RefuseJobForSweep(sql::Connection& db, std::string_view reference);

}  // namespace longreach::service
