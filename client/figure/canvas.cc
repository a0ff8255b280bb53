#include "client/figure/canvas.h"

#include <algorithm>
#include <cmath>

#include "client/figure/font.h"

namespace longreach::client {
namespace {

// Viridis at every tenth; between them in a straight line.
constexpr Color kViridis[] = {{68, 1, 84},    {72, 36, 117},  {65, 68, 135},  {53, 95, 141},  {42, 120, 142}, {33, 145, 140},
                              {34, 168, 132}, {68, 191, 112}, {122, 209, 81}, {189, 223, 38}, {253, 231, 37}};
constexpr int kParts = static_cast<int>(std::size(kViridis)) - 1;

uint8_t Between(uint8_t from, uint8_t to, double share) { return static_cast<uint8_t>(std::lround(from + (to - from) * share)); }

}  // namespace

std::vector<Color> Palette() {
  std::vector<Color> colors;
  for (int level = 0; level < kLevels; ++level) {
    const double at = static_cast<double>(level) / (kLevels - 1) * kParts;
    const int part = std::min(static_cast<int>(at), kParts - 1);
    const Color &from = kViridis[part], &to = kViridis[part + 1];
    colors.push_back({Between(from.red, to.red, at - part), Between(from.green, to.green, at - part), Between(from.blue, to.blue, at - part)});
  }
  colors.insert(colors.end(), {{255, 255, 255}, {0, 0, 0}});
  return colors;
}

uint8_t LevelOf(double share) { return static_cast<uint8_t>(std::lround(std::clamp(share, 0.0, 1.0) * (kLevels - 1))); }

void Canvas::Fill(int x, int y, int width, int height, uint8_t color) {
  const int left = std::max(x, 0), right = std::min(x + width, width_);
  for (int row = std::max(y, 0); row < std::min(y + height, height_); ++row) {
    for (int column = left; column < right; ++column) pixels_[Index(column, row)] = color;
  }
}

void Canvas::Text(int x, int y, std::string_view text, int scale) {
  for (const char c : text) {
    const Glyph& glyph = GlyphOf(c);
    for (int row = 0; row < kGlyphRows; ++row) {
      for (int column = 0; column < kGlyphColumns; ++column) {
        const bool on = (glyph.rows[static_cast<size_t>(row)] >> (kGlyphColumns - 1 - column) & 1) != 0;
        if (on) Fill(x + column * scale, y + row * scale, scale, scale, kBlack);
      }
    }
    x += kCharacterWidth * scale;
  }
}

}  // namespace longreach::client
