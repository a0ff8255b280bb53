// Answers to what is asked about workers and data sets.
#pragma once

#include "longreach/v1/api.pb.h"
#include "proto/base/status.h"
#include "scheduler/service/live_board.h"
#include "store/sql/connection.h"

namespace longreach::service {

// By name; those that are gone are in it too.
absl::StatusOr<v1::ListWorkersResponse> ListWorkers(sql::Connection& db, const LiveBoard::State& live);
absl::StatusOr<v1::ListDataSetsResponse> ListDataSets(sql::Connection& db);

}  // namespace longreach::service
