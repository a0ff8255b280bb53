// The jobs of a sweep one after the other, and which of them are asked for.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "longreach/v1/api.pb.h"
#include "proto/base/status.h"
#include "proto/types/settings.h"
#include "scheduler/experiments/expansion.h"
#include "scheduler/service/live_board.h"
#include "scheduler/service/table_filter.h"
#include "store/reading.h"
#include "store/sweeps.h"

namespace longreach::service {

// A sweep, and how its jobs are read.
struct Members {
  int64_t sweep = 0;
  std::string metric;  // Of their scores.
  std::vector<experiments::SystemRange> systems;
  int at_once = 250;  // That are read in one go.
};

// Calls `use` for those from a position on, in order of expansion, until it says false. `live` has what runs now; of no meaning to jobs that
// are done. A job is its user's, to be moved into an answer.
absl::Status ForEachJob(sql::Connection& db, const Members& members, int64_t from, const store::JobFilter& which, const LiveBoard::State& live,
                        const std::function<absl::StatusOr<bool>(const store::ListedJob&, v1::Job&)>& use);

// Which jobs, and which of their values, are asked for beside states, metric, length and slice.
class Only {
 public:
  Only() = default;  // All.
  Only(const v1::SweepSpec& spec, const Members& members, std::vector<TableFilter> filters);

  // By ListJobsRequest::only. INVALID_ARGUMENT: one is none, or tells values of a job apart.
  static absl::StatusOr<Only> OfJobs(const google::protobuf::RepeatedPtrField<std::string>& texts, const v1::SweepSpec& spec, const Members& members);

  // INVALID_ARGUMENT: a value that no job of the sweep has, in whatever state. Slices are known only once they were measured. Reads jobs only if `spec`,
  // the sweep's, does not list all values by itself.
  absl::Status Check(sql::Connection& db, const v1::SweepSpec& spec, const Members& members);
  // The same of a page of an answer. Pages behind the first are of the same question, and need not read all seeds and jobs for it again.
  absl::Status CheckOfPage(sql::Connection& db, const store::SweepRow& sweep, const Members& members, bool is_first);

  bool Takes(const v1::Job& job) const;
  bool TakesValue(int length, std::string_view slice) const;

 private:
  // Of each system, by its name; of a sweep without systems those of "".
  using SettingsByName = std::map<std::string, SettingsByJob, std::less<>>;

  bool AllAreListed(const v1::SweepSpec& spec) const;
  TableJob PlaceOf(const v1::Job& job) const;

  std::vector<TableFilter> filters_;
  SettingsByName settings_;
};

}  // namespace longreach::service
