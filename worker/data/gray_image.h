// A decoded image: one byte for each pixel.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "proto/base/status.h"

namespace longreach::data {

struct GrayImage {
  int rows = 0;
  int cols = 0;
  std::vector<uint8_t> pixels;  // Row by row.
};

// More pixels than this are refused: an image that unpacks to gigabytes.
inline constexpr int64_t kMaxPixels = 178'956'970;

// Decodes a JPEG or a PNG, by what its bytes are and not by its name, as Pillow's convert('RGB').convert('L') does:
// luma = (19595 R + 38470 G + 7471 B + 2^15) >> 16. CMYK is taken as Adobe writes it (inverted), alpha is dropped, of 16 bits
// the upper 8 are taken; the orientation in EXIF data is not applied.
// DATA_LOSS: neither of the two, damaged or cut off. RESOURCE_EXHAUSTED: over kMaxPixels.
absl::StatusOr<GrayImage> DecodeGray(std::string_view bytes);

}  // namespace longreach::data
