// What a job begins with, as sentences about it are made of (scheduler/core/explain.h).
#pragma once

#include <cstdint>
#include <vector>

#include "proto/base/status.h"
#include "scheduler/core/explain.h"
#include "store/sql/connection.h"

namespace longreach::service {

// Ascending by name.
absl::StatusOr<std::vector<core::InputFact>> InputFactsOf(sql::Connection& db, int64_t job);

}  // namespace longreach::service
