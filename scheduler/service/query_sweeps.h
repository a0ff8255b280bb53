// Answers to what is asked about sweeps: from one snapshot of the store, and the board for what runs now.
#pragma once

#include "longreach/v1/api.pb.h"
#include "proto/base/status.h"
#include "scheduler/service/live_board.h"
#include "store/sql/connection.h"

namespace longreach::service {

absl::StatusOr<v1::ListSweepsResponse> ListSweeps(sql::Connection& db);
absl::StatusOr<v1::Sweep> GetSweep(sql::Connection& db, const v1::GetSweepRequest& request);
// One message of WatchSweep. The cost depends on what runs, not on the sweep's size. Whoever asks again and again asks by the id
// of the first answer: "last" may be another sweep by then.
absl::StatusOr<v1::SweepUpdate> GetSweepUpdate(sql::Connection& db, const v1::GetSweepRequest& request,
                                               const LiveBoard::State& live);

}  // namespace longreach::service
