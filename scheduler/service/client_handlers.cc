#include "scheduler/service/client_handlers.h"

#include <fmt/format.h>

#include "scheduler/service/access/gate.h"
#include "scheduler/service/follow_log.h"
#include "scheduler/service/maintenance.h"
#include "scheduler/service/merge_progress.h"
#include "scheduler/service/query_attempts.h"
#include "scheduler/service/query_jobs.h"
#include "scheduler/service/query_logs.h"
#include "scheduler/service/query_measurements.h"
#include "scheduler/service/query_sweeps.h"
#include "scheduler/service/query_table.h"
#include "scheduler/service/query_workers.h"
#include "scheduler/service/some_jobs.h"
#include "scheduler/service/watch.h"

namespace longreach::service {

// Takes the answer of the engine, on whatever thread it comes.
template <typename Reply>
Engine::Answer<Reply> Into(grpc::ServerUnaryReactor* reactor, Reply* reply) {
  return [reactor, reply](absl::StatusOr<Reply> result) {
    if (result.ok()) *reply = *std::move(result);
    reactor->Finish(ToGrpc(result.status()));
  };
}

template <typename Reply, typename Read>
grpc::ServerUnaryReactor* ClientHandlers::FromSnapshot(Context* context, Reply* reply, Read read, Workforce& workforce) {
  return AnswerWith(context, reply, workforce, [this, read = std::move(read)]() -> absl::StatusOr<Reply> {
    ASSIGN_OR_RETURN(store::Snapshot snapshot, store_.Read());
    return read(snapshot.db());
  });
}

// Who asks, for the log.
std::string ClientHandlers::By(const Context& context) const { return NameOfCaller(tokens_, context.client_metadata(), context.auth_context().get()); }

// A command that waited in vain for the one that mends the store asks its scheduler.
absl::Status ClientHandlers::CheckMayChange() const {
  if (!repairs_) return absl::OkStatus();
  return absl::FailedPreconditionError(fmt::format("the store '{}' is being mended, and nothing else changes it meanwhile; ask again when that has ended", store_.name()));
}

grpc::ServerUnaryReactor* ClientHandlers::SubmitSweep(Context* context, const v1::SubmitSweepRequest* request,
                                                      v1::SubmitSweepResponse* reply) {
  return AnswerWith(context, reply, request->dry_run() ? threads_.long_calls : threads_.submissions,
                    [this, context, request]() -> absl::StatusOr<v1::SubmitSweepResponse> {
                      if (!request->dry_run()) RETURN_IF_ERROR(CheckMayChange());
                      return engine_.SubmitSweep(*request, store_, [this, context] { return threads_.stop.stop_requested() || context->IsCancelled(); }, By(*context));
                    });
}

grpc::ServerUnaryReactor* ClientHandlers::ListSweeps(Context* context, const v1::ListSweepsRequest*, v1::ListSweepsResponse* reply) {
  return FromSnapshot(context, reply, [](sql::Connection& db) { return service::ListSweeps(db); });
}

grpc::ServerUnaryReactor* ClientHandlers::GetSweep(Context* context, const v1::GetSweepRequest* request, v1::Sweep* reply) {
  return FromSnapshot(context, reply, [request](sql::Connection& db) { return service::GetSweep(db, *request); });
}

grpc::ServerWriteReactor<v1::SweepUpdate>* ClientHandlers::WatchSweep(Context* context, const v1::GetSweepRequest* request) {
  return StartWatch(*request, between_looks_, StillAdmitted(tokens_, kWatchCall, context->client_metadata()), engine_.board(), store_, threads_.calls);
}

grpc::ServerUnaryReactor* ClientHandlers::ListJobs(Context* context, const v1::ListJobsRequest* request, v1::ListJobsResponse* reply) {
  // Whether there are such jobs, and where the next is, may take a look at each of them.
  return FromSnapshot(context, reply, [this, request](sql::Connection& db) { return service::ListJobs(db, *request, engine_.board().Read(), threads_.stop, &paged_); },
                      request->only().empty() ? threads_.calls : threads_.long_calls);
}

grpc::ServerUnaryReactor* ClientHandlers::GetJob(Context* context, const v1::GetJobRequest* request, v1::GetJobResponse* reply) {
  return FromSnapshot(context, reply,
                      [this, request](sql::Connection& db) { return service::GetJob(db, *request, engine_.board().Read()); });
}

grpc::ServerUnaryReactor* ClientHandlers::ExplainJob(Context* context, const v1::GetJobRequest* request, v1::ExplainJobResponse* reply) {
  return FromSnapshot(context, reply,
                      [this, request](sql::Connection& db) { return service::ExplainJob(db, *request, engine_.board().Read()); });
}

grpc::ServerUnaryReactor* ClientHandlers::GetLog(Context* context, const v1::GetLogRequest* request, v1::GetLogResponse* reply) {
  return FromSnapshot(context, reply, [this, request](sql::Connection& db) { return service::GetLog(db, store_.artifacts(), *request); });
}

grpc::ServerWriteReactor<v1::LogPart>* ClientHandlers::FollowLog(Context* context, const v1::GetJobRequest* request) {
  return StartFollowing(*request, between_looks_, StillAdmitted(tokens_, kFollowCall, context->client_metadata()), engine_, store_, threads_.calls);
}

grpc::ServerUnaryReactor* ClientHandlers::ListWorkers(Context* context, const v1::ListWorkersRequest* request, v1::ListWorkersResponse* reply) {
  // The count takes a look at each job that waits.
  return FromSnapshot(context, reply, [this, request](sql::Connection& db) { return service::ListWorkers(db, engine_.board().Read(), *request); },
                      request->count_waiting() ? threads_.long_calls : threads_.calls);
}

grpc::ServerUnaryReactor* ClientHandlers::ListDataSets(Context* context, const v1::ListDataSetsRequest*, v1::ListDataSetsResponse* reply) {
  return FromSnapshot(context, reply, [](sql::Connection& db) { return service::ListDataSets(db); });
}

grpc::ServerUnaryReactor* ClientHandlers::GetTable(Context* context, const v1::GetTableRequest* request, v1::Table* reply) {
  return FromSnapshot(context, reply, [this, request](sql::Connection& db) { return service::GetTable(db, *request, threads_.stop); }, threads_.long_calls);
}

grpc::ServerUnaryReactor* ClientHandlers::ListMeasurements(Context* context, const v1::ListMeasurementsRequest* request,
                                                           v1::ListMeasurementsResponse* reply) {
  return FromSnapshot(context, reply, [this, request](sql::Connection& db) { return service::ListMeasurements(db, *request, {}, threads_.stop, &paged_); },
                      threads_.long_calls);
}

grpc::ServerUnaryReactor* ClientHandlers::ListAttempts(Context* context, const v1::ListAttemptsRequest* request, v1::ListAttemptsResponse* reply) {
  return FromSnapshot(context, reply,
                      [this, request](sql::Connection& db) { return service::ListAttempts(db, *request, engine_.board().Read(), {}, threads_.stop, &paged_); },
                      threads_.long_calls);
}

grpc::ServerUnaryReactor* ClientHandlers::SteerSweep(Context* context, const v1::SteerSweepRequest* request, v1::Sweep* reply) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  if (const absl::Status may = CheckMayChange(); !may.ok()) {
    reactor->Finish(ToGrpc(may));
    return reactor;
  }
  const auto steer = [this, request, reactor, reply, by = By(*context)] { engine_.SteerSweep(*request, Into(reactor, reply), by); };
  if (!IsOfSomeJobs(request->action())) {
    steer();
    return reactor;
  }
  // Whether there are such jobs may take a look at each of them, for which the writer has no time.
  threads_.long_calls.Post([this, request, reactor, steer] {
    absl::StatusOr<store::Snapshot> snapshot = store_.Read();
    const absl::Status checked = snapshot.ok() ? CheckSomeJobs(snapshot->db(), *request, threads_.stop) : snapshot.status();
    if (checked.ok()) steer();
    else reactor->Finish(ToGrpc(checked));
  });
  return reactor;
}

