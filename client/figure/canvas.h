// A drawing of few colours: one byte a pixel, an index into a palette, and a small font.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace longreach::client {

struct Color {
  uint8_t red = 0, green = 0, blue = 0;
};

// Palette: the levels of the colour map first, then the colours of lines and text.
inline constexpr int kLevels = 250;
inline constexpr uint8_t kWhite = 250, kBlack = 251;
// All colours, by index. The levels are Viridis, in which equal steps look equal: https://bids.github.io/colormap.
std::vector<Color> Palette();
// The colour of a share of the scale; what lies beyond its ends gets theirs.
uint8_t LevelOf(double share);

class Canvas {
 public:
  // White.
  Canvas(int width, int height) : width_(width), height_(height), pixels_(static_cast<size_t>(width) * static_cast<size_t>(height), kWhite) {}

  int width() const { return width_; }
  int height() const { return height_; }
  uint8_t At(int x, int y) const { return pixels_[Index(x, y)]; }
  const uint8_t* Row(int y) const { return pixels_.data() + Index(0, y); }

  // What lies outside is left out.
  void Fill(int x, int y, int width, int height, uint8_t color);
  // The left upper corner of the text at (x, y). Characters that the font lacks are boxes.
  void Text(int x, int y, std::string_view text, int scale);

  static int TextWidth(std::string_view text, int scale) { return static_cast<int>(text.size()) * kCharacterWidth * scale; }
  static int TextHeight(int scale) { return kCharacterHeight * scale; }

 private:
  static constexpr int kCharacterWidth = 6, kCharacterHeight = 9;
  size_t Index(int x, int y) const { return static_cast<size_t>(y) * static_cast<size_t>(width_) + static_cast<size_t>(x); }

  int width_;
  int height_;
  std::vector<uint8_t> pixels_;
};

}  // namespace longreach::client
