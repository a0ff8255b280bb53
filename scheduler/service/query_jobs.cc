#include "scheduler/service/query_jobs.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "proto/base/text.h"
#include "proto/types/job.h"
#include "proto/types/words.h"
#include "scheduler/core/explain.h"
#include "scheduler/experiments/expansion.h"
#include "scheduler/service/input_facts.h"
#include "scheduler/service/members.h"
#include "scheduler/service/references.h"
#include "scheduler/service/replies.h"
#include "scheduler/service/table_axes.h"
#include "store/artifacts.h"
#include "store/attempts.h"
#include "store/measurements.h"
#include "store/reading.h"
#include "store/sweeps.h"

namespace longreach::service {
namespace {

// "failed", or several with ',' between them.
absl::StatusOr<store::JobFilter> FilterOf(const std::string& words) {
  store::JobFilter filter;
  if (words.empty()) return filter;
  for (const std::string& word : Split(words, ',')) {
    if (word == "diverged") {
      filter.diverged = true;
    } else if (const std::optional<store::State> state = store::StateOf(word)) {
      filter.states.insert(*state);
    } else {
      return RefuseWord("state", "state", word, JobFilterWords());
    }
  }
  return filter;
}

absl::Status AddMeasurements(sql::Connection& db, int64_t job, v1::GetJobResponse& response) {
  ASSIGN_OR_RETURN(std::vector<store::Measurement> rows, store::MeasurementsOf(db, job, true));
  for (const store::Measurement& row : rows) *response.add_measurements() = ToMeasurement(row);
  return absl::OkStatus();
}

absl::Status AddArtifacts(sql::Connection& db, int64_t job, v1::GetJobResponse& response) {
  ASSIGN_OR_RETURN(std::vector<store::ArtifactRow> rows, store::ArtifactsOf(db, job));
  for (const store::ArtifactRow& row : rows) *response.add_artifacts() = ToArtifactInfo(row);
  return absl::OkStatus();
}

absl::Status AddProgress(sql::Connection& db, int64_t job, const std::string& id, v1::GetJobResponse& response) {
  ASSIGN_OR_RETURN(std::vector<store::ProgressRow> rows, store::ProgressOf(db, job));
  for (const store::ProgressRow& row : rows) {
    v1::ProgressPoint& point = *response.add_progress();
    point.set_job(id);
    point.set_step(row.step);
    point.set_loss(row.loss);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<v1::ListJobsResponse> ListJobs(sql::Connection& db, const v1::ListJobsRequest& request,
                                              const LiveBoard::State& live, const std::stop_token& stop, PagedSweeps* paged) {
  const sql::StopQueries stopping(db, stop);
  ASSIGN_OR_RETURN(store::JobFilter filter, FilterOf(request.state()));
  if (request.limit() < 0) {
    return absl::InvalidArgumentError(fmt::format("limit: {} is negative; 0 means {}", request.limit(), kJobsInPage));
  }
  int64_t after = -1;
  if (!request.page_token().empty()) {
    const std::optional<int64_t> position = ParseInteger(request.page_token());
    if (!position.has_value() || *position < 0) return RefusePageToken(request.page_token());
    after = *position;
  }
  ASSIGN_OR_RETURN(store::SweepRow sweep, ResolveSweep(db, request.sweep()));
  PagedSweeps of_this_page;
  ASSIGN_OR_RETURN(const std::shared_ptr<const PagedSweep> read, (paged == nullptr ? of_this_page : *paged).Of(sweep));
  const int limit = std::min(request.limit() == 0 ? kJobsInPage : request.limit(), kMaxJobsInPage);
  Members members{.sweep = sweep.num, .metric = read->metric, .systems = read->systems};
  // One more than asked for says whether there is another page.
  if (request.only().empty()) members.at_once = limit + 1;
  ASSIGN_OR_RETURN(Only only, Only::OfJobs(request.only(), read->spec, members));
  RETURN_IF_ERROR(only.CheckOfPage(db, sweep, members, request.page_token().empty()));
  int looked_at = 0;
  v1::ListJobsResponse response;
  RETURN_IF_ERROR(ForEachJob(db, members, after + 1, filter, live, [&](const store::ListedJob& row, v1::Job& job) -> absl::StatusOr<bool> {
    if (response.jobs_size() == limit || looked_at++ == kMaxJobsInPage) {
      response.set_next_page_token(std::to_string(row.position - 1));
      return false;
    }
    if (only.Takes(job)) *response.add_jobs() = std::move(job);
    return true;
  }));
  return response;
}

absl::StatusOr<v1::GetJobResponse> GetJob(sql::Connection& db, const v1::GetJobRequest& request,
                                          const LiveBoard::State& live) {
  ASSIGN_OR_RETURN(const ResolvedJob resolved, ResolveWholeJob(db, request.job()));
  const auto& [job, listed] = resolved;
  const int64_t num = job.num;
  ASSIGN_OR_RETURN(v1::JobSpec spec, experiments::ReadJob(job.spec));
  ASSIGN_OR_RETURN(std::vector<store::AttemptRow> attempts, store::AttemptsOfJob(db, num));
  ASSIGN_OR_RETURN(std::vector<store::SweepRow> sweeps, store::SweepsOfJob(db, num));

  v1::GetJobResponse response;
  *response.mutable_job() = ToJob(listed, live);
  RETURN_IF_ERROR(AddSystems(db, num, *response.mutable_job()));
  *response.mutable_spec() = std::move(spec);
  response.set_canonical(job.spec);
  for (const store::AttemptRow& attempt : attempts) *response.add_attempts() = ToAttemptInfo(attempt, job.state, job.attempt, live);
  RETURN_IF_ERROR(AddMeasurements(db, num, response));
  RETURN_IF_ERROR(AddArtifacts(db, num, response));
  RETURN_IF_ERROR(AddProgress(db, num, job.id, response));
  for (const store::SweepRow& sweep : sweeps) response.add_sweeps(sweep.id);
  ASSIGN_OR_RETURN(const std::vector<core::InputFact> inputs, InputFactsOf(db, num));
  for (std::string& note : core::NotesOnInputs(ShortId(job.id), inputs)) response.add_notes(std::move(note));
  return response;
}

}  // namespace longreach::service
