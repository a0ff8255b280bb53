#include "scheduler/service/query_workers.h"

#include "scheduler/service/replies.h"
#include "store/workers.h"

namespace longreach::service {

absl::StatusOr<v1::ListWorkersResponse> ListWorkers(sql::Connection& db, const LiveBoard::State& live) {
  ASSIGN_OR_RETURN(std::vector<store::WorkerRow> rows, store::ListWorkers(db));
  v1::ListWorkersResponse response;
  for (const store::WorkerRow& row : rows) *response.add_workers() = ToWorkerInfo(row, live);
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
