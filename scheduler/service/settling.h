// How a change of a sweep's state or priority reaches its jobs: within one event, or of many jobs in slices (engine.h).
#pragma once

#include <cstdint>
#include <string>

#include "proto/base/clock.h"
#include "proto/base/status.h"
#include "scheduler/service/effects.h"
#include "store/sql/connection.h"
#include "store/sweeps.h"

namespace longreach::service {

// The sweep has just changed: its jobs follow, `most` of them now. Whether there are others, for SettleNext. A sweep that needs inputs
// changes at once: a job must not wait for one that has been cancelled.
absl::StatusOr<bool> Settle(sql::Transaction& tx, const store::SweepRow& sweep, int64_t most, WallTime now, Effects& effects);
absl::StatusOr<bool> SettleNext(sql::Transaction& tx, int64_t sweep, int64_t most, WallTime now, Effects& effects);
// What has changed with jobs of a sweep is told to the attempts that have them, and to their workers.
absl::Status Follow(sql::Transaction& tx, const store::Settled& settled, WallTime now, Effects& effects);
// Whether all jobs of a sweep go in one event: they are `most` at most, or some need others.
absl::StatusOr<bool> GoesInOneEvent(sql::Connection& db, const store::SweepRow& sweep, int64_t most);

// For whoever asked for a change whose first part is on disk when it breaks off for want of space: that it is no refusal. `done`: what is so now.
absl::Status GoesOn(const std::string& done, const absl::Status& why);
// For whoever waits for something large when the scheduler ends. `remembered`: the store says what is left to do.
absl::Status BrokenOffByEnd(bool remembered);

}  // namespace longreach::service
