#include "store/measurements.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "proto/types/words.h"
#include "store/loss_curves.h"

namespace longreach::store {

namespace {

// Slices lie by their names, of which "step=1000" comes before "step=200". Where there are none of steps, as mostly, nothing is moved.
void PutStepsInOrder(std::vector<Measurement>& measurements) {
  const auto step_of = [](const Measurement& one) { return std::max<int64_t>(0, StepOf(0, one.slice).value_or(0)); };
  if (std::ranges::none_of(measurements, [&](const Measurement& one) { return step_of(one) > 0; })) return;
  std::ranges::stable_sort(measurements, {}, [&](const Measurement& one) { return std::tuple(std::string_view(one.metric), one.length, step_of(one)); });
}

// Of the columns metric, length, slice and value.
absl::StatusOr<std::vector<Measurement>> ReadMeasurements(sql::Rows rows) {
  std::vector<Measurement> measurements;
  while (rows.Next()) {
    measurements.push_back({.metric = rows.Get<std::string>(0),
                            .length = rows.Get<int>(1),
                            .slice = rows.Get<std::string>(2),
                            .value = rows.Get<double>(3)});
  }
  RETURN_IF_ERROR(rows.status());
  PutStepsInOrder(measurements);
  return measurements;
}

}  // namespace

absl::StatusOr<std::vector<Measurement>> MeasurementsOf(sql::Connection& db, int64_t job, bool over_all_lengths_only) {
  ASSIGN_OR_RETURN(sql::Rows rows, db.Query("SELECT metric, length, slice, value FROM measurements WHERE job = ? "
                                            "AND (length = 0 OR ? = 0) ORDER BY metric, length, slice",
                                            job, over_all_lengths_only));
  return ReadMeasurements(std::move(rows));
}

absl::StatusOr<std::vector<Measurement>> MeasurementsOf(sql::Connection& db, int64_t job, const MeasurementFilter& filter) {
  if (filter.metric == kTrainingLoss) return LossesOf(db, job, filter);
  const int from = filter.length.value_or(std::numeric_limits<int>::min()), to = filter.length.value_or(std::numeric_limits<int>::max());
  // With a metric the primary key leads to its lengths: a job may have hundreds of values, of which one is asked for.
  ASSIGN_OR_RETURN(sql::Rows rows, filter.metric.empty()
                                       ? db.Query("SELECT metric, length, slice, value FROM measurements WHERE job = ? AND length BETWEEN ? AND ? "
                                                  "AND (? IS NULL OR slice = ?) ORDER BY metric, length, slice",
                                                  job, from, to, filter.slice, filter.slice)
                                       : db.Query("SELECT metric, length, slice, value FROM measurements WHERE job = ? AND metric = ? AND length BETWEEN ? AND ? "
                                                  "AND (? IS NULL OR slice = ?) ORDER BY metric, length, slice",
                                                  job, filter.metric, from, to, filter.slice, filter.slice));
  return ReadMeasurements(std::move(rows));
}

absl::StatusOr<std::optional<double>> MeasuredValue(sql::Connection& db, int64_t job, std::string_view metric, int length,
                                                    std::string_view slice) {
  return db.First<double>("SELECT value FROM measurements WHERE job = ? AND metric = ? AND length = ? AND slice = ?", job, metric,
                          length, slice);
}

absl::Status AddProgress(sql::Transaction& tx, int64_t job, std::span<const ProgressRow> points) {
  if (points.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(int kept, tx.One<int>("SELECT count(*) FROM progress WHERE job = ?", job));
  for (const ProgressRow& point : points) {
    // Of NaN SQLite makes NULL by itself; infinity it would keep, and no table or JSON has a number for that.
    const std::optional<double> loss = std::isfinite(point.loss) ? std::optional(point.loss) : std::nullopt;
    ASSIGN_OR_RETURN(int replaced, tx.Run("UPDATE progress SET loss = ?, at = ? WHERE job = ? AND step = ?", loss, point.at, job, point.step));
    if (replaced == 1 || kept >= kMaxProgressRows) continue;
    RETURN_IF_ERROR(tx.Run("INSERT INTO progress(job, step, loss, at) VALUES (?, ?, ?, ?)", job, point.step, loss, point.at).status());
    ++kept;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<ProgressRow>> ProgressOf(sql::Connection& db, int64_t job) {
  ASSIGN_OR_RETURN(sql::Rows rows, db.Query(fmt::format("SELECT step, iif({}, loss, NULL), at FROM progress WHERE job = ? ORDER BY step", kIsFiniteLoss), job));
  std::vector<ProgressRow> points;
  while (rows.Next()) {
    points.push_back({.step = rows.Get<int>(0),
                      .loss = rows.IsNull(1) ? std::numeric_limits<double>::quiet_NaN() : rows.Get<double>(1),
                      .at = rows.Get<WallTime>(2)});
  }
  RETURN_IF_ERROR(rows.status());
  return points;
}

}  // namespace longreach::store
