// Jobs and cells of a table, for its tests.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "scheduler/service/results_table.h"

namespace longreach::service {

inline TableJob Done(std::string task, std::string encoding, double learning_rate, uint32_t seed, double value,
              std::string build = "1.0") {
  return {std::move(task), std::move(encoding), learning_rate, seed, store::State::kSucceeded, false, value, std::move(build)};
}

inline ResultsTable Make(const v1::TableSpec& spec) {
  absl::StatusOr<ResultsTable> table = ResultsTable::Of(spec, "accuracy");
  EXPECT_TRUE(table.ok()) << table.status();
  return *std::move(table);
}

inline const v1::TableCell& CellAt(const v1::Table& table, const std::string& row, const std::string& column) {
  for (int i = 0; i < table.cells_size(); ++i) {
    if (table.rows(i / table.columns_size()).key() == row && table.columns(i % table.columns_size()).key() == column) {
      return table.cells(i);
    }
  }
  ADD_FAILURE() << "no cell " << row << " / " << column;
  static const v1::TableCell none;
  return none;
}

inline std::vector<std::string> Keys(const google::protobuf::RepeatedPtrField<v1::TableAxisEntry>& entries) {
  std::vector<std::string> keys;
  for (const v1::TableAxisEntry& entry : entries) keys.push_back(entry.key());
  return keys;
}

}  // namespace longreach::service
