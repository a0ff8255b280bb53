// The table of a sweep's results (results_table.h), from the store.
#pragma once

#include "longreach/v1/api.pb.h"
#include "proto/base/status.h"
#include "store/sql/connection.h"

namespace longreach::service {

// Reads one measurement per job: those of other lengths cost nothing.
absl::StatusOr<v1::Table> GetTable(sql::Connection& db, const v1::GetTableRequest& request);

}  // namespace longreach::service
