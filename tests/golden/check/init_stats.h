// init_stats.json of a golden set: how the reference draws initial parameters.
#pragma once

#include <filesystem>

#include "tests/golden/check/report.h"

namespace longreach::golden {

// Compares shapes, means, deviations and ranges of our initial parameters with the stored ones, at 5 sigma.
void CheckInitStats(const std::filesystem::path& folder, Report& report);

}  // namespace longreach::golden
