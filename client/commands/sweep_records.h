// What the jobs of a sweep have left in one store, to be compared with what they have left in another one.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "client/commands/jobs_in_turn.h"
#include "client/commands/measurement_pages.h"
#include "client/commands/repeated_job.h"
#include "client/connection.h"
#include "longreach/v1/api.pb.h"
#include "proto/base/status.h"

namespace longreach::client {

// By their ids, the places of jobs in the order in which they are asked for.
using JobPlaces = std::unordered_map<std::string, size_t>;

// Values of a sweep's jobs, in pages: some thousands in one call.
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

class SweepRecords {
 public:
  // Of these jobs, which have a result and are in the sweep's order of expansion. `sweep`: the store has it, with all of them, and `only` leaves these; empty:
  // each job's values are asked for by themselves. The connection outlives it.
  SweepRecords(Connection& connection, v1::ListDataSetsResponse data_sets, const std::vector<std::string>& jobs, const std::string& sweep, const std::vector<std::string>& only);

  // Of the next job; not to be called more often than there are jobs.
  absl::StatusOr<JobRecord> Next();

 private:
  Connection& connection_;
  v1::ListDataSetsResponse data_sets_;
  JobsInTurn jobs_;
  std::unique_ptr<ValuesInTurn> measurements_, losses_;  // nullptr: they are asked for job by job.
  size_t at_ = 0;
};

}  // namespace longreach::client
