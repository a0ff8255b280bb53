// PNG files, by libpng. The same drawing gives the same bytes.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "client/figure/canvas.h"
#include "proto/base/status.h"

namespace longreach::client {

// `remarks` are (keyword, text) pairs within the file. RESOURCE_EXHAUSTED: out of memory.
absl::StatusOr<std::string> EncodePng(const Canvas& canvas, const std::vector<std::pair<std::string, std::string>>& remarks);

}  // namespace longreach::client
