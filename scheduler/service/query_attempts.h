// The attempts of many jobs, for whoever adds up their time or compares what they left.
#pragma once

#include <cstddef>
#include <stop_token>

#include "longreach/v1/api.pb.h"
#include "proto/base/status.h"
#include "scheduler/service/live_board.h"
#include "scheduler/service/paged_sweeps.h"
#include "store/sql/connection.h"

namespace longreach::service {

// What one answer has at most, so that it takes neither long nor much memory, there or here.
struct AttemptLimits {
  int jobs = 1000;
  size_t bytes = size_t{2} << 20;  // gRPC takes no answer above 4 MiB, unless told otherwise.
  int looked_at = 10'000;          // Jobs, asked for or not, begun or not.
};

// INVALID_ARGUMENT: a negative limit, a page token that no answer had, a sweep and jobs at once, too many jobs or one that is no whole id, or, of the first
// page, `only` with words that no job of the sweep has. A limit above limits.jobs is taken for that.
// UNAVAILABLE once a stop is requested. `paged`: of earlier pages; without it each reads its sweep's specification.
absl::StatusOr<v1::ListAttemptsResponse> ListAttempts(sql::Connection& db, const v1::ListAttemptsRequest& request, const LiveBoard::State& live,
                                                      const AttemptLimits& limits = {}, const std::stop_token& stop = {}, PagedSweeps* paged = nullptr);

}  // namespace longreach::service
