// The data sets of this machine, as `longreach-worker data list -o json` tells them: by their manifests and sizes, without reading their bytes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "client/doctor/check.h"
#include "client/doctor/disk.h"
#include "proto/base/status.h"

namespace longreach::client {

struct DataSeen {
  std::string folder;
  int data_sets = 0;
  std::vector<std::string> damaged;  // Each with its reason and what to do.
};
// INTERNAL: it is not such a document.
absl::StatusOr<DataSeen> ParseDataList(const std::string& document);

// The checks "data_folder" and "data_sets". `seen`: errors as of JudgeDevices(). `folder`: that of `seen`.
std::vector<Check> JudgeData(const absl::StatusOr<DataSeen>& seen, const FolderSeen& folder);

}  // namespace longreach::client
