// What the systems of a sweep differ in, where that is settings with one value: the fields of a grid above all.
#pragma once

#include <string>
#include <vector>

#include "longreach/v1/api.pb.h"

namespace longreach::client {

// Paths of the settings in which those of the sweep's systems differ that `only` (as TableSpec::only) leaves, ascending. Without systems none.
std::vector<std::string> VaryingSettings(const v1::SweepSpec& spec, const std::vector<std::string>& only = {});

// As a system has it, of its own or of the sweep; empty: neither says it.
std::string SettingOfSystem(const v1::SweepSpec& spec, const v1::System& system, const std::string& path);

// What a value aggregates over of the systems that `only` leaves, if the axes in `shown` have places of their own: "model.heads", or
// "systems" where those that fall together do not differ in single settings alone. Empty: no two of them fall together.
std::vector<std::string> AggregatedSystems(const v1::SweepSpec& spec, const std::vector<std::string>& shown, const std::vector<std::string>& only);

}  // namespace longreach::client
