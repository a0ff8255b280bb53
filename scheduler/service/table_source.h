// The jobs that a table reads, one by one, as it sees them.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "longreach/v1/api.pb.h"
#include "proto/base/status.h"
#include "proto/types/settings.h"
#include "scheduler/experiments/expansion.h"
#include "scheduler/service/table_axes.h"
#include "store/reading.h"

namespace longreach::service {

// The members of a sweep, or the makers of one of their inputs. Which system a job is of, and its settings, only members have.
struct TableSource {
  int64_t sweep = 0;
  std::string input = {};
  std::span<const experiments::SystemRange> systems = {};
  std::span<const SettingsByJob> settings = {};  // Of each system; without systems of all.
};

// Calls `use` for each of its jobs, with the value of the table's metric and slice at `length`. The job is the same object each time, which `use` may
// change as far as its value goes; what it points to lives as long as `source` does. After an error nothing more is used.
absl::Status ForEachJobOf(sql::Connection& db, const TableSource& source, const v1::TableSpec& spec, int length,
                          const std::function<absl::Status(TableJob&, const store::MeasuredJob&)>& use);

}  // namespace longreach::service
