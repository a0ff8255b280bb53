#include "worker/data/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "worker/data/bus_error.h"
#include "worker/data/files.h"

namespace longreach::data {

absl::StatusOr<MappedFile> MappedFile::Open(const std::filesystem::path& file) {
  const int descriptor = open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // A pipe without a writer would be waited for.
  if (descriptor < 0) return SystemError("open", file, errno);
  struct Closer {
    int descriptor;
    ~Closer() { close(descriptor); }
  } closer{descriptor};
  struct stat status {};
  if (fstat(descriptor, &status) != 0) return SystemError("look at", file, errno);
  if (!S_ISREG(status.st_mode)) return absl::FailedPreconditionError(fmt::format("{} is not a regular file", file.string()));
  MappedFile mapped;
  if (status.st_size == 0) return mapped;
  void* data = mmap(nullptr, static_cast<size_t>(status.st_size), PROT_READ, MAP_SHARED, descriptor, 0);
  if (data == MAP_FAILED) return SystemError("map", file, errno);
  mapped.data_ = static_cast<const uint8_t*>(data);
  mapped.size_ = static_cast<size_t>(status.st_size);
  NoteMapped(mapped.bytes(), file);
  return mapped;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ == nullptr) return;
  NoteUnmapped(data_);
  munmap(const_cast<uint8_t*>(data_), size_);
}

}  // namespace longreach::data
