// Loss curves (the table `progress`) as measurements: kTrainingLoss over all lengths, at each step in the slice "step=N"; without a slice it is
// the newest. Jobs have them from their first points on, finished or not. Losses that are not finite are left out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/measurements.h"
#include "store/reading.h"
#include "store/sql/connection.h"

namespace longreach::store {

// Ascending by step. A filter that names another length, or a slice of another axis, admits none; its metric is not looked at.
absl::StatusOr<std::vector<Measurement>> LossesOf(sql::Connection& db, int64_t job, const MeasurementFilter& filter);
// All of them.
absl::StatusOr<std::vector<SliceValue>> LossesInSlices(sql::Connection& db, int64_t job);

// The newest step that has a point; 0: none has.
absl::StatusOr<int64_t> NewestStepOf(sql::Connection& db, int64_t job);

// In a query: a row of `progress` has a loss that counts. Stores of before have infinite ones, which are written as NULL now; 9e999 is infinity.
inline constexpr std::string_view kIsFiniteLoss = "abs(loss) < 9e999";
// For a query that joins `progress` of a job `j` as `m`: binds one number, StepOf(length, slice).
std::string LossJoin();
// nullopt: the newest. A step that no job has where nothing is measured.
std::optional<int64_t> StepOf(int length, std::string_view slice);

}  // namespace longreach::store
