#include "scheduler/service/references.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "proto/base/text.h"
#include "proto/types/job.h"
#include "scheduler/service/job_for_sweep.h"
#include "scheduler/service/replies.h"
#include "store/reference.h"

namespace longreach::service {
namespace {

// An error names at most this many ids.
constexpr size_t kIdsNamed = 5;

std::string Listed(const std::vector<std::string>& ids, size_t digits) {
  std::vector<std::string> beginnings;
  for (size_t i = 0; i < ids.size() && i < kIdsNamed; ++i) beginnings.push_back(ids[i].substr(0, digits));
  return Join(beginnings, ", ") + (ids.size() > kIdsNamed ? ", ..." : "");
}

// Of a reference that no job has. People ask "why does it not go on?" of a sweep.
std::string WhatShowsJobs(sql::Connection& db, std::string_view reference) {
  return store::NewestSweep(db, reference).ok() ? fmt::format("it is a sweep, whose jobs 'longreach jobs {}' shows", reference)
                                                : "'longreach jobs SWEEP' shows a sweep's jobs";
}

// "1511d96a (submitted 2026-11-28 05:16:53Z, 4 jobs), ...": what people tell sweeps of one name apart by.
absl::StatusOr<std::string> ListedSweeps(sql::Connection& db, const std::vector<std::string>& ids) {
  std::vector<std::string> sweeps;
  for (size_t i = 0; i < ids.size() && i < kIdsNamed; ++i) {
    ASSIGN_OR_RETURN(const std::optional<store::SweepRow> row, store::FindSweep(db, ids[i]));
    if (!row.has_value()) continue;
    const auto second = std::chrono::floor<std::chrono::seconds>(row->submitted_at);
    const int jobs = row->counts.jobs();
    sweeps.push_back(fmt::format("{:.8} (submitted {:%Y-%m-%d %H:%M:%S}Z, {} {})", row->id, fmt::gmtime(std::chrono::system_clock::to_time_t(second)), jobs, jobs == 1 ? "job" : "jobs"));
  }
  return Join(sweeps, ", ") + (ids.size() > kIdsNamed ? ", ..." : "");
}

}  // namespace

absl::StatusOr<store::SweepRow> ResolveSweep(sql::Connection& db, std::string_view reference) {
  if (reference != "last") {
    ASSIGN_OR_RETURN(std::vector<std::string> named, store::SweepsNamed(db, reference));
    // Which of them is meant is the user's to say: a table of the wrong one would go unnoticed.
    if (named.size() > 1) {
      ASSIGN_OR_RETURN(const std::string listed, ListedSweeps(db, named));
      return absl::InvalidArgumentError(
          fmt::format("sweep: {} sweeps are called '{}': {}\n  give an id instead, or 'last'; 'longreach sweeps' shows them", named.size(), reference, listed));
    }
    if (named.size() == 1 && store::IsIdPrefix(reference)) {
      ASSIGN_OR_RETURN(std::vector<std::string> ids, store::SweepIdsBeginning(db, reference));
      std::erase(ids, named.front());
      if (!ids.empty()) {
        return absl::InvalidArgumentError(fmt::format("sweep: '{}' is the name of one sweep ({:.8}) and the beginning of another's id ({}); give more digits of the one that you mean",
                                                      reference, named.front(), ids.front().substr(0, std::max<size_t>(12, reference.size() + 4))));
      }
    }
  }
  absl::StatusOr<store::SweepRow> sweep = store::NewestSweep(db, reference);
  if (absl::IsNotFound(sweep.status())) RETURN_IF_ERROR(RefuseJobForSweep(db, reference));
  return sweep;
}

absl::StatusOr<int64_t> ResolveJob(sql::Connection& db, std::string_view reference) {
  if (!store::IsIdPrefix(reference)) {
    return absl::InvalidArgumentError(
        fmt::format("job: '{}' is not a job's id or its beginning (at least 4 hexadecimal digits); {}", reference, WhatShowsJobs(db, reference)));
  }
  ASSIGN_OR_RETURN(std::vector<std::string> ids, store::JobIdsBeginning(db, reference, kIdsNamed + 1));
  if (ids.empty()) {
    return absl::NotFoundError(fmt::format("there is no job '{}'; {}", reference, WhatShowsJobs(db, reference)));
  }
  if (ids.size() > 1) {
    return absl::InvalidArgumentError(fmt::format("job: several jobs begin with '{}' ({}); give more digits", reference,
                                                  Listed(ids, std::max<size_t>(8, reference.size() + 4))));
  }
  ASSIGN_OR_RETURN(std::optional<int64_t> num, store::FindJobNum(db, ids[0]));
  if (!num.has_value()) return absl::NotFoundError(fmt::format("there is no job '{}'", reference));
  return *num;
}

absl::StatusOr<ResolvedJob> ResolveWholeJob(sql::Connection& db, std::string_view reference) {
  ASSIGN_OR_RETURN(const int64_t num, ResolveJob(db, reference));
  ASSIGN_OR_RETURN(store::JobRow row, store::GetJob(db, num));
  ASSIGN_OR_RETURN(const std::string metric, MainMetricOfJob(row.spec));
  ASSIGN_OR_RETURN(store::ListedJob listed, store::GetListedJob(db, num, metric));
  return ResolvedJob{.row = std::move(row), .listed = std::move(listed)};
}

absl::StatusOr<store::WorkerRow> ResolveWorker(sql::Connection& db, std::string_view reference, const LiveBoard::State& live) {
  return store::ResolveWorker(db, reference, [&live](const std::string& id) { return live.workers.contains(id); });
}

}  // namespace longreach::service
