#include "scheduler/service/query_workers.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "scheduler/core/packs.h"
#include "scheduler/service/needs.h"
#include "scheduler/service/replies.h"
#include "store/jobs.h"

namespace longreach::service {
namespace {

// Of all workers of an answer, which is one message. Where many machines have the same folder, the first say it for all.
constexpr int kMostDamagedDataSets = 1000;

absl::StatusOr<int32_t> PacksWaiting(sql::Connection& db, const LiveBoard::State& live) {
  ASSIGN_OR_RETURN(const std::vector<store::WorkerRow> there, WorkersThere(db, live));
  ASSIGN_OR_RETURN(const std::vector<int64_t> groups, store::ReadyGroupSizes(db));
  const int pack_limit = PackLimitAtHand(there);
  int64_t packs = 0;
  for (const int64_t jobs : groups) packs += core::PacksOf(jobs, pack_limit);
  return static_cast<int32_t>(std::min<int64_t>(packs, std::numeric_limits<int32_t>::max()));
}

}  // namespace

absl::StatusOr<std::vector<store::WorkerRow>> WorkersThere(sql::Connection& db, const LiveBoard::State& live) {
  std::vector<store::WorkerRow> rows;
  for (const auto& [id, seen_at] : live.workers) {
    ASSIGN_OR_RETURN(std::optional<store::WorkerRow> row, store::FindWorker(db, id));
    if (row) rows.push_back(*std::move(row));  // Else its first call is not written yet.
  }
  return rows;
}

int PackLimitAtHand(std::span<const store::WorkerRow> there) {
  int most = 0;
  for (const store::WorkerRow& worker : there) {
    if (worker.state == WorkerState::kActive) most = std::max(most, worker.pack_limit);
  }
  return most > 0 ? most : core::kUsualPackLimit;
}

absl::StatusOr<v1::ListWorkersResponse> ListWorkers(sql::Connection& db, const LiveBoard::State& live, const v1::ListWorkersRequest& request) {
  ASSIGN_OR_RETURN(std::vector<store::WorkerRow> rows, store::ListWorkers(db, kListedWhenGone));
  // Calls are written after some seconds only: one that is there may have called long ago by the store.
  std::set<std::string> of_late;
  for (const store::WorkerRow& row : rows) of_late.insert(row.id);
  for (const auto& [id, seen_at] : live.workers) {
    if (of_late.contains(id)) continue;
    ASSIGN_OR_RETURN(std::optional<store::WorkerRow> row, store::FindWorker(db, id));
    if (row) rows.push_back(*std::move(row));
  }
  std::ranges::sort(rows, {}, [](const store::WorkerRow& row) { return std::tie(row.name, row.id); });
  const AttemptsByWorker attempts = GroupByWorker(live);
  v1::ListWorkersResponse response;
  // Where only files find no room, who comes is written down all the same.
  if (!live.store_trouble.empty()) response.set_store_trouble(live.trouble());
  int damaged_data_sets = 0;
  for (const store::WorkerRow& row : rows) {
    v1::WorkerInfo& worker = *response.add_workers() = ToWorkerInfo(row, live, attempts);
    if (StateOf(row, live) == WorkerState::kGone || damaged_data_sets >= kMostDamagedDataSets) continue;
    for (v1::DamagedDataSet& damaged : DamagedDataSetsOf(row)) {
      if (++damaged_data_sets <= kMostDamagedDataSets) *worker.add_damaged_data_sets() = std::move(damaged);
    }
  }
  if (request.count_waiting()) {
    ASSIGN_OR_RETURN(const int32_t packs, PacksWaiting(db, live));
    response.set_packs_waiting(packs);
  }
  return response;
}

absl::StatusOr<v1::ListDataSetsResponse> ListDataSets(sql::Connection& db) {
  ASSIGN_OR_RETURN(std::vector<store::DataSetRow> rows, store::ListDataSets(db));
  v1::ListDataSetsResponse response;
  for (const store::DataSetRow& row : rows) {
    v1::DataSet& data_set = *response.add_data_sets();
    data_set.set_name(row.name);
    data_set.set_sha256(row.sha256);
    data_set.set_bytes(row.bytes);
  }
  return response;
}

}  // namespace longreach::service
