// A sweep that tests what another one has trained.
#pragma once

#include "longreach/v1/spec.pb.h"

namespace longreach::client {

// The same jobs, which train nothing and begin with the weights of those of `sweep` (an input), under the same tests but for what is asked of single
// lengths, which others may not have. What trained them is said in full: no setting that is changed in it trains anything anew. Jobs of `sweep` that train
// nothing themselves stay as they are.
v1::SweepSpec TestsOfSweep(const v1::SweepSpec& sweep);

}  // namespace longreach::client
