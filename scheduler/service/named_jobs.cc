#include "scheduler/service/named_jobs.h"

#include <optional>
#include <utility>

#include <fmt/format.h>

#include "proto/base/sha256.h"
#include "scheduler/service/access/refusals.h"
#include "scheduler/service/replies.h"
#include "store/jobs.h"

namespace longreach::service {

absl::Status CheckNamedJobs(const JobNames& jobs, bool has_sweep, bool has_only) {
  if (jobs.empty()) return absl::OkStatus();
  if (has_sweep) return absl::InvalidArgumentError("sweep and jobs: one of them at a time");
  if (has_only) return absl::InvalidArgumentError("only: it is of a sweep's jobs; leave it out where jobs are named");
  if (jobs.size() > kMaxNamedJobs) return absl::InvalidArgumentError(fmt::format("jobs: {} are named; name at most {} in one call", jobs.size(), kMaxNamedJobs));
  for (const std::string& id : jobs) {
    if (!IsSha256(id)) return absl::InvalidArgumentError(fmt::format("jobs: '{}' is no whole id; write its 64 hexadecimal digits", ForLog(id)));
  }
  return absl::OkStatus();
}

absl::Status ForEachNamedJob(sql::Connection& db, const JobNames& jobs, int64_t from, const LiveBoard::State& live,
                             const std::function<absl::StatusOr<bool>(const store::ListedJob&, v1::Job&)>& use) {
  for (int64_t place = from; place < jobs.size(); ++place) {
    ASSIGN_OR_RETURN(const std::optional<store::JobRow> row, store::FindJob(db, jobs.Get(static_cast<int>(place))));
    if (!row.has_value()) continue;
    ASSIGN_OR_RETURN(const std::string metric, MainMetricOfJob(row->spec));
    ASSIGN_OR_RETURN(store::ListedJob listed, store::GetListedJob(db, row->num, metric));
    listed.position = place;
    v1::Job job = ToJob(listed, live);
    ASSIGN_OR_RETURN(const bool goes_on, use(listed, job));
    if (!goes_on) return absl::OkStatus();
  }
  return absl::OkStatus();
}

}  // namespace longreach::service
