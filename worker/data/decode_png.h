// PNG, by libpng.
#pragma once

#include <string_view>

#include "proto/base/status.h"
#include "worker/data/gray_image.h"

namespace longreach::data {

// As DecodeGray(), for bytes that begin as a PNG does.
absl::StatusOr<GrayImage> DecodePng(std::string_view bytes);

}  // namespace longreach::data
