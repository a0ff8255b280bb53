// The golden set of LLaMA-type models without position encoding: models, cases, frequencies.
#pragma once

#include <filesystem>

#include "tests/golden/check/report.h"

namespace longreach::golden {

// Whether a folder is laid out as that set.
bool IsNopeSet(const std::filesystem::path& folder);

// Checks all that is known of the set, with models on the GPU too if there is one, and names each file of the folder that no check has read
// as not covered.
void CheckNope(const std::filesystem::path& folder, bool on_gpu, Report& report);

}  // namespace longreach::golden
