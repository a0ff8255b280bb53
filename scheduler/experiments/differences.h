// What two sweeps differ in, where one of them is to stand beside the other in a table.
#pragma once

#include <set>
#include <string>

#include "longreach/v1/spec.pb.h"

namespace longreach::experiments {

// Paths of all settings by which jobs of the one are trained and tested otherwise than those of the other ("training.steps", "seed"),
// ascending; none if both ask for the same of whatever task and encoding. Names, tasks and encodings are free, and a setting that
// no encoding of `other` uses makes no difference. Both were found to be possible, and were read from the store.
std::set<std::string> DifferingSettings(const v1::SweepSpec& sweep, const v1::SweepSpec& other);

}  // namespace longreach::experiments
