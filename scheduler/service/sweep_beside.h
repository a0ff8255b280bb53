// Which sweep an extra column of a table stands for.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "longreach/v1/spec.pb.h"
#include "proto/base/status.h"
#include "store/sql/connection.h"

namespace longreach::service {

// It, and what it differs in from the table's.
struct SweepBeside {
  int64_t sweep = 0;
  int64_t to_come = 0;
  bool cancelled = false;
  std::set<std::string> differences = {};
};

// Of the sweeps of a name with the table's own settings the one with the most jobs, as a later one of some tasks or encodings is not all that the
// column stands for; the newest of those. If none has these settings, the newest. nullopt: there is none.
absl::StatusOr<std::optional<SweepBeside>> FindSweepBeside(sql::Connection& db, const v1::SweepSpec& sweep, const std::string& name);

}  // namespace longreach::service
