// From colours to gray.
#pragma once

#include <cstdint>

namespace longreach::data {

// ITU-R 601-2 luma in fixed point, as in Pillow.
inline uint8_t Luma(uint32_t red, uint32_t green, uint32_t blue) {
  return static_cast<uint8_t>((red * 19595 + green * 38470 + blue * 7471 + 0x8000) >> 16);
}

}  // namespace longreach::data
