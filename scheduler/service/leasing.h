// Finding work for a worker, and the leases that it is sent.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "longreach/v1/worker.pb.h"
#include "proto/base/status.h"
#include "scheduler/service/effects.h"
#include "store/attempts.h"
#include "store/workers.h"

namespace longreach::service {

// Gives jobs to workers. One object lives as long as the engine and is used within its events only.
class Leasing {
 public:
  // Leases the pack whose turn it is, of those that the worker can train; nothing when there is none. Jobs whose inputs
  // turn out to be gone for good fail on the way.
  absl::StatusOr<std::optional<v1::Lease>> LeaseNext(sql::Transaction& tx, const store::WorkerRow& worker,
                                                     const v1::Abilities& abilities, WallTime now, Effects& effects);

  // Something may have become ready, or an event was taken back: nothing that was seen before counts.
  void Forget() { empty_.clear(); }

 private:
  absl::StatusOr<std::optional<store::LeaseGroup>> NextGroup(sql::Connection& db, const v1::Abilities& abilities);

  // Kinds of work without a ready job, as far as is known: they need not be asked again.
  std::set<int64_t> empty_;
};

// The lease of a running attempt as it is sent, and sent again until the worker holds it. NOT_FOUND: an input is gone.
absl::StatusOr<v1::Lease> BuildLease(sql::Connection& db, int64_t attempt);

// What the board shows of an attempt.
absl::StatusOr<LiveAttempt> LiveAttemptOf(sql::Connection& db, const store::AttemptRow& attempt);

}  // namespace longreach::service
