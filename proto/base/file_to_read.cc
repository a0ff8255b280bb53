#include "proto/base/file_to_read.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "proto/base/text.h"

namespace longreach {

namespace {

absl::Status Cannot(std::string_view what, const std::filesystem::path& file) {
  const int error = errno;
  return absl::DataLossError(Text("cannot ", what, " ", file.string(), ": ", std::strerror(error)));
}

}  // namespace

absl::StatusOr<FileToRead> FileToRead::Open(const std::filesystem::path& file) {
  // A pipe without a writer would be waited for.
  const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    if (errno == ENOENT || errno == ENOTDIR) return absl::NotFoundError(Text("no file ", file.string()));
    return Cannot("open", file);
  }
  FileToRead opened(file, fd);
  struct stat status {};
  if (::fstat(fd, &status) != 0) return Cannot("look at", file);
  if (!S_ISREG(status.st_mode)) return absl::DataLossError(Text(file.string(), " is not a regular file"));
  opened.bytes_ = static_cast<uint64_t>(status.st_size);
  return opened;
}

FileToRead::~FileToRead() {
  if (fd_ >= 0) ::close(fd_);
}

absl::Status FileToRead::Read(uint64_t begin, std::span<char> to) const {
  while (!to.empty()) {
    const ssize_t got = ::pread(fd_, to.data(), to.size(), static_cast<off_t>(begin));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Cannot("read", file_);
    if (got == 0) return absl::DataLossError(Text(file_.string(), ": ends before its byte ", begin, ": it was cut off meanwhile"));
    begin += static_cast<uint64_t>(got);
    to = to.subspan(static_cast<size_t>(got));
  }
  return absl::OkStatus();
}

}  // namespace longreach
