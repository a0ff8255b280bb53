// The services Worker and Artifacts over gRPC.
#pragma once

#include <atomic>
#include <string>
#include <utility>

#include "longreach/v1/worker.grpc.pb.h"
#include "scheduler/service/artifact_total.h"
#include "scheduler/service/engine.h"
#include "scheduler/service/grpc_support.h"
#include "scheduler/service/limits.h"
#include "scheduler/service/upload_parts.h"
#include "scheduler/service/upload_room.h"
#include "store/store.h"

namespace longreach::service {

class WorkerHandlers final : public v1::Worker::CallbackService {
 public:
  // `inbox`: what workers on the same machine are told (SynchronizeResponse.inbox).
  WorkerHandlers(Engine& engine, std::string inbox) : engine_(engine), inbox_(std::move(inbox)) {}

  grpc::ServerUnaryReactor* Synchronize(grpc::CallbackServerContext*, const v1::SynchronizeRequest*, v1::SynchronizeResponse*) override;

 private:
  Engine& engine_;
  const std::string inbox_;
};

// What a file says of itself before its bytes come. INVALID_ARGUMENT, OUT_OF_RANGE: the field that cannot be.
absl::Status CheckUploadHeader(const v1::UploadHeader& header, const ArtifactLimits& limits);

class ArtifactHandlers final : public v1::Artifacts::CallbackService {
 public:
  ArtifactHandlers(Engine& engine, store::Store& store, Workforce& workforce, const ArtifactLimits& limits, UploadRoom& room, UploadParts& parts, const Clock& clock);

  grpc::ServerReadReactor<v1::UploadRequest>* Upload(grpc::CallbackServerContext*, v1::UploadResponse*) override;
  grpc::ServerUnaryReactor* FindUpload(grpc::CallbackServerContext*, const v1::UploadHeader*, v1::FindUploadResponse*) override;
  grpc::ServerWriteReactor<v1::DownloadResponse>* Download(grpc::CallbackServerContext*, const v1::DownloadRequest*) override;

  // Removes, on a thread of the workforce, what is kept of files of attempts that have ended.
  void AttemptsHaveEnded();

 private:
  absl::StatusOr<v1::FindUploadResponse> Find(const v1::UploadHeader& header);

  Engine& engine_;
  store::Store& store_;
  Workforce& workforce_;
  const ArtifactLimits limits_;
  UploadRoom& room_;
  UploadParts& parts_;
  const Clock& clock_;
  ArtifactTotal total_;
  std::atomic<bool> looks_for_ended_ = false;
};

}  // namespace longreach::service
