// Randomized positions of a test are drawn once, for all jobs: what a score at one length does not tell.
#pragma once

#include <string>
#include <vector>

#include "longreach/v1/api.pb.h"

namespace longreach::client {

// What to say beside scores at single lengths of a sweep's jobs, of those that `only` leaves (as TableSpec::only). Empty: nothing, as none
// has randomized positions, or tests of them have many draws.
std::string NoteOfSharedDraw(const v1::SweepSpec& spec, const std::vector<std::string>& only);

}  // namespace longreach::client
