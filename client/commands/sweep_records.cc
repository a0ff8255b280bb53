#include "client/commands/sweep_records.h"

#include <optional>
#include <string_view>
#include <utility>

#include "proto/types/words.h"

namespace longreach::client {
namespace {

v1::ListMeasurementsRequest QuestionFor(const std::string& sweep, const std::vector<std::string>& only, std::string_view metric) {
  v1::ListMeasurementsRequest question;
  question.set_sweep(sweep);
  question.set_metric(std::string(metric));
  for (const std::string& one : only) question.add_only(one);
  return question;
}

}  // namespace

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

SweepRecords::SweepRecords(Connection& connection, v1::ListDataSetsResponse data_sets, const std::vector<std::string>& jobs, const std::string& sweep,
                           const std::vector<std::string>& only)
    : connection_(connection), data_sets_(std::move(data_sets)), jobs_(connection, jobs) {
  if (jobs.empty() || sweep.empty()) return;
  auto places = std::make_shared<JobPlaces>();
  for (size_t i = 0; i < jobs.size(); ++i) places->emplace(jobs[i], i);
  measurements_ = std::make_unique<ValuesInTurn>(connection, QuestionFor(sweep, only, ""), places);
  losses_ = std::make_unique<ValuesInTurn>(connection, QuestionFor(sweep, only, kTrainingLoss), places);
}

absl::StatusOr<JobRecord> SweepRecords::Next() {
  ASSIGN_OR_RETURN(v1::GetJobResponse job, jobs_.Next());
  const size_t place = at_++;
  if (measurements_ == nullptr) return ReadRecord(connection_, std::move(job), data_sets_);
  ASSIGN_OR_RETURN(std::vector<v1::Measurement> measurements, measurements_->Of(place));
  ASSIGN_OR_RETURN(std::vector<v1::Measurement> losses, losses_->Of(place));
  return RecordOf(std::move(job), std::move(measurements), std::move(losses), data_sets_);
}

}  // namespace longreach::client
