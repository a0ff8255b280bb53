// In which fields two sweeps differ.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "longreach/v1/spec.pb.h"

namespace longreach::client {

// Paths of the fields that one of the two has, and the other lacks or has otherwise: "training.steps", "seed", "systems.nope.with.data". Of a
// system that `before` lacks they are what it sets, "model.layers" of a grid, or "systems" where it sets nothing. Names of sweeps, tasks and
// encodings do not count, nor systems that ours lacks. A list that only `before` has is no difference: a sweep that comes from the scheduler lacks
// what is its kind's default, which `before` may spell out. So it must not spell out other fields' defaults. Of two that come from the scheduler all
// differences are those of both directions.
std::set<std::string> FieldsThatDiffer(v1::SweepSpec before, v1::SweepSpec ours);

// Of two systems of a sweep, by their names: paths of the fields of settings, data and inputs that the one has otherwise than the other, each its own or
// the sweep's. What one of them spells out as the default that the other has is such a field.
std::set<std::string> FieldsOfSystemsThatDiffer(const v1::SweepSpec& sweep, std::string_view first, std::string_view second);

}  // namespace longreach::client
