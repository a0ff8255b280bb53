// The folder models/ of a golden set: whole models through three updates.
#pragma once

#include <filesystem>

#include "tests/golden/check/report.h"

namespace longreach::golden {

// For every model: logits, loss, accuracy, every gradient, the gradient's norm and the parameters after 1 and
// 3 updates, by the engine that trains; alone, as one member of a pack of three, and as one of three in
// batched products; with `on_gpu`, for which the CUDA plugin must have found one, by the engines for it too.
void CheckModels(const std::filesystem::path& folder, bool on_gpu, Report& report);

}  // namespace longreach::golden
