#include "client/commands/sweep_records.h"

#include <algorithm>
#include <utility>

#include "proto/types/words.h"

namespace longreach::client {

ValuesInTurn::ValuesInTurn(Connection& connection, v1::ListMeasurementsRequest question, std::shared_ptr<const JobPlaces> places)
    : pages_(connection, std::move(question)), places_(std::move(places)) {}

absl::StatusOr<std::vector<v1::Measurement>> ValuesInTurn::Of(size_t place) {
  std::vector<v1::Measurement> values;
  while (true) {
    if (next_ == page_.jobs_size()) {
      ASSIGN_OR_RETURN(std::optional<v1::ListMeasurementsResponse> page, pages_.Next());
      if (!page.has_value()) return values;
      page_ = *std::move(page);
      next_ = 0;
      continue;
    }
    const v1::JobMeasurements& of_job = page_.jobs(next_);
    const auto found = places_->find(of_job.job().id());
    // One without a place was not asked for: it has no result in the other store.
    if (found != places_->end() && found->second > place) return values;
    if (found != places_->end() && found->second == place) values.insert(values.end(), of_job.measurements().begin(), of_job.measurements().end());
    ++next_;  // The next page may go on with this job.
  }
}

AttemptsInTurn::AttemptsInTurn(Connection& connection, v1::ListAttemptsRequest question, std::shared_ptr<const JobPlaces> places)
    : pages_(connection, std::move(question)), places_(std::move(places)) {}

absl::StatusOr<v1::JobAttempts> AttemptsInTurn::Of(size_t place) {
  while (true) {
    while (next_ < page_.jobs_size()) {
      v1::JobAttempts& of_job = *page_.mutable_jobs(next_);
      const auto found = places_->find(of_job.job().id());
      if (found != places_->end() && found->second > place) break;
      ++next_;
      if (found != places_->end() && found->second == place) return std::move(of_job);
    }
    std::optional<v1::ListAttemptsResponse> page;
    if (next_ == page_.jobs_size()) {
      ASSIGN_OR_RETURN(page, pages_.Next());
    }
    if (!page.has_value()) return absl::NotFoundError("a job that had a result has none any more; ask again");
    page_ = *std::move(page);
    next_ = 0;
  }
}

SweepRecords::SweepRecords(Connection& connection, v1::ListDataSetsResponse data_sets, std::vector<std::string> jobs, std::string sweep, std::vector<std::string> only)
    : connection_(connection), data_sets_(std::move(data_sets)), jobs_(std::move(jobs)), sweep_(std::move(sweep)), only_(std::move(only)) {
  BeginPart();
}

template <typename Request>
Request SweepRecords::QuestionFor(size_t end) const {
  Request question;
  if (!sweep_.empty()) {
    question.set_sweep(sweep_);
    for (const std::string& one : only_) question.add_only(one);
    return question;
  }
  for (size_t place = at_; place < end; ++place) question.add_jobs(jobs_[place]);
  return question;
}

void SweepRecords::BeginPart() {
  part_.reset();
  if (at_ == jobs_.size()) return;
  end_ = sweep_.empty() ? std::min(at_ + kMostNamedJobs, jobs_.size()) : jobs_.size();
  auto places = std::make_shared<JobPlaces>();
  for (size_t place = at_; place < end_; ++place) places->emplace(jobs_[place], place);
  auto losses = QuestionFor<v1::ListMeasurementsRequest>(end_);
  losses.set_metric(std::string(kTrainingLoss));
  auto attempts = QuestionFor<v1::ListAttemptsRequest>(end_);
  attempts.set_whole(true);
  part_.emplace(Part{.measurements = ValuesInTurn(connection_, QuestionFor<v1::ListMeasurementsRequest>(end_), places),
                     .losses = ValuesInTurn(connection_, std::move(losses), places),
                     .attempts = AttemptsInTurn(connection_, std::move(attempts), places)});
}

absl::StatusOr<JobRecord> SweepRecords::Next() {
  if (!part_.has_value()) return absl::InternalError("no further job was asked for");
  const size_t place = at_++;
  // First what an older scheduler does not know.
  ASSIGN_OR_RETURN(v1::JobAttempts attempts, part_->attempts.Of(place));
  ASSIGN_OR_RETURN(std::vector<v1::Measurement> measurements, part_->measurements.Of(place));
  ASSIGN_OR_RETURN(std::vector<v1::Measurement> losses, part_->losses.Of(place));
  if (at_ == end_) BeginPart();
  v1::GetJobResponse job;
  job.mutable_job()->Swap(attempts.mutable_job());
  job.mutable_spec()->Swap(attempts.mutable_spec());
  job.mutable_attempts()->Swap(attempts.mutable_attempts());
  job.mutable_artifacts()->Swap(attempts.mutable_artifacts());
  return RecordOf(std::move(job), std::move(measurements), std::move(losses), data_sets_);
}

}  // namespace longreach::client
