// The folder vectors/ of the golden set of decoder and encoder-decoder.
#pragma once

#include <filesystem>

#include "tests/golden/check/report.h"

namespace longreach::golden {

// For every file: logits, loss and every gradient, by the engine that trains; alone, as one member of a pack of three, and as
// one of three in batched products (as on a GPU).
void CheckLanguage(const std::filesystem::path& folder, Report& report);

}  // namespace longreach::golden
