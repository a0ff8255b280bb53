// Which file a name stands for: another one may have come in its place.
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <optional>

namespace longreach::service {

struct FileId {
  dev_t device = 0;
  ino_t inode = 0;
  friend bool operator==(const FileId&, const FileId&) = default;
};

// Of the name itself, where it is a link; nothing: there is none.
inline std::optional<FileId> FileIdentity(const std::filesystem::path& path) {
  struct stat found {};
  if (lstat(path.c_str(), &found) != 0) return std::nullopt;
  return FileId{.device = found.st_dev, .inode = found.st_ino};
}

}  // namespace longreach::service
