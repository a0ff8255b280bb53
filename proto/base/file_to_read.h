// A file whose bytes are read from wherever they are asked for.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <utility>

#include "proto/base/status.h"

namespace longreach {

// A regular file, open while this lives. It is not mapped: there a disk that fails, or a file that was cut off, is a signal that ends the
// process, and here it is DATA_LOSS. Errors name the file.
class FileToRead {
 public:
  // NOT_FOUND; DATA_LOSS: it cannot be opened, or is not a regular file.
  static absl::StatusOr<FileToRead> Open(const std::filesystem::path& file);
  ~FileToRead();
  FileToRead(FileToRead&& other) noexcept : file_(std::move(other.file_)), fd_(std::exchange(other.fd_, -1)), bytes_(other.bytes_) {}
  FileToRead& operator=(FileToRead&&) = delete;

  const std::filesystem::path& file() const { return file_; }
  // How many it had when it was opened.
  uint64_t bytes() const { return bytes_; }
  // As many bytes as `to` has room for, from `begin` on. DATA_LOSS: they are not there, or cannot be read.
  absl::Status Read(uint64_t begin, std::span<char> to) const;

 private:
  FileToRead(std::filesystem::path file, int fd) : file_(std::move(file)), fd_(fd) {}

  std::filesystem::path file_;
  int fd_;
  uint64_t bytes_ = 0;
};

}  // namespace longreach
