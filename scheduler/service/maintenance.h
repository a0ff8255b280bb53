// Looking after the store: backup, check, merge, versions.
#pragma once

#include "longreach/v1/api.pb.h"
#include "proto/base/status.h"
#include "scheduler/service/engine.h"
#include "store/store.h"
#include "store/writer.h"

namespace longreach::service {

absl::StatusOr<v1::BackupStoreResponse> BackupStore(store::Store& store, const v1::BackupStoreRequest& request);

// Reads two moments when the first shows anything: files come and go beside the rows, so only what both show is a violation.
absl::StatusOr<v1::CheckStoreResponse> CheckStore(store::Store& store, const v1::CheckStoreRequest& request);

// Copies files on the caller's thread, then merges the rows in one event, and waits for it.
absl::StatusOr<v1::MergeStoreResponse> MergeStore(store::Store& store, store::Writer& writer, Engine& engine,
                                                  const v1::MergeStoreRequest& request);

absl::StatusOr<v1::GetInfoResponse> GetInfo(const store::Store& store);

}  // namespace longreach::service
