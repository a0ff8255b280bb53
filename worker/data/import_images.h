// Image sets: from folders, or generated.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "proto/base/status.h"
#include "worker/data/image_listing.h"
#include "worker/data/manifest.h"
#include "worker/data/progress.h"
#include "worker/data/shard_import.h"

namespace longreach::data {

struct ImagesImport {
  std::filesystem::path folder = {};  // The data folder.
  std::string name = {};
  std::filesystem::path source = {};
  ListingOptions listing = {};
  ShardImport shards = {};
};

// Reads a folder of class folders, as ListImages() and WriteShards() say, and returns the data set's manifest. An import of the
// same files that was interrupted is continued. ALREADY_EXISTS, and the errors of those two.
absl::StatusOr<Manifest> ImportImages(const ImagesImport& wanted, Progress& progress);

struct SyntheticImages {
  std::filesystem::path folder = {};
  std::string name = {};
  int64_t train = 4096;
  int64_t valid = 1024;
  uint32_t seed = 0;
  ShardImport shards = {};
};

// Makes images in which the class depends on two rows that are far apart: a bright mark in the top fifth, left or right, and one in
// the bottom fifth; four classes, equally likely ("left-left", "left-right", ...; first the top). Between them is noise. Either
// row alone says half of it. A function of its arguments alone, on every machine.
absl::StatusOr<Manifest> MakeSyntheticImages(const SyntheticImages& wanted, Progress& progress);

}  // namespace longreach::data
