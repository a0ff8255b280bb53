// The table of a sweep's results (results_table.h), from the store.
#pragma once

#include <stop_token>

#include "longreach/v1/api.pb.h"
#include "proto/base/status.h"
#include "store/sql/connection.h"

namespace longreach::service {

// Reads one measurement per job: those of other lengths cost nothing. UNAVAILABLE once a stop is requested.
absl::StatusOr<v1::Table> GetTable(sql::Connection& db, const v1::GetTableRequest& request, const std::stop_token& stop = {});

}  // namespace longreach::service
