// What jobs have measured at lengths, on its way into a table.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "longreach/v1/api.pb.h"
#include "proto/base/status.h"
#include "scheduler/service/results_table.h"
#include "scheduler/service/table_source.h"
#include "store/reading.h"

namespace longreach::service {

class LengthReader {
 public:
  LengthReader(sql::Connection& db, ResultsTable& table) : db_(db), table_(table) {}

  // Those of the tests, whether or not anything was measured yet; of what is measured elsewhere, as by bins of positions or at a step, where it
  // was. Without those that the table is not asked for.
  absl::StatusOr<std::vector<int>> LengthsOf(const TableSource& members, const v1::SweepSpec& sweep);

  // Each job that is wanted once with each of `lengths`, without a value where it has none there; the others once. `extra`: as ResultsTable::IsWanted().
  absl::Status ReadAtEach(std::span<const int> lengths, const TableSource& source, bool extra, const std::function<void(const TableJob&)>& use);

  // With the mean over the lengths that spec().only() names and that a job has values at; without a value where there are none.
  absl::Status ReadMeans(const TableSource& source, bool extra, const std::function<void(const TableJob&)>& use);

 private:
  // With all lengths of its values for each job that is wanted, none for the others.
  absl::Status Read(const TableSource& source, bool extra, const std::function<void(TableJob&, std::span<const store::LengthValue>)>& use);

  sql::Connection& db_;
  ResultsTable& table_;
};

}  // namespace longreach::service
