// Which images there are, of which class, in which split: read from the folders they lie in.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "proto/base/status.h"

namespace longreach::data {

struct ListedImage {
  std::filesystem::path file = {};
  uint32_t label = 0;
};

struct ImageListing {
  std::vector<std::string> classes = {};  // Ascending, byte by byte; the label is the index.
  std::vector<ListedImage> train, valid;
};

struct ListingOptions {
  // "FILE CLASS" lines for validation images that lie in one folder; empty: looked for by its usual names.
  std::filesystem::path valid_labels = {};
  // Where there is no validation folder: so many per cent of each class, at least one image.
  int valid_percent = 10;
};

// Reads one of these layouts:
//   DIR/train/CLASS/IMAGE and DIR/val/CLASS/IMAGE           ("valid" and "validation" too)
//   DIR/train/CLASS/IMAGE and DIR/val/IMAGE, with a label file (ILSVRC2012's)
//   DIR/CLASS/IMAGE                                          split by the SHA-256 of the images' paths below DIR
// Every file that is not hidden counts as an image; what it is shows when it is decoded. Images come in the order of class and
// name.
//
// NOT_FOUND, PERMISSION_DENIED; INVALID_ARGUMENT with the folder or the line: no images, a class without training images, a
// label missing or given twice, both "val" and "valid", a folder or link too many.
absl::StatusOr<ImageListing> ListImages(const std::filesystem::path& folder, const ListingOptions& options);

}  // namespace longreach::data
