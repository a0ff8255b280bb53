#include "worker/data/shard.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace longreach::data {
namespace {

constexpr std::string_view kMagic = "LRIMAGE1";
constexpr size_t kFixedHeader = 16;

uint32_t ReadU32(const uint8_t* at) {
  return uint32_t{at[0]} | uint32_t{at[1]} << 8 | uint32_t{at[2]} << 16 | uint32_t{at[3]} << 24;
}

void AppendU32(std::string& out, uint32_t value) {
  for (int shift = 0; shift < 32; shift += 8) out += static_cast<char>(value >> shift & 0xff);
}

int64_t Area(const ImageSize& size) { return int64_t{size.rows} * size.cols; }

absl::Status Damaged(size_t offset, std::string_view what) {
  return absl::DataLossError(fmt::format("at byte {}: {}; import the data set anew", offset, what));
}

}  // namespace

int64_t ShardBytes(int64_t images, const std::vector<ImageSize>& sizes) {
  int64_t of_image = sizeof(uint32_t);
  for (const ImageSize& size : sizes) of_image += Area(size);
  return static_cast<int64_t>(kFixedHeader + 8 * sizes.size()) + images * of_image;
}

absl::StatusOr<ShardLayout> ParseShard(std::span<const uint8_t> bytes) {
  if (bytes.size() < kFixedHeader) return Damaged(bytes.size(), "the file ends within its header");
  if (!std::equal(kMagic.begin(), kMagic.end(), bytes.begin())) return Damaged(0, "this is no file of images");
  ShardLayout layout;
  layout.images = ReadU32(&bytes[8]);
  const size_t sizes = ReadU32(&bytes[12]);
  if (layout.images < 1 || layout.images > kMaxShardImages) {
    return Damaged(8, fmt::format("{} images; there are 1 to {}", layout.images, kMaxShardImages));
  }
  if (sizes < 1 || sizes > kMaxSizes) return Damaged(12, fmt::format("{} sizes; there are 1 to {}", sizes, kMaxSizes));
  if (bytes.size() < kFixedHeader + 8 * sizes) return Damaged(bytes.size(), "the file ends within its sizes");
  for (size_t i = 0; i < sizes; ++i) {
    const size_t at = kFixedHeader + 8 * i;
    const uint32_t rows = ReadU32(&bytes[at]);
    const uint32_t cols = ReadU32(&bytes[at + 4]);
    if (rows < 1 || rows > kMaxSide || cols < 1 || cols > kMaxSide) {
      return Damaged(at, fmt::format("an image of {} x {}; sides are 1 to {}", rows, cols, kMaxSide));
    }
    layout.sizes.push_back({static_cast<int>(rows), static_cast<int>(cols)});
  }
  // At most 2^20 images, 64 sizes and 2^24 pixels: below 2^51.
  const int64_t expected = ShardBytes(layout.images, layout.sizes);
  if (static_cast<int64_t>(bytes.size()) != expected) {
    return Damaged(bytes.size(), fmt::format("the file ends here, and its header says {}", expected));
  }
  layout.labels = kFixedHeader + 8 * sizes;
  size_t at = layout.labels + sizeof(uint32_t) * static_cast<size_t>(layout.images);
  for (const ImageSize& size : layout.sizes) {
    layout.pixels.push_back(at);
    at += static_cast<size_t>(layout.images * Area(size));
  }
  return layout;
}

uint32_t ReadLabel(const uint8_t* at) { return ReadU32(at); }

ShardBuilder::ShardBuilder(int64_t slots, std::vector<ImageSize> sizes)
    : sizes_(std::move(sizes)), labels_(static_cast<size_t>(slots), kNone) {
  for (const ImageSize& size : sizes_) pixels_.emplace_back(static_cast<size_t>(slots * Area(size)));
}

std::span<uint8_t> ShardBuilder::pixels(int64_t slot, size_t size) {
  const auto area = static_cast<size_t>(Area(sizes_[size]));
  return std::span(pixels_[size]).subspan(static_cast<size_t>(slot) * area, area);
}

void ShardBuilder::SetLabel(int64_t slot, uint32_t label) { labels_[static_cast<size_t>(slot)] = label; }

int64_t ShardBuilder::images() const {
  return std::ranges::count_if(labels_, [](int64_t label) { return label != kNone; });
}

std::string ShardBuilder::Finish() const {
  std::string out(kMagic);
  AppendU32(out, static_cast<uint32_t>(images()));
  AppendU32(out, static_cast<uint32_t>(sizes_.size()));
  for (const ImageSize& size : sizes_) {
    AppendU32(out, static_cast<uint32_t>(size.rows));
    AppendU32(out, static_cast<uint32_t>(size.cols));
  }
  for (const int64_t label : labels_) {
    if (label != kNone) AppendU32(out, static_cast<uint32_t>(label));
  }
  for (size_t size = 0; size < sizes_.size(); ++size) {
    const auto area = static_cast<size_t>(Area(sizes_[size]));
    for (size_t slot = 0; slot < labels_.size(); ++slot) {
      if (labels_[slot] == kNone) continue;
      out.append(reinterpret_cast<const char*>(pixels_[size].data()) + slot * area, area);
    }
  }
  return out;
}

}  // namespace longreach::data
