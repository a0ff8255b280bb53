// How attempts end, and what follows for their jobs and for the jobs that need those. Each function reads, asks
// scheduler/core and writes, within the caller's event; an attempt that has already ended is a mistake of the caller.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "longreach/v1/worker.pb.h"
#include "proto/base/status.h"
#include "scheduler/core/job_life.h"
#include "scheduler/service/effects.h"
#include "store/attempts.h"
#include "store/sweeps.h"

namespace longreach::service {

// A row as scheduler/core sees it; `worker` holds it if it is leased.
absl::StatusOr<core::Life> LifeOf(const store::JobRow& row, const std::string& worker);

// Every member has a result. A member without one, or with one that cannot be accepted, has failed by itself.
absl::Status EndSucceeded(sql::Transaction& tx, const store::AttemptRow& attempt, const v1::AttemptReport& report, WallTime now,
                          Effects& effects);
// Also notes it against the worker, which may be put aside.
absl::Status EndFailed(sql::Transaction& tx, const store::AttemptRow& attempt, const v1::AttemptReport& report, WallTime now,
                       Effects& effects);
absl::Status EndGivenBack(sql::Transaction& tx, const store::AttemptRow& attempt, std::string_view detail, std::string_view engine,
                          WallTime now, Effects& effects);
absl::Status EndLost(sql::Transaction& tx, const store::AttemptRow& attempt, const std::string& reason, WallTime now, Effects& effects);

// Jobs that are no longer their attempt's (cancelled, or finished by a merge): their members are dropped, and an attempt without
// members left ends.
absl::Status DropMembers(sql::Transaction& tx, std::span<const store::DroppedJob> dropped, WallTime now, Effects& effects);

// The points of loss curves that belong to jobs of this attempt and to their steps; others are left out.
absl::Status WritePoints(sql::Transaction& tx, int64_t attempt,
                         const google::protobuf::RepeatedPtrField<v1::ProgressPoint>& points, WallTime now);

// A job that no attempt has fails, with those that need it.
absl::Status FailUnstarted(sql::Transaction& tx, const store::JobRow& job, std::string_view reason, Effects& effects);
// What a job that is to run, with this specification, has of its inputs.
struct InputsSeen {
  bool all_there = true;
  std::string failure = {};  // One never will be: why the job fails.
};
absl::StatusOr<InputsSeen> LookAtInputs(sql::Connection& db, std::string_view spec, std::span<const store::JobInputRow> inputs);
// Looks at the inputs of a waiting or queued job: ready when all are there, failed when one never will be. Others stay as they are.
absl::Status SettleInputs(sql::Transaction& tx, int64_t job, Effects& effects);
// The same for the jobs that need something of `source`, which has come to an end.
absl::Status SettleDependants(sql::Transaction& tx, int64_t source, Effects& effects);

// An input's value for a lease of a job with this specification. NOT_FOUND: the source has none that the job may use, and never will. Of a source that has
// diverged there are weights, from before that, and they are for drawing attention alone.
absl::StatusOr<v1::ResolvedInput> ResolveInput(sql::Connection& db, const store::JobInputRow& input, std::string_view job);

}  // namespace longreach::service
