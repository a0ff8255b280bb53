// Data sets of files that are kept as they are.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "proto/base/status.h"
#include "worker/data/manifest.h"
#include "worker/data/progress.h"

namespace longreach::data {

struct WholeFile {
  std::filesystem::path from;
  std::string name;  // In the data set.
};

// Copies the files, or with `link` makes hard links, and publishes the data set `name`, whose manifest then names them. `check` may refuse
// the file of that number before it is taken, and may add to the manifest. What fails leaves nothing. Errors of Staging; INVALID_ARGUMENT: a link to another
// file system; NOT_FOUND; DATA_LOSS: a file cannot be read to its end; RESOURCE_EXHAUSTED.
absl::StatusOr<Manifest> ImportWholeFiles(const std::filesystem::path& folder, const std::string& name, const std::vector<WholeFile>& files, bool link,
                                          const std::function<absl::Status(size_t number)>& check, Manifest& manifest, Progress& progress);

}  // namespace longreach::data
