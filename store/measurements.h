// The tables `measurements` (results, written by CompleteJob once and for all) and `progress` (loss curves).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "store/jobs.h"
#include "store/sql/connection.h"

namespace longreach::store {

// Ascending by metric, length and slice, slices of steps by their steps and behind others. `over_all_lengths_only`: those of length 0.
absl::StatusOr<std::vector<Measurement>> MeasurementsOf(sql::Connection& db, int64_t job, bool over_all_lengths_only);
// What is absent or empty admits all, but for kTrainingLoss, which has to be asked for (loss_curves.h).
struct MeasurementFilter {
  std::string metric{};
  std::optional<int> length{};
  std::optional<std::string> slice{};
};
// Some of them, in the same order; losses of training by step. It is the same for ever, as results are written once; a loss curve only grows.
absl::StatusOr<std::vector<Measurement>> MeasurementsOf(sql::Connection& db, int64_t job, const MeasurementFilter& filter);
// Of a succeeded job; nothing when it has none (it diverged, or never had this metric).
absl::StatusOr<std::optional<double>> MeasuredValue(sql::Connection& db, int64_t job, std::string_view metric, int length,
                                                    std::string_view slice);

struct ProgressRow {
  int step = 0;
  double loss = 0;  // One that is not finite is kept, and read, as NaN.
  WallTime at{};
};

// At most this many points of a job are kept; the trainer sends no more.
inline constexpr int kMaxProgressRows = 1000;

// Adds points of a job's loss curve; a step that is there is replaced. Points beyond kMaxProgressRows are dropped.
absl::Status AddProgress(sql::Transaction& tx, int64_t job, std::span<const ProgressRow> points);
// Ascending by step.
absl::StatusOr<std::vector<ProgressRow>> ProgressOf(sql::Connection& db, int64_t job);

}  // namespace longreach::store
