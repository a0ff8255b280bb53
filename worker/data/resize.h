// Images made smaller or larger, bit for bit as Pillow's resize(..., BILINEAR) (which torchvision's Resize calls): a triangle as
// wide as the reduction, so that every pixel counts; columns first, then rows, each rounded to a byte.
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
