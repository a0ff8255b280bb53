// One sweep that has the jobs of several, so that one table, figure or comparison shows them: a job keeps its id, and so its result.
#pragma once

#include <string>
#include <vector>

#include "longreach/v1/api.pb.h"
#include "longreach/v1/spec.pb.h"
#include "proto/base/status.h"

namespace longreach::client {

struct JoinedSweep {
  v1::SweepSpec spec;
  double jobs = 0;
  double new_jobs = 0;  // Of these, those that none of the sweeps has.
  std::vector<std::string> notes{};  // Of systems that have jobs of others, a sentence each.
};

// Of two sweeps at least, as the scheduler has them, with their names. Those that have the same settings are one sweep of all of their axes' values, which may
// be more jobs than theirs. Others become systems, which are called as their sweeps are; systems that sweeps have already stay systems.
// What defaults are, and what an encoding uses, the scheduler alone knows. So where two systems come to the same job, which it refuses, that is seen by the jobs
// alone: those of each sweep, as they are listed. With them such systems become one, or the one loses to the other what they have in common (joints.h).
// INVALID_ARGUMENT: they are of several experiment kinds, they have inputs beside systems, whose jobs would be other ones, or a system's name is too long.
absl::StatusOr<JoinedSweep> JoinSweeps(const std::vector<v1::SweepSpec>& sweeps, const std::string& name, const std::vector<std::vector<v1::Job>>& jobs = {});

}  // namespace longreach::client
