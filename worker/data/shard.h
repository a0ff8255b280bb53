// A file of images: labels, then the pixels of all images at each size. Little-endian, nothing aligned:
//
//   8 bytes  "LRIMAGE1"
//   u32      images, at least 1
//   u32      sizes, 1 to kMaxSizes
//   u32 u32  rows and columns, for each size
//   u32      label, for each image
//   bytes    for each size: for each image: rows * columns pixels
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "proto/base/status.h"
#include "worker/data/image_set.h"

namespace longreach::data {

inline constexpr int kMaxSide = 4096;
inline constexpr size_t kMaxSizes = 64;
inline constexpr int64_t kMaxShardImages = 1 << 20;

// The length of a shard's file.
int64_t ShardBytes(int64_t images, const std::vector<ImageSize>& sizes);

struct ShardLayout {
  int64_t images = 0;
  std::vector<ImageSize> sizes;
  size_t labels = 0;           // Offset.
  std::vector<size_t> pixels;  // Offset for each size.
};

// DATA_LOSS with the offset: not a shard, or not as long as its header says.
absl::StatusOr<ShardLayout> ParseShard(std::span<const uint8_t> bytes);

// The label that lies there.
uint32_t ReadLabel(const uint8_t* at);

// Gathers images in memory. Slots are filled in any order, each by one thread.
class ShardBuilder {
 public:
  ShardBuilder(int64_t slots, std::vector<ImageSize> sizes);

  // Where the pixels of a slot at a size go.
  std::span<uint8_t> pixels(int64_t slot, size_t size);
  // A slot that is not set is left out.
  void SetLabel(int64_t slot, uint32_t label);

  int64_t images() const;
  std::string Finish() const;

 private:
  static constexpr int64_t kNone = -1;

  std::vector<ImageSize> sizes_;
  std::vector<int64_t> labels_;
  std::vector<std::vector<uint8_t>> pixels_;  // For each size.
};

}  // namespace longreach::data
