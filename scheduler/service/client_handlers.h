// The service Longreach over gRPC: reading calls on the workforce from a snapshot, changing ones through the engine.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>

#include "longreach/v1/api.grpc.pb.h"
#include "proto/base/clock.h"
#include "proto/base/synchronized.h"
#include "scheduler/service/access/token_file.h"
#include "scheduler/service/engine.h"
#include "scheduler/service/grpc_support.h"
#include "scheduler/service/paged_sweeps.h"
#include "store/maintenance.h"
#include "store/store.h"

namespace longreach::service {

// What LookBeforeMerge() has opened, for the merge of that file.
struct LookedAt {
  std::string path = {};
  std::unique_ptr<store::MergeSource> source = {};  // Null: nothing.
};

class ClientHandlers final : public v1::Longreach::CallbackService {
 public:
  // Calls that may take long have threads of their own, so that the others do not wait for them.
  struct Threads {
    Workforce& calls;
    Workforce& long_calls;   // Plans, tables and their values, and lists of some jobs.
    Workforce& submissions;  // They wait for the writer most of the time, and others of this kind should not wait for them.
    Workforce& maintenance;  // Backups, checks, repairs and merges of stores.
    std::stop_token stop;    // What may take long breaks off when the scheduler ends.
  };
  // All of them outlive the gRPC server. `between_looks`: at a sweep that is watched (watch.h), and at who follows a log. `say_of_merges`: is told how far a merge is. `tokens`: the gate's.
  // `repairs`: this scheduler was started to mend its store, so that nobody works on it.
  ClientHandlers(Engine& engine, store::Store& store, store::Writer& writer, const Clock& clock, const Threads& threads, std::chrono::milliseconds between_looks,
                 std::function<void(const std::string&)> say_of_merges, TokenFile* tokens = nullptr, LookedAt looked_at = {}, bool repairs = false)
      : engine_(engine), store_(store), writer_(writer), clock_(clock), threads_(threads), between_looks_(between_looks), say_of_merges_(std::move(say_of_merges)), tokens_(tokens), looked_at_(std::move(looked_at)), repairs_(repairs) {}

  using Context = grpc::CallbackServerContext;

  grpc::ServerUnaryReactor* SubmitSweep(Context*, const v1::SubmitSweepRequest*, v1::SubmitSweepResponse*) override;
  grpc::ServerUnaryReactor* ListSweeps(Context*, const v1::ListSweepsRequest*, v1::ListSweepsResponse*) override;
  grpc::ServerUnaryReactor* GetSweep(Context*, const v1::GetSweepRequest*, v1::Sweep*) override;
  grpc::ServerWriteReactor<v1::SweepUpdate>* WatchSweep(Context*, const v1::GetSweepRequest*) override;
  grpc::ServerUnaryReactor* ListJobs(Context*, const v1::ListJobsRequest*, v1::ListJobsResponse*) override;
  grpc::ServerUnaryReactor* GetJob(Context*, const v1::GetJobRequest*, v1::GetJobResponse*) override;
  grpc::ServerUnaryReactor* ExplainJob(Context*, const v1::GetJobRequest*, v1::ExplainJobResponse*) override;
  grpc::ServerUnaryReactor* GetLog(Context*, const v1::GetLogRequest*, v1::GetLogResponse*) override;
  grpc::ServerWriteReactor<v1::LogPart>* FollowLog(Context*, const v1::GetJobRequest*) override;
  grpc::ServerUnaryReactor* ListWorkers(Context*, const v1::ListWorkersRequest*, v1::ListWorkersResponse*) override;
  grpc::ServerUnaryReactor* ListDataSets(Context*, const v1::ListDataSetsRequest*, v1::ListDataSetsResponse*) override;
  grpc::ServerUnaryReactor* GetTable(Context*, const v1::GetTableRequest*, v1::Table*) override;
  grpc::ServerUnaryReactor* ListMeasurements(Context*, const v1::ListMeasurementsRequest*, v1::ListMeasurementsResponse*) override;
  grpc::ServerUnaryReactor* ListAttempts(Context*, const v1::ListAttemptsRequest*, v1::ListAttemptsResponse*) override;
  grpc::ServerUnaryReactor* SteerSweep(Context*, const v1::SteerSweepRequest*, v1::Sweep*) override;
  grpc::ServerUnaryReactor* SteerWorker(Context*, const v1::SteerWorkerRequest*, v1::WorkerInfo*) override;
  grpc::ServerUnaryReactor* BackupStore(Context*, const v1::BackupStoreRequest*, v1::BackupStoreResponse*) override;
  grpc::ServerUnaryReactor* CheckStore(Context*, const v1::CheckStoreRequest*, v1::CheckStoreResponse*) override;
  grpc::ServerUnaryReactor* RepairStore(Context*, const v1::RepairStoreRequest*, v1::RepairStoreResponse*) override;
  grpc::ServerUnaryReactor* MergeStore(Context*, const v1::MergeStoreRequest*, v1::MergeStoreResponse*) override;
  grpc::ServerUnaryReactor* GetInfo(Context*, const v1::GetInfoRequest*, v1::GetInfoResponse*) override;

 private:
  // Answers from a snapshot of the store: `read` is StatusOr<Reply>(sql::Connection&).
  template <typename Reply, typename Read>
  grpc::ServerUnaryReactor* FromSnapshot(Context* context, Reply* reply, Read read, Workforce& workforce);
  template <typename Reply, typename Read>
  grpc::ServerUnaryReactor* FromSnapshot(Context* context, Reply* reply, Read read) {
    return FromSnapshot(context, reply, std::move(read), threads_.calls);
  }

  std::string By(const Context& context) const;
  // FAILED_PRECONDITION: the store is being mended.
  absl::Status CheckMayChange() const;
  std::unique_ptr<store::MergeSource> TakeLookedAt(const std::string& path);

  Engine& engine_;
  store::Store& store_;
  store::Writer& writer_;
  const Clock& clock_;
  const Threads threads_;
  const std::chrono::milliseconds between_looks_;
  const std::function<void(const std::string&)> say_of_merges_;
  TokenFile* const tokens_;
  Synchronized<LookedAt> looked_at_;
  const bool repairs_;
  PagedSweeps paged_;
};

}  // namespace longreach::service
