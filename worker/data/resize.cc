#include "worker/data/resize.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace longreach::data {
namespace {

// Bits behind the point of a weight: 8 are left for the value and 2 for sums that overshoot.
constexpr int kBits = 32 - 8 - 2;

// The weights with which `count` inputs, from `first` on, make one output.
struct Weights {
  int first = 0;
  std::vector<int32_t> of;
};

std::vector<Weights> WeightsOf(int in, int out) {
  const double scale = static_cast<double>(in) / out;
  const double width = std::max(scale, 1.0);
  const double per_input = 1.0 / width;
  std::vector<Weights> all(static_cast<size_t>(out));
  std::vector<double> weights;
  for (int i = 0; i < out; ++i) {
    const double center = (i + 0.5) * scale;
    const int first = std::max(static_cast<int>(center - width + 0.5), 0);
    const int end = std::min(static_cast<int>(center + width + 0.5), in);
    weights.clear();
    double sum = 0;
    for (int x = first; x < end; ++x) {
      const double distance = std::abs((x - center + 0.5) * per_input);
      weights.push_back(distance < 1.0 ? 1.0 - distance : 0.0);
      sum += weights.back();
    }
    all[static_cast<size_t>(i)].first = first;
    for (const double weight : weights) {
      const double share = sum != 0 ? weight / sum : weight;
      all[static_cast<size_t>(i)].of.push_back(static_cast<int32_t>(0.5 + share * (1 << kBits)));
    }
  }
  return all;
}

uint8_t Rounded(int32_t sum) { return static_cast<uint8_t>(std::clamp(sum >> kBits, 0, 255)); }

// The part of an image that is used.
struct Box {
  int row = 0;
  int col = 0;
  int rows = 0;
  int cols = 0;
};

Box BoxOf(const GrayImage& image, ImageSize size, Fit fit) {
  Box box{0, 0, image.rows, image.cols};
  if (fit == Fit::kSquash) return box;
  // cols / rows = size.cols / size.rows, rounded to whole pixels; the longer side gives way.
  const auto rounded = [](int64_t length, int64_t wanted, int64_t other) {
    return static_cast<int>(std::max<int64_t>(1, (2 * length * wanted + other) / (2 * other)));
  };
  const int cols = rounded(image.rows, size.cols, size.rows);
  if (cols <= image.cols) {
    box.cols = cols;
  } else {
    box.rows = std::min(image.rows, rounded(image.cols, size.rows, size.cols));
  }
  box.row = (image.rows - box.rows) / 2;
  box.col = (image.cols - box.cols) / 2;
  return box;
}

}  // namespace

std::string_view Word(Fit fit) { return fit == Fit::kSquash ? "squash" : "crop"; }

absl::StatusOr<Fit> FitOf(std::string_view word) {
  if (word == "squash") return Fit::kSquash;
  if (word == "crop") return Fit::kCrop;
  return absl::InvalidArgumentError(fmt::format("'{}' is neither 'squash' nor 'crop'", word));
}

void Resize(const GrayImage& image, ImageSize size, Fit fit, std::span<uint8_t> out) {
  const Box box = BoxOf(image, size, fit);
  const std::vector<Weights> of_cols = WeightsOf(box.cols, size.cols);
  const std::vector<Weights> of_rows = WeightsOf(box.rows, size.rows);
  constexpr int32_t kHalf = 1 << (kBits - 1);

  const auto cols = static_cast<size_t>(size.cols);
  std::vector<uint8_t> narrow(static_cast<size_t>(box.rows) * cols);
  for (int row = 0; row < box.rows; ++row) {
    const uint8_t* from = image.pixels.data() + static_cast<size_t>(box.row + row) * static_cast<size_t>(image.cols) + box.col;
    uint8_t* to = narrow.data() + static_cast<size_t>(row) * cols;
    for (size_t col = 0; col < cols; ++col) {
      const Weights& weights = of_cols[col];
      int32_t sum = kHalf;
      for (size_t i = 0; i < weights.of.size(); ++i) sum += weights.of[i] * from[static_cast<size_t>(weights.first) + i];
      to[col] = Rounded(sum);
    }
  }
  std::vector<int32_t> sums(cols);
  for (size_t row = 0; row < static_cast<size_t>(size.rows); ++row) {
    const Weights& weights = of_rows[row];
    std::ranges::fill(sums, kHalf);
    for (size_t i = 0; i < weights.of.size(); ++i) {
      const uint8_t* from = narrow.data() + (static_cast<size_t>(weights.first) + i) * cols;
      for (size_t col = 0; col < cols; ++col) sums[col] += weights.of[i] * from[col];
    }
    for (size_t col = 0; col < cols; ++col) out[row * cols + col] = Rounded(sums[col]);
  }
}

}  // namespace longreach::data
