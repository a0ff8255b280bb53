// Images made smaller or larger, bit for bit as the resize(..., BILINEAR) of Pillow up to version 12 (which torchvision's Resize
// calls): a triangle as wide as the reduction, so that every pixel counts; columns first, then rows, each rounded to a byte.
// Pillow 13 takes the rows of some shapes first, which changes some pixels by one level.
#pragma once

#include <span>
#include <string>

#include "proto/base/status.h"
#include "worker/data/gray_image.h"
#include "worker/data/image_set.h"

namespace longreach::data {

// What an image of another shape becomes.
enum class Fit {
  kSquash,  // All of it, its shape changed.
  kCrop,    // The largest part in its middle that has the wanted shape.
};
std::string_view Word(Fit fit);
absl::StatusOr<Fit> FitOf(std::string_view word);

// Writes the image at that size to `out`, which has size.rows * size.cols bytes. `image` is not empty.
void Resize(const GrayImage& image, ImageSize size, Fit fit, std::span<uint8_t> out);

}  // namespace longreach::data
