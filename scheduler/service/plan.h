// What a sweep asks for, beside what the store already has.
#pragma once

#include "longreach/v1/api.pb.h"
#include "proto/base/status.h"
#include "scheduler/experiments/expansion.h"
#include "scheduler/service/live_board.h"
#include "store/sql/connection.h"

namespace longreach::service {

absl::StatusOr<v1::Plan> MakePlan(sql::Connection& db, experiments::Expansion& sweep, const LiveBoard::State& live);

}  // namespace longreach::service
