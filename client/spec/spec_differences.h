// In which fields two sweeps differ.
#pragma once

#include <set>
#include <string>

#include "longreach/v1/spec.pb.h"

namespace longreach::client {

// Paths of the fields that one of the two has, and the other lacks or has otherwise: "training.steps", "seed", "systems.nope.with.data". Of a
// system that `before` lacks they are what it sets, "model.layers" of a grid, or "systems" where it sets nothing. Names of sweeps, tasks and
// encodings do not count, nor systems that ours lacks. A list that only `before` has is no difference: a sweep that comes from the scheduler lacks
// what is its kind's default, which `before` may spell out. So it must not spell out other fields' defaults. Of two that come from the scheduler all
// differences are those of both directions.
std::set<std::string> FieldsThatDiffer(v1::SweepSpec before, v1::SweepSpec ours);

}  // namespace longreach::client
