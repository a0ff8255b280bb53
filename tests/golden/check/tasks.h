// The task part of a folder laid out as the golden set's README says: tasks/<name>.json and task_stats.json.
#pragma once

#include <filesystem>

#include "tests/golden/check/report.h"

namespace longreach::golden {

// For every task of Table B.1: vocabularies, both length tables, and for every stored input the target and the number of valid
// positions. For task_stats.json: token and length frequencies of our sampler against the stored ones, at 5 sigma.
void CheckTasks(const std::filesystem::path& folder, Report& report);

}  // namespace longreach::golden
