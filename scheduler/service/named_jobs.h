// Jobs that a call names one by one, where others ask for all of a sweep.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "longreach/v1/api.pb.h"
#include "proto/base/status.h"
#include "scheduler/service/live_board.h"
#include "store/reading.h"

namespace longreach::service {

inline constexpr int kMaxNamedJobs = 1000;

using JobNames = google::protobuf::RepeatedPtrField<std::string>;

// INVALID_ARGUMENT: more than kMaxNamedJobs, one that is no whole id, or beside a sweep or a choice among its jobs.
absl::Status CheckNamedJobs(const JobNames& jobs, bool has_sweep, bool has_only);

// Calls `use` for those from a place on, in the order in which they are named, until it says false; a job's place in the list is its position, as of a
// member in its sweep. One that the store does not have is passed over. A job is its user's, to be moved into an answer.
absl::Status ForEachNamedJob(sql::Connection& db, const JobNames& jobs, int64_t from, const LiveBoard::State& live,
                             const std::function<absl::StatusOr<bool>(const store::ListedJob&, v1::Job&)>& use);

}  // namespace longreach::service
