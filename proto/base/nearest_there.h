// Where a file or folder that is not there yet would be made.
#pragma once

#include <filesystem>
#include <system_error>

namespace longreach {

// The path itself, absolute, if it is there; else the nearest above it that is.
inline std::filesystem::path NearestThere(const std::filesystem::path& path) {
  std::error_code ignored;
  std::filesystem::path there = std::filesystem::absolute(path, ignored);
  while (!std::filesystem::exists(there, ignored) && there.has_relative_path()) there = there.parent_path();
  return there;
}

}  // namespace longreach
