// Answers to what is asked about jobs.
#pragma once

#include <stop_token>

#include "longreach/v1/api.pb.h"
#include "proto/base/status.h"
#include "scheduler/service/live_board.h"
#include "scheduler/service/paged_sweeps.h"
#include "store/sql/connection.h"

namespace longreach::service {

inline constexpr int kJobsInPage = 1000;
inline constexpr int kMaxJobsInPage = 10'000;

// INVALID_ARGUMENT: an unknown state, a limit below 0, a page token that no answer had, or `only` with what no job of the sweep has. A limit above kMaxJobsInPage is
// taken for that. UNAVAILABLE once a stop is requested. `paged`: of earlier pages; without it each reads its sweep's specification.
absl::StatusOr<v1::ListJobsResponse> ListJobs(sql::Connection& db, const v1::ListJobsRequest& request,
                                              const LiveBoard::State& live, const std::stop_token& stop = {}, PagedSweeps* paged = nullptr);
absl::StatusOr<v1::GetJobResponse> GetJob(sql::Connection& db, const v1::GetJobRequest& request,
                                          const LiveBoard::State& live);
absl::StatusOr<v1::ExplainJobResponse> ExplainJob(sql::Connection& db, const v1::GetJobRequest& request,
                                                  const LiveBoard::State& live);

}  // namespace longreach::service
