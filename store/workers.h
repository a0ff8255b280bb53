// The tables `workers` and `data_sets`.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/types/words.h"
#include "store/sql/connection.h"

namespace longreach::store {

// The reason of an active worker that has said goodbye.
inline constexpr std::string_view kHasLeft = "it has left";

struct WorkerRow {
  std::string id{};  // A UUID.
  std::string name{};
  uint64_t incarnation = 0;
  std::string abilities{};  // The message Abilities as proto3 JSON.
  std::string build{};
  std::string device{};
  int threads = 0;
  int pack_limit = 0;
  WorkerState state = WorkerState::kActive;  // Never kGone.
  std::string reason{};  // Why it is not active; empty if it is, or kHasLeft.
  // What its last attempts in a row failed on, as scheduler/core writes it; empty after a success.
  std::string recent_failures{};
  WallTime first_seen_at{};
  WallTime seen_at{};
  std::string device_id{};  // Which device of its kind; empty: it does not say.

  bool HasLeft() const { return state == WorkerState::kActive && reason == kHasLeft; }
};

// Adds the worker or replaces all of its row but first_seen_at.
absl::Status PutWorker(sql::Transaction& tx, const WorkerRow& worker);
absl::StatusOr<std::optional<WorkerRow>> FindWorker(sql::Connection& db, std::string_view id);
// Those that were seen at most so long before the last one that was, ascending by name, then id. Rows of workers stay for ever, as
// attempts name them; where machines come and go, there are many.
absl::StatusOr<std::vector<WorkerRow>> ListWorkers(sql::Connection& db, std::chrono::microseconds before_last);
// The ids of the same, without their rows, which are long, and of those that have not left.
absl::StatusOr<std::vector<std::string>> WorkersOfLate(sql::Connection& db, std::chrono::microseconds before_last);
absl::Status SetWorkerState(sql::Transaction& tx, std::string_view id, WorkerState state, std::string_view reason);
absl::Status SetWorkerFailures(sql::Transaction& tx, std::string_view id, std::string_view recent_failures);
// Its recent_failures, without the rest of the row. Empty as well for a worker that is not there.
absl::StatusOr<std::string> FailuresOfWorker(sql::Connection& db, std::string_view id);
// Of a worker that is not in the store (its first call was refused) nothing is written.
absl::Status SetWorkerSeen(sql::Transaction& tx, std::string_view id, WallTime at);
// A worker by its id, the beginning of one (at least 4 digits), or its name. NOT_FOUND with a suggestion;
// INVALID_ARGUMENT when several fit, unless just one of these `is_here`: a machine that was set up anew leaves the row of its name's former worker.
absl::StatusOr<WorkerRow> ResolveWorker(sql::Connection& db, std::string_view reference, const std::function<bool(const std::string& id)>& is_here = nullptr);
// Whether several workers have this name, here or gone: it does not say which is meant.
absl::StatusOr<bool> IsSharedName(sql::Connection& db, std::string_view name);

struct DataSetRow {
  std::string name{};
  std::string sha256{};
  double bytes = 0;
  WallTime first_seen_at{};
};
// Binds a name to a hash, at first sight; the row as it is then in the store: its sha256 differs when the name is bound otherwise.
absl::StatusOr<DataSetRow> BindDataSet(sql::Transaction& tx, const DataSetRow& data_set);
absl::StatusOr<int64_t> CountDataSets(sql::Connection& db);
absl::StatusOr<std::optional<DataSetRow>> FindDataSet(sql::Connection& db, std::string_view name);
// Ascending by name.
absl::StatusOr<std::vector<DataSetRow>> ListDataSets(sql::Connection& db);

}  // namespace longreach::store
