// The values that a sweep's jobs have of what tells them apart: what --only and --between may name of it.
#pragma once

#include <string>
#include <vector>

#include "client/commands/system_settings.h"

namespace longreach::client {

struct ValuesOfAxis {
  std::string axis;                 // One of kPairAxes, or a setting's path.
  std::vector<std::string> values;  // Ascending, numbers by their size; never empty.
};

// Of the axes, in the order of kPairAxes, and then of the settings in which the sweep's systems differ, by their paths. `settings` are fetched.
std::vector<ValuesOfAxis> KnownValues(const SystemSettings& settings);

}  // namespace longreach::client
