#include "scheduler/service/query_attempts.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "proto/base/text.h"
#include "scheduler/experiments/expansion.h"
#include "scheduler/service/members.h"
#include "scheduler/service/named_jobs.h"
#include "scheduler/service/references.h"
#include "scheduler/service/replies.h"
#include "store/artifacts.h"
#include "store/attempts.h"
#include "store/jobs.h"
#include "store/reading.h"
#include "store/sweeps.h"

namespace longreach::service {
namespace {

// An answer that is being filled, job by job.
class AttemptsPage {
 public:
  AttemptsPage(sql::Connection& db, const LiveBoard::State& live, bool whole, int most_jobs, const AttemptLimits& limits)
      : db_(db), live_(live), whole_(whole), most_jobs_(most_jobs), limits_(limits) {}

  // False: the page is full, and tells that the next one begins with this job.
  absl::StatusOr<bool> Add(const store::ListedJob& row, v1::Job& job, bool is_asked_for) {
    if (response_.jobs_size() == most_jobs_ || bytes_ >= limits_.bytes || looked_at_++ == limits_.looked_at) {
      response_.set_next_page_token(std::to_string(row.position));
      return false;
    }
    if (!is_asked_for) return true;
    ASSIGN_OR_RETURN(const std::vector<store::AttemptRow> attempts, store::AttemptsOfJob(db_, row.num));
    if (attempts.empty()) return true;
    v1::JobAttempts& added = *response_.add_jobs();
    *added.mutable_job() = std::move(job);
    for (const store::AttemptRow& attempt : attempts) *added.add_attempts() = ToAttemptInfo(attempt, row.state, row.attempt, live_);
    if (whole_) RETURN_IF_ERROR(AddRest(row.num, added));
    bytes_ += added.ByteSizeLong();
    return true;
  }
  v1::ListAttemptsResponse Take() { return std::move(response_); }

 private:
  absl::Status AddRest(int64_t num, v1::JobAttempts& added) const {
    ASSIGN_OR_RETURN(const store::JobRow row, store::GetJob(db_, num));
    ASSIGN_OR_RETURN(*added.mutable_spec(), experiments::ReadJob(row.spec));
    ASSIGN_OR_RETURN(const std::vector<store::ArtifactRow> artifacts, store::ArtifactsOf(db_, num));
    for (const store::ArtifactRow& artifact : artifacts) *added.add_artifacts() = ToArtifactInfo(artifact);
    return absl::OkStatus();
  }

  sql::Connection& db_;
  const LiveBoard::State& live_;
  const bool whole_;
  const int most_jobs_;
  const AttemptLimits& limits_;
  int looked_at_ = 0;
  size_t bytes_ = 0;
  v1::ListAttemptsResponse response_;
};

absl::StatusOr<int64_t> FirstOfPage(const std::string& token) {
  if (token.empty()) return 0;
  const std::optional<int64_t> position = ParseInteger(token);
  if (!position.has_value() || *position < 0) return RefusePageToken(token);
  return *position;
}

}  // namespace

absl::StatusOr<v1::ListAttemptsResponse> ListAttempts(sql::Connection& db, const v1::ListAttemptsRequest& request, const LiveBoard::State& live,
                                                      const AttemptLimits& limits, const std::stop_token& stop, PagedSweeps* paged) {
  const sql::StopQueries stopping(db, stop);
  if (request.limit() < 0) return absl::InvalidArgumentError(fmt::format("limit: {} is negative; 0 means {}", request.limit(), limits.jobs));
  RETURN_IF_ERROR(CheckNamedJobs(request.jobs(), !request.sweep().empty(), !request.only().empty()));
  ASSIGN_OR_RETURN(const int64_t first, FirstOfPage(request.page_token()));
  AttemptsPage page(db, live, request.whole(), request.limit() == 0 ? limits.jobs : std::min(request.limit(), limits.jobs), limits);
  if (!request.jobs().empty()) {
    RETURN_IF_ERROR(ForEachNamedJob(db, request.jobs(), first, live, [&page](const store::ListedJob& row, v1::Job& job) { return page.Add(row, job, true); }));
    return page.Take();
  }
  ASSIGN_OR_RETURN(const store::SweepRow sweep, ResolveSweep(db, request.sweep()));
  PagedSweeps of_this_page;
  ASSIGN_OR_RETURN(const std::shared_ptr<const PagedSweep> read, (paged == nullptr ? of_this_page : *paged).Of(sweep));
  const Members members{.sweep = sweep.num, .metric = read->metric, .systems = read->systems};
  ASSIGN_OR_RETURN(Only only, Only::OfJobs(request.only(), read->spec, members));
  RETURN_IF_ERROR(only.CheckOfPage(db, sweep, members, request.page_token().empty()));
  RETURN_IF_ERROR(ForEachJob(db, members, first, {}, live, [&](const store::ListedJob& row, v1::Job& job) { return page.Add(row, job, only.Takes(job)); }));
  return page.Take();
}

}  // namespace longreach::service
