// What the systems of a sweep differ in: the fields of a grid above all, which are settings with one value.
#pragma once

#include <string>
#include <vector>

#include "client/commands/system_settings.h"

namespace longreach::client {

// Paths of the settings in which those of the sweep's systems differ that `only` (as TableSpec::only) leaves, ascending. Without systems none.
std::vector<std::string> VaryingSettings(const SystemSettings& settings, const std::vector<std::string>& only = {});

// The systems that `only` leaves have each combination of the values of VaryingSettings() once, and differ in nothing else.
bool IsGridOfSettings(const SystemSettings& settings, const std::vector<std::string>& only);

// What a value aggregates over of the jobs that `only` leaves, if the axes in `shown` have places of their own: "seeds", "learning rates",
// "encodings" and "tasks" of which some place has several; then "model.heads", or "systems" where those that fall together do not differ in
// single settings alone. Empty: a value is of one job.
std::vector<std::string> AggregatedAxes(const SystemSettings& settings, const std::vector<std::string>& shown, const std::vector<std::string>& only);

}  // namespace longreach::client
