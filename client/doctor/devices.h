// What the worker's program computes with here, as `longreach-worker devices -o json` tells it.
#pragma once

#include <string>
#include <vector>

#include "client/doctor/check.h"
#include "proto/base/status.h"

namespace longreach::client {

// The checks "cpu" and "gpu". `answer`: the program's document. UNAVAILABLE: there is nobody to ask, which another check tells already; another error
// is the program's own.
std::vector<Check> JudgeDevices(const absl::StatusOr<std::string>& answer);

}  // namespace longreach::client
