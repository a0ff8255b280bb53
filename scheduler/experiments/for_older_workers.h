// What workers are sent that were built before some settings came. They go on where scheduler and worker speak one protocol, but refuse a job with a
// field that they do not know: it may ask for another training than theirs.
#pragma once

#include "longreach/v1/spec.pb.h"

namespace longreach::experiments {

// Takes away the settings that came later, where they say what was done before: to a worker of today a field that is left out says the same.
void LeaveOutForOlderWorkers(v1::JobSpec& job);

}  // namespace longreach::experiments
