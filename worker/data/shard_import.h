// Images written shard by shard: decoded on all cores, each finished shard safe from interruptions.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "proto/base/status.h"
#include "worker/data/manifest.h"
#include "worker/data/progress.h"
#include "worker/data/resize.h"
#include "worker/data/staging.h"

namespace longreach::data {

inline constexpr int64_t kImagesPerShard = 4096;

// Image number `index` of a split, whole. Called from several threads.
struct SplitSource {
  std::string name = {};  // "train", "valid".
  int64_t images = 0;
  std::function<uint32_t(int64_t index)> label = {};
  std::function<absl::StatusOr<GrayImage>(int64_t index)> image = {};
  // What shows in a list of broken images.
  std::function<std::string(int64_t index)> describe = {};
  // Changes when one of the images [begin, end) does.
  std::function<absl::StatusOr<std::string>(int64_t begin, int64_t end)> fingerprint = {};
};

struct ShardImport {
  std::vector<ImageSize> sizes = {};
  Fit fit = Fit::kSquash;
  bool skip_broken = false;
  int threads = 0;  // 0: all cores.
};

// Writes the shards of all splits into the staging folder, but for those that an interrupted import has left there, and fills in
// the manifest's files, sizes, fit and shards, and the broken images.
// DATA_LOSS: broken images, and not asked to skip them; all are looked at first, and the first of them are in the text.
// INVALID_ARGUMENT: a split of which no image is left.
absl::Status WriteShards(const ShardImport& wanted, std::span<const SplitSource> splits, const Staging& staging, Progress& progress,
                         Manifest& manifest);

// 22x22, 22x23, 45x44 and 45x45: the tapes of the paper's lengths, with and without delimiters (docs/howto/import-data.md).
std::vector<ImageSize> DefaultSizes();
// "22x22,45x44": rows x columns. INVALID_ARGUMENT.
absl::StatusOr<std::vector<ImageSize>> ParseSizes(std::string_view text);

}  // namespace longreach::data
