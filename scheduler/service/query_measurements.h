// The values of a sweep's jobs one by one, or of jobs that are named, for whoever makes tables and figures of their own.
#pragma once

#include <cstddef>
#include <stop_token>

#include "longreach/v1/api.pb.h"
#include "proto/base/status.h"
#include "scheduler/service/paged_sweeps.h"
#include "store/sql/connection.h"

namespace longreach::service {

// What one answer has at most, so that it takes neither long nor much memory, there or here.
struct MeasurementLimits {
  int values = 10'000;
  size_t bytes = size_t{2} << 20;  // gRPC takes no answer above 4 MiB, unless told otherwise.
  int jobs = 10'000;               // That are looked at, asked for or not.
};

// INVALID_ARGUMENT: an unknown metric, a negative length or limit, a page token that no answer had, a sweep and jobs at once, too many
// jobs or one that is no whole id, or, of the first page, `only` with words that no job of the sweep has. A limit above limits.values is taken for that.
// UNAVAILABLE once a stop is requested. `paged`: of earlier pages; without it each reads its sweep's specification.
absl::StatusOr<v1::ListMeasurementsResponse> ListMeasurements(sql::Connection& db, const v1::ListMeasurementsRequest& request,
                                                              const MeasurementLimits& limits = {}, const std::stop_token& stop = {},
                                                              PagedSweeps* paged = nullptr);

}  // namespace longreach::service
