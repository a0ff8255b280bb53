#include "store/workers.h"

#include <fmt/format.h>

#include <algorithm>

#include "proto/base/text.h"
#include "store/job_row.h"
#include "store/reference.h"

namespace longreach::store {
namespace {

std::string SelectWorkers(std::string_view rest) {
  return "SELECT id, name, incarnation, abilities, build, device, threads, pack_limit, state, reason, recent_failures, "
         "first_seen_at, seen_at, device_id FROM workers " +
         std::string(rest);
}

absl::StatusOr<std::vector<WorkerRow>> ReadWorkers(sql::Rows rows) {
  std::vector<WorkerRow> workers;
  while (rows.Next()) {
    workers.push_back({.id = rows.Get<std::string>(0),
                       .name = rows.Get<std::string>(1),
                       .incarnation = rows.Get<uint64_t>(2),
                       .abilities = rows.Get<std::string>(3),
                       .build = rows.Get<std::string>(4),
                       .device = rows.Get<std::string>(5),
                       .threads = rows.Get<int>(6),
                       .pack_limit = rows.Get<int>(7),
                       .state = ParseWorkerState(rows.Get<std::string_view>(8)).value_or(WorkerState::kActive),
                       .reason = rows.Get<std::string>(9),
                       .recent_failures = rows.Get<std::string>(10),
                       .first_seen_at = rows.Get<WallTime>(11),
                       .seen_at = rows.Get<WallTime>(12),
                       .device_id = rows.Get<std::string>(13)});
  }
  RETURN_IF_ERROR(rows.status());
  return workers;
}

DataSetRow ReadDataSet(const sql::Rows& rows) {
  return {.name = rows.Get<std::string>(0),
          .sha256 = rows.Get<std::string>(1),
          .bytes = rows.Get<double>(2),
          .first_seen_at = rows.Get<WallTime>(3)};
}

}  // namespace

absl::Status PutWorker(sql::Transaction& tx, const WorkerRow& worker) {
  return tx
      .Run("INSERT INTO workers(id, name, incarnation, abilities, build, device, threads, pack_limit, state, reason, "
           "recent_failures, first_seen_at, seen_at, device_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT(id) DO UPDATE SET "
           "name = excluded.name, incarnation = excluded.incarnation, abilities = excluded.abilities, build = excluded.build, "
           "device = excluded.device, threads = excluded.threads, pack_limit = excluded.pack_limit, state = excluded.state, "
           "reason = excluded.reason, recent_failures = excluded.recent_failures, seen_at = excluded.seen_at, "
           "device_id = excluded.device_id",
           worker.id, worker.name, worker.incarnation, worker.abilities, worker.build, worker.device, worker.threads,
           worker.pack_limit, Word(worker.state), worker.reason, worker.recent_failures, worker.first_seen_at, worker.seen_at,
           worker.device_id)
      .status();
}

absl::StatusOr<std::optional<WorkerRow>> FindWorker(sql::Connection& db, std::string_view id) {
  static const std::string kSql = SelectWorkers("WHERE id = ?");
  ASSIGN_OR_RETURN(sql::Rows rows, db.Query(kSql, id));
  ASSIGN_OR_RETURN(std::vector<WorkerRow> found, ReadWorkers(std::move(rows)));
  if (found.empty()) return std::nullopt;
  return std::move(found[0]);
}

absl::StatusOr<std::vector<WorkerRow>> ListWorkers(sql::Connection& db, std::chrono::microseconds before_last) {
  static const std::string kSql = SelectWorkers("WHERE seen_at >= (SELECT max(seen_at) FROM workers) - ? ORDER BY name, id");
  ASSIGN_OR_RETURN(sql::Rows rows, db.Query(kSql, before_last.count()));
  return ReadWorkers(std::move(rows));
}

absl::StatusOr<std::vector<std::string>> WorkersOfLate(sql::Connection& db, std::chrono::microseconds before_last) {
  return db.All<std::string>("SELECT id FROM workers WHERE seen_at >= (SELECT max(seen_at) FROM workers) - ? AND NOT (state = 'active' AND reason = ?) ORDER BY id",
                             before_last.count(), kHasLeft);
}

absl::Status SetWorkerState(sql::Transaction& tx, std::string_view id, WorkerState state, std::string_view reason) {
  return ExactlyOne(tx.Run("UPDATE workers SET state = ?, reason = ? WHERE id = ?", Word(state), reason, id),
                    fmt::format("worker {}", id));
}

absl::StatusOr<std::string> FailuresOfWorker(sql::Connection& db, std::string_view id) {
  ASSIGN_OR_RETURN(std::optional<std::string> failures, db.First<std::string>("SELECT recent_failures FROM workers WHERE id = ?", id));
  return std::move(failures).value_or("");
}

absl::Status SetWorkerFailures(sql::Transaction& tx, std::string_view id, std::string_view recent_failures) {
  return tx.Run("UPDATE workers SET recent_failures = ? WHERE id = ?", recent_failures, id).status();
}

absl::Status SetWorkerSeen(sql::Transaction& tx, std::string_view id, WallTime at) {
  return tx.Run("UPDATE workers SET seen_at = ? WHERE id = ?", at, id).status();
}

absl::StatusOr<WorkerRow> ResolveWorker(sql::Connection& db, std::string_view reference, const std::function<bool(const std::string&)>& is_here) {
  static const std::string kNamed = SelectWorkers("WHERE id = ? OR name = ? ORDER BY seen_at DESC, id");
  static const std::string kPrefix = SelectWorkers("WHERE id >= ? AND id < ? ORDER BY id");
  if (reference.empty()) return absl::InvalidArgumentError("no worker named; give an id, the beginning of one, or a name");
  ASSIGN_OR_RETURN(sql::Rows named, db.Query(kNamed, reference, reference));
  ASSIGN_OR_RETURN(std::vector<WorkerRow> found, ReadWorkers(std::move(named)));
  if (found.empty() && IsIdPrefix(reference)) {
    ASSIGN_OR_RETURN(sql::Rows rows, db.Query(kPrefix, reference, AfterPrefix(reference)));
    ASSIGN_OR_RETURN(found, ReadWorkers(std::move(rows)));
  }
  if (found.size() > 1 && is_here) {
    const auto here = [&is_here](const WorkerRow& one) { return is_here(one.id); };
    if (std::ranges::count_if(found, here) == 1) return std::move(*std::ranges::find_if(found, here));
  }
  if (found.size() == 1) return std::move(found[0]);
  if (found.size() > 1) {
    return absl::InvalidArgumentError(fmt::format("{} workers are called '{}' ({}, {}{}); give an id", found.size(), reference,
                                                  found[0].id.substr(0, 13), found[1].id.substr(0, 13),
                                                  found.size() > 2 ? ", ..." : ""));
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> names, db.All<std::string>("SELECT DISTINCT name FROM workers ORDER BY name"));
  const std::string closest = ClosestWord(reference, names);
  return absl::NotFoundError(fmt::format("there is no worker '{}'; {}'longreach workers' shows those of late", reference,
                                         closest.empty() ? "" : fmt::format("did you mean '{}'? ", closest)));
}

absl::StatusOr<bool> IsSharedName(sql::Connection& db, std::string_view name) {
  ASSIGN_OR_RETURN(const std::optional<int64_t> workers, db.First<int64_t>("SELECT count(*) FROM workers WHERE name = ?", name));
  return workers.value_or(0) > 1;
}

absl::StatusOr<DataSetRow> BindDataSet(sql::Transaction& tx, const DataSetRow& data_set) {
  RETURN_IF_ERROR(tx.Run("INSERT INTO data_sets(name, sha256, bytes, first_seen_at) VALUES (?, ?, ?, ?) ON CONFLICT(name) DO NOTHING",
                         data_set.name, data_set.sha256, data_set.bytes, data_set.first_seen_at)
                      .status());
  ASSIGN_OR_RETURN(std::optional<DataSetRow> row, FindDataSet(tx, data_set.name));
  if (!row.has_value()) return absl::InternalError(fmt::format("data set '{}' was not written", data_set.name));
  return *std::move(row);
}

absl::StatusOr<int64_t> CountDataSets(sql::Connection& db) { return db.One<int64_t>("SELECT count(*) FROM data_sets"); }

absl::StatusOr<std::optional<DataSetRow>> FindDataSet(sql::Connection& db, std::string_view name) {
  ASSIGN_OR_RETURN(sql::Rows rows, db.Query("SELECT name, sha256, bytes, first_seen_at FROM data_sets WHERE name = ?", name));
  if (rows.Next()) return ReadDataSet(rows);
  RETURN_IF_ERROR(rows.status());
  return std::nullopt;
}

absl::StatusOr<std::vector<DataSetRow>> ListDataSets(sql::Connection& db) {
  ASSIGN_OR_RETURN(sql::Rows rows, db.Query("SELECT name, sha256, bytes, first_seen_at FROM data_sets ORDER BY name"));
  std::vector<DataSetRow> data_sets;
  while (rows.Next()) data_sets.push_back(ReadDataSet(rows));
  RETURN_IF_ERROR(rows.status());
  return data_sets;
}

}  // namespace longreach::store
