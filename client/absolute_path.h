// A path that a user wrote, for programs that were started in other folders.
#pragma once

#include <filesystem>
#include <string_view>

#include "proto/base/status.h"

namespace longreach::client {

// The path from the root on. INVALID_ARGUMENT: there is none. FAILED_PRECONDITION: it begins in the folder that the command was called in, and that one has been removed.
// `argument`: what it was given as.
absl::StatusOr<std::filesystem::path> AbsolutePath(std::string_view argument, const std::filesystem::path& path);

}  // namespace longreach::client
