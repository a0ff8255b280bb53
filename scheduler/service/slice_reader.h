// What jobs have measured in slices (by layer, head, step, ...), on its way into a table.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "proto/base/status.h"
#include "scheduler/service/results_table.h"
#include "scheduler/service/step_bins.h"
#include "scheduler/service/table_source.h"
#include "store/reading.h"

namespace longreach::service {

// Where a measurement stands on the axes of values that a table is asked for by.
struct SlicePlace {
  int length = 0;
  std::vector<std::string> keys;  // On rows and columns that are axes of slices.
  auto operator<=>(const SlicePlace&) const = default;
};

// Which slice has which place is worked out once: jobs mostly have the same.
class SliceReader {
 public:
  SliceReader(sql::Connection& db, ResultsTable& table);

  // Puts the steps of loss curves together as the table is asked for, from 1 to the newest of those jobs that are wanted.
  absl::Status BinSteps(const TableSource& members);

  // At which of them the jobs that are wanted have values.
  absl::StatusOr<std::set<SlicePlace>> PlacesOf(const TableSource& members);

  // Those where values are published that belong beside the table.
  std::set<SlicePlace> PublishedPlaces() const;

  // Each job that is wanted once with each value at each of `places`, with none where there is none; the others once. `extra`: as
  // ResultsTable::IsWanted().
  absl::Status ReadAt(const std::set<SlicePlace>& places, const TableSource& source, bool extra, const std::function<void(const TableJob&)>& use);

  // At which those jobs have values in slices that the table is asked for by, be the table of these lengths or not.
  absl::StatusOr<std::set<int>> LengthsOfSlices(const TableSource& members);

  // How the metric was measured, in the jobs that were read: "by depth", "by head and layer", "without slices". Empty: not at all.
  std::string Axes() const;

 private:
  using ValuesByPlace = std::map<SlicePlace, std::vector<double>>;

  // With all values of each job that is wanted, none of the others.
  absl::Status Read(const TableSource& source, bool extra, const std::function<void(TableJob&, const ValuesByPlace&)>& use);
  absl::Status ForEachWanted(const TableSource& members, const std::function<absl::Status(int64_t job)>& use);
  ValuesByPlace ByPlace(std::span<const store::SliceValue> values);
  // Of each slice over the lengths that are asked for: a value at one of them.
  std::vector<store::SliceValue> MeansOverLengths(std::span<const store::SliceValue> values);
  // Its keys; nullopt: it has no place.
  const std::optional<std::vector<std::string>>& PlaceOf(const std::string& slice);

  sql::Connection& db_;
  ResultsTable& table_;
  std::optional<StepBins> bins_;
  std::vector<std::string> axes_;  // Of a place. What spec().only() names beside them is aggregated over, in the same cell.
  std::map<std::string, std::optional<std::vector<std::string>>> places_;  // By slice.
};

}  // namespace longreach::service
