// The letters that figures are labelled with: small letters, digits and some signs, 5 by 9 pixels.
#pragma once

#include <array>
#include <cstdint>

namespace longreach::client {

inline constexpr int kGlyphRows = 9, kGlyphColumns = 5;

struct Glyph {
  char character;
  // From the top; of each the lowest five bits, the leftmost pixel first.
  std::array<uint8_t, kGlyphRows> rows;
};

// A box for characters that the font lacks. Capitals are drawn as small letters.
const Glyph& GlyphOf(char character);

}  // namespace longreach::client
