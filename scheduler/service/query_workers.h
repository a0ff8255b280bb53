// Answers to what is asked about workers and data sets.
#pragma once

#include <chrono>
#include <span>
#include <vector>

#include "longreach/v1/api.pb.h"
#include "proto/base/status.h"
#include "scheduler/service/live_board.h"
#include "store/sql/connection.h"
#include "store/workers.h"

namespace longreach::service {

// A worker that is gone is listed for so long after its last call, measured by the last call of any: a store that is looked at after
// months still shows who worked on it. api.proto and the command say it too.
inline constexpr std::chrono::days kListedWhenGone{7};

// Those that are there, by id.
absl::StatusOr<std::vector<store::WorkerRow>> WorkersThere(sql::Connection& db, const LiveBoard::State& live);
// The largest pack limit of those that get work; the usual one when none is there.
int PackLimitAtHand(std::span<const store::WorkerRow> there);
// Those that are there or were of late, by name.
absl::StatusOr<v1::ListWorkersResponse> ListWorkers(sql::Connection& db, const LiveBoard::State& live, const v1::ListWorkersRequest& request = {});
absl::StatusOr<v1::ListDataSetsResponse> ListDataSets(sql::Connection& db);

}  // namespace longreach::service
