#include "store/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

namespace longreach::store {

absl::StatusOr<std::unique_ptr<FileLock>> FileLock::Take(const std::filesystem::path& file) {
  const std::filesystem::path lock_file = file.string() + ".lock";
  // More than one round only when the holder before removes the file between our open and our lock.
  for (int round = 0; round < 100; ++round) {
    const int fd = open(lock_file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0) {
      return absl::PermissionDeniedError(
          fmt::format("cannot lock the store '{}': {}: {}", file.string(), lock_file.string(), std::strerror(errno)));
    }
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
      const int error = errno;
      close(fd);
      if (error != EWOULDBLOCK) {
        return absl::UnavailableError(fmt::format("cannot lock '{}': {}", lock_file.string(), std::strerror(error)));
      }
      return absl::FailedPreconditionError(fmt::format(
          "the store '{}' is held by another scheduler; stop that one, talk to it with --scheduler, or name another file",
          file.string()));
    }
    struct stat ours{};
    struct stat named{};
    if (fstat(fd, &ours) == 0 && stat(lock_file.c_str(), &named) == 0 && ours.st_ino == named.st_ino &&
        ours.st_dev == named.st_dev) {
      return std::unique_ptr<FileLock>(new FileLock(lock_file, fd));
    }
    close(fd);
  }
  return absl::UnavailableError(fmt::format("cannot lock '{}': it comes and goes", lock_file.string()));
}

FileLock::~FileLock() {
  unlink(lock_file_.c_str());  // While it is held: who opened it meanwhile finds out that it is not the named one.
  close(fd_);
}

}  // namespace longreach::store
