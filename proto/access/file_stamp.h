// What changes when a file does: to see a change without reading.
#pragma once

#include <sys/stat.h>

#include <filesystem>

namespace longreach::access {

// Of no file: all zero.
struct FileStamp {
  timespec changed{};
  ino_t inode = 0;
  off_t size = 0;

  bool operator==(const FileStamp& other) const {
    return changed.tv_sec == other.changed.tv_sec && changed.tv_nsec == other.changed.tv_nsec && inode == other.inode && size == other.size;
  }
};

inline FileStamp StampOf(const std::filesystem::path& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return {};
  // ctime and not mtime, which a copy can preserve.
  return {.changed = status.st_ctim, .inode = status.st_ino, .size = status.st_size};
}

}  // namespace longreach::access
