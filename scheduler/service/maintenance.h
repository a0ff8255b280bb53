// Looking after the store: backup, check, merge, versions.
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "longreach/v1/api.pb.h"
#include "proto/base/clock.h"
#include "proto/base/status.h"
#include "scheduler/service/engine.h"
#include "store/maintenance.h"
#include "store/store.h"
#include "store/writer.h"

namespace longreach::service {

// What may take minutes ends with UNAVAILABLE once a stop is requested, and nothing half-written is left.
absl::StatusOr<v1::BackupStoreResponse> BackupStore(store::Store& store, const v1::BackupStoreRequest& request, const std::stop_token& stop = {});

// Reads two moments when the first shows anything: files come and go beside the rows, so only what both show is a violation.
absl::StatusOr<v1::CheckStoreResponse> CheckStore(store::Store& store, const v1::CheckStoreRequest& request, const std::stop_token& stop = {});

// Puts right what a check finds and what follows from the rest (store/repair.h), in one event (two where indexes are damaged), once there is a copy of the database beside it; files that no row names are
// put aside. The files are read before and after. RESOURCE_EXHAUSTED: there is no room for the copy.
absl::StatusOr<v1::RepairStoreResponse> RepairStore(store::Store& store, store::Writer& writer, WallTime now, const std::stop_token& stop = {});

// Opens the other store, copies files on the caller's thread, then merges the rows in one event, and waits for it. `by`: who asks, for the log. `looked_at`: the
// other store, where LookBeforeMerge() or HoldForMerge() has opened it and held it since: what LookBeforeMerge() has read is not read a second time. `tell`: how far it is.
absl::StatusOr<v1::MergeStoreResponse> MergeStore(store::Store& store, store::Writer& writer, Engine& engine,
                                                  const v1::MergeStoreRequest& request, const std::stop_token& stop = {}, std::string_view by = {},
                                                  std::unique_ptr<store::MergeSource> looked_at = nullptr, const store::TellMerge& tell = {});

// The store of that file, which a store that has nothing yet could take over: asked before one is made for it. The errors are those of MergeStore().
absl::StatusOr<std::unique_ptr<store::MergeSource>> LookBeforeMerge(const std::string& path, const std::stop_token& stop);

// The same for `store`, which is there: an error only where somebody else holds the other one, so that who waits for that does not hold `store` meanwhile. What else
// MergeStore() is to refuse it says itself: null. The other one is not read yet, which takes minutes: until the scheduler listens, nobody who wants `store` is told where to ask.
absl::StatusOr<std::unique_ptr<store::MergeSource>> HoldForMerge(const std::string& path, const store::Store& store);

absl::StatusOr<v1::GetInfoResponse> GetInfo(const store::Store& store, WallTime now);

}  // namespace longreach::service
