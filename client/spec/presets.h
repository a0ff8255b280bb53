// What the presets say, by their names and by those of their parts.
#pragma once

#include <string>
#include <vector>

#include "client/spec/spec_reader.h"
#include "longreach/v1/api.pb.h"

namespace longreach::client {

// The parts of the preset of that name; none: it has none, or there is no such preset.
std::vector<LoadedSweep> PartsOfPreset(const std::string& name);

// The same of a preset or of a sweep file, by its path; what is no file, or none that can be read, has none.
std::vector<LoadedSweep> PartsOf(const std::string& preset_or_path);

// How to print a sweep of this name: the preset's table, if there is a preset of that name, or part of one.
v1::TableSpec TableOfPreset(const std::string& sweep_name);

}  // namespace longreach::client
