// What fake workers "measure" and hand in: pure functions of a job's id, so that a test can tell what must be in the store.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "longreach/v1/worker.pb.h"

namespace longreach::fake {

// The job's accuracy over all lengths: the first 48 bits of its id as a fraction of 2^48. Exact in a double.
double AccuracyOf(std::string_view job);

// A result with that accuracy, and with one more measurement for each of `lengths` lengths (1, 2, ...), as a real job has hundreds.
v1::MemberResult ResultOf(const std::string& job, int lengths);

// The bytes of an attempt's artifact; like a real checkpoint's, they belong to this attempt alone.
std::string ArtifactOf(uint64_t attempt, size_t bytes);

// A number in [0, 1) that depends on `text` and `salt` alone: which of the jobs fail, how long an attempt takes.
double FractionOf(std::string_view text, uint64_t salt);

}  // namespace longreach::fake
