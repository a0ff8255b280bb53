// One sweep that has the jobs of several, so that one table, figure or comparison shows them: a job keeps its id, and so its result.
#pragma once

#include <string>
#include <vector>

#include "longreach/v1/spec.pb.h"
#include "proto/base/status.h"

namespace longreach::client {

struct JoinedSweep {
  v1::SweepSpec spec;
  double jobs = 0;
  double new_jobs = 0;  // Of these, those that none of the sweeps has.
};

// Of two sweeps at least, as the scheduler has them, with their names. Those that have the same settings are one sweep of all of their axes' values, which may
// be more jobs than theirs. Others become systems, which are called as their sweeps are; systems that sweeps have already stay systems.
// INVALID_ARGUMENT: they are of several experiment kinds, they have inputs beside systems, whose jobs would be other ones, or a system's name is too long.
absl::StatusOr<JoinedSweep> JoinSweeps(const std::vector<v1::SweepSpec>& sweeps, const std::string& name);

}  // namespace longreach::client
