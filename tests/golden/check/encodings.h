// The folder encodings/ of a golden set: additions, rotations, biases and attention logits of every encoding.
#pragma once

#include <filesystem>

#include "tests/golden/check/report.h"

namespace longreach::golden {

// Runs the encodings and the attention of worker/trainer on the stored inputs, positions and parameters.
void CheckEncodings(const std::filesystem::path& folder, Report& report);

}  // namespace longreach::golden
