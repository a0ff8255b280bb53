#include "scheduler/service/query_measurements.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "proto/base/text.h"
#include "proto/catalog/catalog.h"
#include "proto/types/words.h"
#include "scheduler/service/members.h"
#include "scheduler/service/named_jobs.h"
#include "scheduler/service/references.h"
#include "scheduler/service/replies.h"
#include "scheduler/service/table_filter.h"
#include "store/measurements.h"
#include "store/reading.h"
#include "store/sweeps.h"

namespace longreach::service {
namespace {

// Where a page begins: with a job, behind the first of its values.
struct PagePlace {
  int64_t position = 0;
  int64_t values = 0;
};

std::string TokenOf(const PagePlace& place) { return fmt::format("{}.{}", place.position, place.values); }

absl::StatusOr<PagePlace> PlaceOf(const std::string& token) {
  if (token.empty()) return PagePlace{};
  const std::vector<std::string> parts = Split(token, '.');
  const std::optional<int64_t> position = ParseInteger(parts.front());
  const std::optional<int64_t> values = ParseInteger(parts.back());
  if (parts.size() != 2 || position.value_or(-1) < 0 || values.value_or(-1) < 0) return RefusePageToken(token);
  return PagePlace{.position = *position, .values = *values};
}

absl::Status CheckNumbers(const v1::ListMeasurementsRequest& request, const MeasurementLimits& limits) {
  if (!request.metric().empty() && catalog::FindMetric(request.metric()) == nullptr) {
    std::vector<std::string> known;
    for (const catalog::Metric& metric : catalog::Metrics()) known.emplace_back(metric.name);
    return RefuseWord("metric", "metric", request.metric(), known);
  }
  if (request.length() < 0) {
    return absl::InvalidArgumentError(fmt::format("length: {} is negative; give a length, or 0 for all lengths together", request.length()));
  }
  if (request.limit() < 0) {
    return absl::InvalidArgumentError(fmt::format("limit: {} is negative; 0 means {}", request.limit(), limits.values));
  }
  return absl::OkStatus();
}

// An answer that is being filled.
class Page {
 public:
  Page(int most_values, size_t most_bytes) : most_values_(most_values), most_bytes_(most_bytes) {}

  bool IsFull() const { return values_ >= most_values_ || bytes_ >= most_bytes_; }

  // These take the job.
  void AddDiverged(v1::Job& job) {
    AddJob(job);
    ++values_;
  }
  // The job's values behind the first `from`, as far as there is room. Where it ends; nothing: all are there.
  std::optional<int64_t> AddValues(v1::Job& job, const std::vector<store::Measurement>& values, int64_t from, const Only& only) {
    v1::JobMeasurements* of_job = nullptr;
    for (int64_t i = from; i < std::ssize(values); ++i) {
      const store::Measurement& value = values[static_cast<size_t>(i)];
      if (!only.TakesValue(value.length, value.slice)) continue;
      if (IsFull()) return i;
      if (of_job == nullptr) of_job = AddJob(job);
      v1::Measurement& measurement = *of_job->add_measurements();
      measurement = ToMeasurement(value);
      ++values_;
      bytes_ += measurement.ByteSizeLong() + kFieldBytes;
    }
    return std::nullopt;
  }
  void EndAt(const PagePlace& place) { response_.set_next_page_token(TokenOf(place)); }
  v1::ListMeasurementsResponse Take() { return std::move(response_); }

 private:
  static constexpr size_t kFieldBytes = 4;  // Tag and length of a message within another.

  v1::JobMeasurements* AddJob(v1::Job& job) {
    v1::JobMeasurements* added = response_.add_jobs();
    *added->mutable_job() = std::move(job);
    bytes_ += added->ByteSizeLong() + kFieldBytes;
    return added;
  }

