// A job as a sweep, to run it again.
#pragma once

#include "client/session.h"
#include "longreach/v1/api.pb.h"

namespace longreach::client {

// A job as a sweep of its own without a name, with the jobs that make its inputs. `depth` is for its own use.
absl::StatusOr<v1::SweepSpec> SweepOfJob(Connection& connection, const v1::JobSpec& job, int depth = 0);

}  // namespace longreach::client
