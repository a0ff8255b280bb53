// Looking after the store: backup, check, merge, versions.
#pragma once

#include <stop_token>
#include <string>
#include <string_view>

#include "longreach/v1/api.pb.h"
#include "proto/base/status.h"
#include "scheduler/service/engine.h"
#include "store/store.h"
#include "store/writer.h"

namespace longreach::service {

// What may take minutes ends with UNAVAILABLE once a stop is requested, and nothing half-written is left.
absl::StatusOr<v1::BackupStoreResponse> BackupStore(store::Store& store, const v1::BackupStoreRequest& request, const std::stop_token& stop = {});

// Reads two moments when the first shows anything: files come and go beside the rows, so only what both show is a violation.
absl::StatusOr<v1::CheckStoreResponse> CheckStore(store::Store& store, const v1::CheckStoreRequest& request, const std::stop_token& stop = {});

// Copies files on the caller's thread, then merges the rows in one event, and waits for it. `by`: who asks, for the log.
absl::StatusOr<v1::MergeStoreResponse> MergeStore(store::Store& store, store::Writer& writer, Engine& engine,
                                                  const v1::MergeStoreRequest& request, const std::stop_token& stop = {}, std::string_view by = {});

// Whether MergeStore() of that file would be refused by a store that has nothing yet: asked before one is made for it. What is wrong in the rows over
// there takes long to find, and is left to MergeStore().
absl::Status CheckMergeIntoNew(const std::string& path);

absl::StatusOr<v1::GetInfoResponse> GetInfo(const store::Store& store);

}  // namespace longreach::service