  const int most_values_;
  const size_t most_bytes_;
  int values_ = 0;
  size_t bytes_ = 0;
  v1::ListMeasurementsResponse response_;
};

// A question, read.
struct Question {
  store::MeasurementFilter which;
  PagePlace begin{};
  // Losses of training are there before a job is done, and whatever comes of it.
  bool losses = false;
  // It is for what a listed job has as its score.
  bool score = false;
};

absl::StatusOr<Question> ReadQuestion(const v1::ListMeasurementsRequest& request, const MeasurementLimits& limits) {
  RETURN_IF_ERROR(CheckNumbers(request, limits));
  Question question{.which = {.metric = request.metric()}, .losses = request.metric() == kTrainingLoss};
  ASSIGN_OR_RETURN(question.begin, PlaceOf(request.page_token()));
  if (request.has_length()) question.which.length = request.length();
  if (request.has_slice()) question.which.slice = request.slice();
  return question;
}

absl::StatusOr<std::vector<store::Measurement>> ValuesOf(sql::Connection& db, const store::ListedJob& row, const Question& question) {
  if (!question.score) return store::MeasurementsOf(db, row.num, question.which);
  std::vector<store::Measurement> values;
  if (row.score.has_value()) values.push_back({.metric = question.which.metric, .length = 0, .slice = "", .value = *row.score});
  return values;
}

// A job's share of a page, from a place on if that is in the job. False: the page is full, and told where the next one begins.
absl::StatusOr<bool> AddShare(sql::Connection& db, const store::ListedJob& row, v1::Job& job, const Question& question, const Only& only, Page& page) {
  if (job.diverged() && !question.losses) {
    const bool has_room = !page.IsFull();
    has_room ? page.AddDiverged(job) : page.EndAt({.position = row.position});
    return has_room;
  }
  ASSIGN_OR_RETURN(const std::vector<store::Measurement> values, ValuesOf(db, row, question));
  const std::optional<int64_t> end = page.AddValues(job, values, row.position == question.begin.position ? question.begin.values : 0, only);
  if (end.has_value()) page.EndAt({.position = row.position, .values = *end});
  return !end.has_value();
}

// Of the jobs that are named, each has the metric of its own kind as its score, so that values are read as they are stored.
absl::Status AddNamedJobs(sql::Connection& db, const v1::ListMeasurementsRequest& request, const Question& question, Page& page) {
  return ForEachNamedJob(db, request.jobs(), question.begin.position, LiveBoard::State(), [&](const store::ListedJob& row, v1::Job& job) -> absl::StatusOr<bool> {
    if (!question.losses && row.state != store::State::kSucceeded) return true;
    return AddShare(db, row, job, question, Only(), page);
  });
}

absl::Status AddOneJob(sql::Connection& db, const v1::ListMeasurementsRequest& request, const Question& question, Page& page) {
  if (!request.sweep().empty()) return absl::InvalidArgumentError("sweep and job: one of them at a time");
  if (!request.jobs().empty()) return absl::InvalidArgumentError("job and jobs: one of them at a time");
  if (!request.only().empty()) return absl::InvalidArgumentError("only: it is of a sweep's jobs; leave it out where one job is asked for");
  ASSIGN_OR_RETURN(const ResolvedJob job, ResolveWholeJob(db, request.job()));
  if (!question.losses && job.listed.state != store::State::kSucceeded) return absl::OkStatus();
  v1::Job answer = ToJob(job.listed, LiveBoard::State());
  return AddShare(db, job.listed, answer, question, Only(), page).status();
}

}  // namespace

absl::StatusOr<v1::ListMeasurementsResponse> ListMeasurements(sql::Connection& db, const v1::ListMeasurementsRequest& request,
                                                              const MeasurementLimits& limits, const std::stop_token& stop, PagedSweeps* paged) {
  const sql::StopQueries stopping(db, stop);
  ASSIGN_OR_RETURN(Question question, ReadQuestion(request, limits));
  Page page(request.limit() == 0 ? limits.values : std::min(request.limit(), limits.values), limits.bytes);
  if (!request.job().empty()) {
    RETURN_IF_ERROR(AddOneJob(db, request, question, page));
    return page.Take();
  }
  if (!request.jobs().empty()) {
    RETURN_IF_ERROR(CheckNamedJobs(request.jobs(), !request.sweep().empty(), !request.only().empty()));
    RETURN_IF_ERROR(AddNamedJobs(db, request, question, page));
    return page.Take();
  }
  ASSIGN_OR_RETURN(std::vector<TableFilter> filters, TableFilter::AllOf(request.only(), "only"));
  if (request.has_length() && std::ranges::find(filters, "length", &TableFilter::axis) != filters.end()) {
    return absl::InvalidArgumentError(fmt::format("length: {}, and only names lengths; leave one of them out", request.length()));
  }
  ASSIGN_OR_RETURN(const store::SweepRow sweep, ResolveSweep(db, request.sweep()));
  PagedSweeps of_this_page;
  ASSIGN_OR_RETURN(const std::shared_ptr<const PagedSweep> read, (paged == nullptr ? of_this_page : *paged).Of(sweep));
  const Members members{.sweep = sweep.num, .metric = read->metric, .systems = read->systems};
  question.score = question.which.metric == members.metric && question.which.length == 0 && question.which.slice == "";
  Only only(read->spec, members, std::move(filters));
  RETURN_IF_ERROR(only.CheckOfPage(db, sweep, members, request.page_token().empty()));

  int looked_at = 0;
  RETURN_IF_ERROR(ForEachJob(
      db, members, question.begin.position, question.losses ? store::JobFilter{} : store::JobFilter{.states = {store::State::kSucceeded}}, LiveBoard::State(),
      [&](const store::ListedJob& row, v1::Job& job) -> absl::StatusOr<bool> {
        if (looked_at++ == limits.jobs) {
          page.EndAt({.position = row.position});
          return false;
        }
        if (!only.Takes(job)) return true;
        return AddShare(db, row, job, question, only, page);
      }));
  return page.Take();
}

}  // namespace longreach::service
