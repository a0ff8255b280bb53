// What the jobs of a sweep have left in one store, to be compared with what they have left in another one.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "client/commands/attempt_pages.h"
#include "client/commands/measurement_pages.h"
#include "client/commands/repeated_job.h"
#include "client/connection.h"
#include "longreach/v1/api.pb.h"
#include "proto/base/status.h"

namespace longreach::client {

// By their ids, the places of jobs in the order in which they are asked for.
using JobPlaces = std::unordered_map<std::string, size_t>;

// Values of many jobs, in pages: some thousands in one call.
class ValuesInTurn {
 public:
  ValuesInTurn(Connection& connection, v1::ListMeasurementsRequest question, std::shared_ptr<const JobPlaces> places);

  // Those of the job at this place, which is behind that of the call before. None: it has none.
  absl::StatusOr<std::vector<v1::Measurement>> Of(size_t place);

 private:
  MeasurementPages pages_;
  std::shared_ptr<const JobPlaces> places_;
  v1::ListMeasurementsResponse page_;
  int next_ = 0;  // Of its jobs.
};

// Attempts of many jobs, with what else is known of them, in pages.
class AttemptsInTurn {
 public:
  AttemptsInTurn(Connection& connection, v1::ListAttemptsRequest question, std::shared_ptr<const JobPlaces> places);

  // Those of the job at this place, which is behind that of the call before. NOT_FOUND: the store has the job no longer.
  absl::StatusOr<v1::JobAttempts> Of(size_t place);

 private:
  AttemptPages pages_;
  std::shared_ptr<const JobPlaces> places_;
  v1::ListAttemptsResponse page_;
  int next_ = 0;
};

class SweepRecords {
 public:
  // Of these jobs, which have a result and are in the sweep's order of expansion. `sweep`: the store has it, with all of them, and `only` leaves these; empty:
  // they are asked for by their names, some at a time. The connection outlives it.
  SweepRecords(Connection& connection, v1::ListDataSetsResponse data_sets, std::vector<std::string> jobs, std::string sweep, std::vector<std::string> only);

  // Of the next job; not to be called more often than there are jobs.
  absl::StatusOr<JobRecord> Next();

 private:
  // What is asked for in one go: all of a sweep, or so many jobs as can be named in a call.
  struct Part {
    ValuesInTurn measurements, losses;
    AttemptsInTurn attempts;
  };

  void BeginPart();
  template <typename Request>
  Request QuestionFor(size_t end) const;

  Connection& connection_;
  const v1::ListDataSetsResponse data_sets_;
  const std::vector<std::string> jobs_;
  const std::string sweep_;
  const std::vector<std::string> only_;
  std::optional<Part> part_;
  size_t at_ = 0;
  size_t end_ = 0;  // Of the part.
};

}  // namespace longreach::client
