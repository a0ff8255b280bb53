// A part of a file: its first bytes, of one whose sender broke off. It has no name that counts, and is removed with this object, or at the next
// start; ArtifactFiles::GoOn() makes a file in the making of it again.
#pragma once

#include <cstdint>
#include <filesystem>
#include <system_error>
#include <utility>

namespace longreach::store {

class UnfinishedFile {
 public:
  UnfinishedFile(UnfinishedFile&& other) noexcept : path_(std::exchange(other.path_, {})), bytes_(other.bytes_) {}
  UnfinishedFile& operator=(UnfinishedFile&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~UnfinishedFile() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove(path_, ignored);
  }

  int64_t bytes() const { return bytes_; }

 private:
  friend class ArtifactFiles;
  friend class ArtifactWriter;
  UnfinishedFile(std::filesystem::path path, int64_t bytes) : path_(std::move(path)), bytes_(bytes) {}

  std::filesystem::path path_;  // Empty: it is another object's now.
  int64_t bytes_;
};

}  // namespace longreach::store
