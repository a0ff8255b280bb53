#include "store/loss_curves.h"

#include <utility>

#include <fmt/format.h>

#include "proto/base/text.h"
#include "proto/types/words.h"

namespace longreach::store {
namespace {

constexpr int64_t kNoStep = -1;

}  // namespace

std::string LossJoin() {
  return fmt::format("LEFT JOIN progress AS m ON m.job = j.num AND {} "
                     "AND m.step = coalesce(?, (SELECT max(p.step) FROM progress AS p WHERE p.job = j.num)) ",
                     kIsFiniteLoss);
}

std::optional<int64_t> StepOf(int length, std::string_view slice) {
  if (length != 0) return kNoStep;
  if (slice.empty()) return std::nullopt;
  const size_t end = slice.find('=');
  if (end == std::string_view::npos || slice.substr(0, end) != kStepAxis) return kNoStep;
  return ParseInteger(slice.substr(end + 1)).value_or(kNoStep);
}

absl::StatusOr<std::vector<Measurement>> LossesOf(sql::Connection& db, int64_t job, const MeasurementFilter& filter) {
  const std::string_view slice = filter.slice.has_value() ? std::string_view(*filter.slice) : std::string_view();
  const std::optional<int64_t> only = StepOf(filter.length.value_or(0), slice);
  // "" is what has no slice: the newest of them.
  const bool newest = filter.slice.has_value() && slice.empty();
  static const std::string kSql =
      fmt::format("SELECT step, loss FROM progress WHERE job = ? AND {} AND (? IS NULL OR step = ?) "
                  "AND (? = 0 OR step = (SELECT max(p.step) FROM progress AS p WHERE p.job = progress.job)) ORDER BY step",
                  kIsFiniteLoss);
  ASSIGN_OR_RETURN(sql::Rows rows, db.Query(kSql, job, only, only, newest));
  std::vector<Measurement> losses;
  while (rows.Next()) {
    losses.push_back({.metric = std::string(kTrainingLoss),
                      .length = 0,
                      .slice = newest ? "" : fmt::format("{}={}", kStepAxis, rows.Get<int64_t>(0)),
                      .value = rows.Get<double>(1)});
  }
  RETURN_IF_ERROR(rows.status());
  return losses;
}

absl::StatusOr<int64_t> NewestStepOf(sql::Connection& db, int64_t job) {
  return db.One<int64_t>("SELECT coalesce(max(step), 0) FROM progress WHERE job = ?", job);
}

absl::StatusOr<std::vector<SliceValue>> LossesInSlices(sql::Connection& db, int64_t job) {
  ASSIGN_OR_RETURN(std::vector<Measurement> losses, LossesOf(db, job, {}));
  std::vector<SliceValue> values;
  for (Measurement& loss : losses) values.push_back({.length = loss.length, .slice = std::move(loss.slice), .value = loss.value});
  return values;
}

}  // namespace longreach::store
