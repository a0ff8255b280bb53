// Sweeps, jobs and workers by the words that people use for them. The beginning of an id has at least 4 digits.
// All return NOT_FOUND with a suggestion and the command that lists them, and INVALID_ARGUMENT when several fit.
#pragma once

#include <string_view>

#include "scheduler/service/live_board.h"
#include "store/jobs.h"
#include "store/reading.h"
#include "store/sql/connection.h"
#include "store/sweeps.h"
#include "store/workers.h"

namespace longreach::service {

// A sweep's id, the beginning of one, its name, or "last": the one that was submitted (again) last. INVALID_ARGUMENT also for the name of
// several, and for one that another's id begins with: store::NewestSweep() would take the newest. Who names a job is told how to name it within its sweep.
absl::StatusOr<store::SweepRow> ResolveSweep(sql::Connection& db, std::string_view reference);

// A job's number in the store, by its id or the beginning of one.
absl::StatusOr<int64_t> ResolveJob(sql::Connection& db, std::string_view reference);

// The same job as it is stored, and as lists have it, with its score.
struct ResolvedJob {
  store::JobRow row;
  store::ListedJob listed;
};
// DATA_LOSS besides: its specification cannot be read.
absl::StatusOr<ResolvedJob> ResolveWholeJob(sql::Connection& db, std::string_view reference);

// A worker's id, the beginning of one, or its name. Of several the one that is there, if one is.
absl::StatusOr<store::WorkerRow> ResolveWorker(sql::Connection& db, std::string_view reference, const LiveBoard::State& live);

}  // namespace longreach::service