grpc::ServerUnaryReactor* ClientHandlers::SteerWorker(Context* context, const v1::SteerWorkerRequest* request, v1::WorkerInfo* reply) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  if (const absl::Status may = CheckMayChange(); may.ok()) engine_.SteerWorker(*request, Into(reactor, reply), By(*context));
  else reactor->Finish(ToGrpc(may));
  return reactor;
}

grpc::ServerUnaryReactor* ClientHandlers::BackupStore(Context* context, const v1::BackupStoreRequest* request, v1::BackupStoreResponse* reply) {
  return AnswerToWhoWaits(reply, threads_.maintenance, threads_.stop, [this, context, request](const std::stop_token& stop) -> absl::StatusOr<v1::BackupStoreResponse> {
    ASSIGN_OR_RETURN(v1::BackupStoreResponse backup, service::BackupStore(store_, *request, stop));
    engine_.Tell({StoreBackedUp(request->path(), backup.bytes(), By(*context))});
    return backup;
  });
}

grpc::ServerUnaryReactor* ClientHandlers::CheckStore(Context*, const v1::CheckStoreRequest* request, v1::CheckStoreResponse* reply) {
  return AnswerToWhoWaits(reply, threads_.maintenance, threads_.stop, [this, request](const std::stop_token& stop) { return service::CheckStore(store_, *request, stop); });
}

grpc::ServerUnaryReactor* ClientHandlers::RepairStore(Context*, const v1::RepairStoreRequest*, v1::RepairStoreResponse* reply) {
  return AnswerToWhoWaits(reply, threads_.maintenance, threads_.stop, [this](const std::stop_token& stop) -> absl::StatusOr<v1::RepairStoreResponse> {
    if (!repairs_) {
      return absl::FailedPreconditionError(fmt::format("the store '{}' is not mended while a scheduler works on it; stop that one first, then 'longreach store check --repair' mends it", store_.name()));
    }
    return service::RepairStore(store_, writer_, clock_.Wall(), stop);
  });
}

grpc::ServerUnaryReactor* ClientHandlers::MergeStore(Context* context, const v1::MergeStoreRequest* request, v1::MergeStoreResponse* reply) {
  return AnswerWith(context, reply, threads_.maintenance,
                    [this, context, request]() -> absl::StatusOr<v1::MergeStoreResponse> {
                      RETURN_IF_ERROR(CheckMayChange());
                      const store::TellMerge tell = SayingHowFar(clock_, request->path(), say_of_merges_);
                      return service::MergeStore(store_, writer_, engine_, *request, threads_.stop, By(*context), TakeLookedAt(request->path()), tell);
                    });
}

// For one merge: another one finds what has become of the file meanwhile.
std::unique_ptr<store::MergeSource> ClientHandlers::TakeLookedAt(const std::string& path) {
  auto looked_at = looked_at_.Lock();
  return looked_at->path == path ? std::move(looked_at->source) : nullptr;
}

grpc::ServerUnaryReactor* ClientHandlers::GetInfo(Context* context, const v1::GetInfoRequest*, v1::GetInfoResponse* reply) {
  return AnswerWith(context, reply, threads_.calls, [this] { return service::GetInfo(store_, clock_.Wall()); });
}

}  // namespace longreach::service
