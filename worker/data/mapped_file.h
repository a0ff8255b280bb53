// A file's bytes in memory, read by the machine as they are touched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include "proto/base/status.h"

namespace longreach::data {

// Stays valid when the file is renamed or removed; a file of a data set is never written once it has its name. One that is cut off all the same ends the process where it is
// read (bus_error.h): so files that a user names, which others may be writing, are read instead.
class MappedFile {
 public:
  // NOT_FOUND, PERMISSION_DENIED or DATA_LOSS with the path.
  static absl::StatusOr<MappedFile> Open(const std::filesystem::path& file);
  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::span<const uint8_t> bytes() const { return {data_, size_}; }

 private:
  const uint8_t* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace longreach::data
