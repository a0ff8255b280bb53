// A set of labelled grayscale images, open for reading.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "proto/base/status.h"
#include "worker/data/mapped_file.h"

namespace longreach::data {

struct ImageSize {
  int rows = 0;
  int cols = 0;
  friend bool operator==(const ImageSize&, const ImageSize&) = default;
};

// All images of one split at one size. A light value: copy it freely; it must not outlive its ImageSet.
class ImageView {
 public:
  // Row by row, rows * cols bytes, 0 black to 255 white. `image` in [0, count()).
  std::span<const uint8_t> pixels(int64_t image) const;
  // In [0, classes). `image` in [0, count()).
  int label(int64_t image) const;
  int64_t count() const { return count_; }
  ImageSize size() const { return size_; }

 private:
  friend class ImageSet;
  // A run of images that lie in one file.
  struct Run {
    int64_t first = 0;
    const uint8_t* labels = nullptr;  // uint32, little-endian, not aligned.
    const uint8_t* pixels = nullptr;
  };
  const Run& RunOf(int64_t image) const;

  std::vector<Run> runs_;  // Ascending by `first`, which starts at 0.
  int64_t count_ = 0;
  ImageSize size_;
};

// Read-only and shared freely between threads.
class ImageSet {
 public:
  // As TextCorpus::Open(). Reads the header of each shard beside the manifest.
  static absl::StatusOr<ImageSet> Open(const std::filesystem::path& folder, const std::string& name, const std::string& sha256);

  // Splits by number of images; both are never empty.
  int64_t train_count() const { return train_.count; }
  int64_t valid_count() const { return valid_.count; }
  // Names of the classes; a label is an index into them.
  const std::vector<std::string>& classes() const { return classes_; }
  // The sizes that were kept, in the order of the import.
  const std::vector<ImageSize>& sizes() const { return sizes_; }
  const std::string& sha256() const { return sha256_; }

  // FAILED_PRECONDITION: the set was imported without some of these sizes; the text names those there are, all that are missing, and
  // what to do: an import that keeps all of `wanted`.
  absl::Status HasSizes(const std::vector<ImageSize>& wanted) const;

  // FAILED_PRECONDITION: as HasSizes() of this one.
  absl::StatusOr<ImageView> Train(ImageSize size) const;
  absl::StatusOr<ImageView> Valid(ImageSize size) const;

 private:
  struct Shard {
    MappedFile file;
    int64_t first = 0;
    int64_t count = 0;
  };
  struct Split {
    std::vector<Shard> shards;
    int64_t count = 0;
  };
  ImageSet() = default;
  absl::StatusOr<ImageView> View(const Split& split, ImageSize size) const;

  Split train_, valid_;
  std::vector<ImageSize> sizes_;
  std::vector<std::string> classes_;
  std::string name_;
  std::string sha256_;
};

}  // namespace longreach::data
