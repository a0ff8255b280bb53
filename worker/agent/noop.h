// Jobs that compute nothing (the experiment kind "noop"): the agent answers them itself, without a trainer.
#pragma once

#include <string_view>

#include "longreach/v1/worker.pb.h"

namespace longreach::agent {

inline constexpr std::string_view kNoop = "noop";

bool IsNoop(const v1::Lease& lease);

// The whole report of such a lease. A job's result is its echo: the first 48 bits of its id as a fraction of 2^48, exact in a
// double. So whoever reads the store sees whether each job has its own result.
v1::AttemptReport NoopReport(const v1::Lease& lease);

}  // namespace longreach::agent
