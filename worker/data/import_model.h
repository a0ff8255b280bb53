// A published model's folder becomes a data set: its files, whole, with their hashes. What is in them is for others to check.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "proto/base/status.h"
#include "worker/data/manifest.h"
#include "worker/data/progress.h"

namespace longreach::data {

struct ModelImport {
  std::filesystem::path folder;    // The machine's data folder.
  std::string name;
  std::filesystem::path source;    // The model's folder.
  std::vector<std::string> files;  // Those of it that belong to the model; links in it are followed.
  std::string description;
  bool nope = false;
  std::vector<std::string> skipped = {};  // What of it is left out, with the reason.
  // Hard links in place of copies: no second copy on the disk, but who changes a file in place changes the data set too.
  bool link = false;
};

// ALREADY_EXISTS; INVALID_ARGUMENT: a link across file systems; NOT_FOUND, PERMISSION_DENIED, RESOURCE_EXHAUSTED, DATA_LOSS with the
// file.
absl::StatusOr<Manifest> ImportModel(const ModelImport& wanted, Progress& progress);

}  // namespace longreach::data
