// A data set as the file system tells of it without reading it.
#pragma once

#include <filesystem>
#include <string>

#include "proto/base/status.h"
#include "worker/data/manifest.h"

namespace longreach::data {

// 64 hexadecimal digits of what the manifest says and, of each file, of what is another number once its bytes were written or another file has its name (device, inode,
// size, times of change). So what was found in a data set's bytes holds for as long as the stamp is the same, in all processes of a machine. That a disk gives other bytes than
// were written changes none of it. DATA_LOSS, NOT_FOUND or PERMISSION_DENIED: a file cannot be looked at.
absl::StatusOr<std::string> StampOf(const std::filesystem::path& folder, const Manifest& manifest);

}  // namespace longreach::data
