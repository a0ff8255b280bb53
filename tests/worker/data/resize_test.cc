// Against Pillow, bit for bit: tests/golden/images.
#include "worker/data/resize.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "tests/worker/data/support.h"

namespace longreach::data {
namespace {

TEST(ResizeTest, MakesOfEveryImageWhatPillowMakes) {
  const nlohmann::json index = nlohmann::json::parse(Golden("expected.json"));
  const std::string expected = Golden("expected.bin");
  std::set<std::string> files;
  for (const nlohmann::json& entry : index["images"]) {
    const std::string file = entry["file"];
    const ImageSize size{entry["rows"], entry["cols"]};
    SCOPED_TRACE(file + " at " + std::to_string(size.rows) + "x" + std::to_string(size.cols));
    ASSERT_OK_AND_ASSIGN(const GrayImage image, DecodeGray(Golden(file)));
    std::string pixels(static_cast<size_t>(size.rows * size.cols), '\0');

    Resize(image, size, Fit::kSquash, {reinterpret_cast<uint8_t*>(pixels.data()), pixels.size()});

    EXPECT_TRUE(pixels == expected.substr(entry["offset"], pixels.size()));
    files.insert(file);
  }
  EXPECT_EQ(files.size(), 14u);
}

GrayImage Slope(int rows, int cols) {
  GrayImage image{rows, cols, {}};
  for (int row = 0; row < rows; ++row) {
    for (int col = 0; col < cols; ++col) image.pixels.push_back(static_cast<uint8_t>(col));
  }
  return image;
}

std::vector<uint8_t> Resized(const GrayImage& image, ImageSize size, Fit fit) {
  std::vector<uint8_t> pixels(static_cast<size_t>(size.rows * size.cols));
  Resize(image, size, fit, pixels);
  return pixels;
}

TEST(ResizeTest, CropTakesTheMiddleOfTheLongerSide) {
  // 100 columns of which the middle 20, from 40 on, have the shape of the 20 rows.
  EXPECT_EQ(Resized(Slope(20, 100), {20, 20}, Fit::kCrop)[0], 40);
  EXPECT_EQ(Resized(Slope(20, 100), {20, 20}, Fit::kCrop)[19], 59);
  // Squashed, all of them count.
  EXPECT_LT(Resized(Slope(20, 100), {20, 20}, Fit::kSquash)[0], 5);
  EXPECT_GT(Resized(Slope(20, 100), {20, 20}, Fit::kSquash)[19], 94);
  // A high image loses rows, of which all are alike here.
  EXPECT_EQ(Resized(Slope(100, 20), {20, 20}, Fit::kCrop)[19], 19);
  EXPECT_EQ(Resized(Slope(3, 1), {2, 5}, Fit::kCrop).size(), 10u);
}

TEST(ResizeTest, AnImageOfTheSizeStaysAsItIs) { EXPECT_EQ(Resized(Slope(7, 9), {7, 9}, Fit::kSquash), Slope(7, 9).pixels); }

TEST(DecodeTest, EveryTruncationIsRefused) {
  for (const char* name : {"subsampled.jpg", "progressive.jpg", "gray.png", "small.png"}) {
    const std::string whole = Golden(name);
    ASSERT_OK(DecodeGray(whole));
    // A JPEG without its last marker still has all pixels.
    for (size_t length = 0; length + 2 < whole.size(); length += 1 + whole.size() / 200) {
      EXPECT_FALSE(DecodeGray(whole.substr(0, length)).ok()) << name << " cut to " << length << " of " << whole.size();
    }
  }
}

TEST(DecodeTest, ChangedBytesAreRefusedOrDecodedButNeverWorse) {
  for (const char* name : {"subsampled.jpg", "progressive.jpg", "cmyk.jpg", "palette.png", "rgba.png", "bilevel.png"}) {
    const std::string whole = Golden(name);
    uint32_t state = 1;
    for (int i = 0; i < 300; ++i) {
      std::string changed = whole;
      state = state * 1664525 + 1013904223;
      // The head has most of what a decoder can stumble over.
      const size_t at = i % 2 == 0 ? state % std::min<size_t>(changed.size(), 700) : state % changed.size();
      changed[at] = static_cast<char>(state >> 24);
      const absl::StatusOr<GrayImage> image = DecodeGray(changed);
      if (!image.ok()) continue;
      EXPECT_EQ(image->pixels.size(), static_cast<size_t>(image->rows) * static_cast<size_t>(image->cols));
    }
  }
}

TEST(DecodeTest, WhatIsNoImageIsNamed) {
  EXPECT_EQ(DecodeGray("").status().message(), "the file is empty");
  EXPECT_EQ(DecodeGray("GIF89a").status().message(), "neither JPEG nor PNG");
  EXPECT_EQ(DecodeGray("\xff\xd8\xff").status().code(), absl::StatusCode::kDataLoss);
}

TEST(DecodeTest, AnImageThatUnpacksToGigabytesIsRefusedByItsHead) {
  // A PNG's head with a million times a million pixels; its checksum is right.
  std::string head = Golden("gray.png").substr(0, 33);
  const unsigned char sides[] = {0, 0x0f, 0x42, 0x40, 0, 0x0f, 0x42, 0x40};
  std::copy(std::begin(sides), std::end(sides), head.begin() + 16);
  uint32_t crc = 0xffffffff;
  for (size_t i = 12; i < 29; ++i) {
    crc ^= static_cast<unsigned char>(head[i]);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xedb88320 : 0);
  }
  for (size_t i = 0; i < 4; ++i) head[29 + i] = static_cast<char>(~crc >> (24 - 8 * i));
  const std::string rest = Golden("gray.png").substr(33);

  EXPECT_EQ(DecodeGray(head + rest).status().code(), absl::StatusCode::kResourceExhausted) << DecodeGray(head + rest).status();
}

}  // namespace
}  // namespace longreach::data
