// JPEG, by libjpeg-turbo.
#pragma once

#include <string_view>

#include "proto/base/status.h"
#include "worker/data/gray_image.h"

namespace longreach::data {

// As DecodeGray(), for bytes that begin as a JPEG does.
absl::StatusOr<GrayImage> DecodeJpeg(std::string_view bytes);

}  // namespace longreach::data
