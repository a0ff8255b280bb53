// The store's own calls of the operating system (artifact files, the lock, backups): the linker leads them here (--wrap), so that
// they fail as planned (injector.h) and are traced (trace.h). SQLite's calls go by its VFS (faulty_vfs.h).
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <filesystem>
#include <string>

#include "tests/faults/storage/injector.h"
#include "tests/faults/storage/trace.h"

namespace longreach::faults {
namespace {

// True: the call fails, and errno says why.
bool Struck() {
  const std::optional<Harm> harm = Strike(Layer::kCalls);
  if (harm) errno = ErrnoOf(*harm);
  return harm.has_value();
}

bool InTrace(const char* path, std::string& relative) { return longreach::faults::InTrace(std::string_view(path), relative); }

// The traced folder of an open descriptor.
bool FolderOf(int fd, std::string& relative) {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd), error);
  return !error && std::filesystem::is_directory(path, error) && InTrace(path.c_str(), relative);
}

bool IsTraced(int fd) {
  std::error_code error;
  std::string ignored;
  const std::filesystem::path path = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd), error);
  return !error && InTrace(path.c_str(), ignored);
}

}  // namespace

extern "C" {

int __real_open(const char* path, int flags, mode_t mode);
ssize_t __real_read(int fd, void* to, size_t bytes);
ssize_t __real_write(int fd, const void* from, size_t bytes);
int __real_fsync(int fd);
int __real_rename(const char* from, const char* to);
int __real_link(const char* from, const char* to);
int __real_unlink(const char* path);
int __real_mkdir(const char* path, mode_t mode);

int __wrap_open(const char* path, int flags, ...) {
  mode_t mode = 0;
  if ((flags & O_CREAT) != 0) {
    va_list arguments;
    va_start(arguments, flags);
    mode = va_arg(arguments, mode_t);
    va_end(arguments);
  }
  if (Struck()) return -1;
  std::string relative;
  const bool is_new = (flags & O_CREAT) != 0 && InTrace(path, relative) && access(path, F_OK) != 0;
  const int fd = __real_open(path, flags, mode);
  if (fd >= 0 && is_new) Note({.kind = Step::Kind::kCreate, .file = FileNumber(fd), .path = relative});
  return fd;
}

ssize_t __wrap_read(int fd, void* to, size_t bytes) { return Struck() ? -1 : __real_read(fd, to, bytes); }

ssize_t __wrap_write(int fd, const void* from, size_t bytes) {
  if (const auto harm = Strike(Layer::kCalls)) {
    if (*harm == Harm::kFull && bytes > 1) (void)!__real_write(fd, from, bytes / 2);
    errno = ErrnoOf(*harm);
    return -1;
  }
  const off_t offset = Tracing() ? lseek(fd, 0, SEEK_CUR) : 0;
  const ssize_t written = __real_write(fd, from, bytes);
  if (written > 0 && Tracing() && IsTraced(fd)) {
    Note({.kind = Step::Kind::kWrite, .file = FileNumber(fd), .offset = offset,
          .bytes = std::string(static_cast<const char*>(from), static_cast<size_t>(written))});
  }
  return written;
}

int __wrap_fsync(int fd) {
  if (Struck()) return -1;
  if (!Tracing()) return __real_fsync(fd);
  std::string relative;
  if (FolderOf(fd, relative)) {
    Note({.kind = Step::Kind::kSyncFolder, .path = relative});
  } else if (IsTraced(fd)) {
    Note({.kind = Step::Kind::kSync, .file = FileNumber(fd)});
  }
  return 0;
}

int __wrap_rename(const char* from, const char* to) {
  if (Struck()) return -1;
  const int result = __real_rename(from, to);
  std::string old_path, new_path;
  if (result == 0 && InTrace(from, old_path) && InTrace(to, new_path)) {
    Note({.kind = Step::Kind::kRename, .path = old_path, .to = new_path});
  }
  return result;
}

int __wrap_link(const char* from, const char* to) {
  if (Struck()) return -1;
  const int result = __real_link(from, to);
  std::string old_path, new_path;
  if (result == 0 && InTrace(from, old_path) && InTrace(to, new_path)) {
    Note({.kind = Step::Kind::kLink, .path = old_path, .to = new_path});
  }
  return result;
}

int __wrap_unlink(const char* path) {
  if (Struck()) return -1;
  const int result = __real_unlink(path);
  std::string relative;
  if (result == 0 && InTrace(path, relative)) Note({.kind = Step::Kind::kRemove, .path = relative});
  return result;
}

int __wrap_mkdir(const char* path, mode_t mode) {
  if (Struck()) return -1;
  const int result = __real_mkdir(path, mode);
  std::string relative;
  if (result == 0 && InTrace(path, relative)) Note({.kind = Step::Kind::kMakeFolder, .path = relative});
  return result;
}

}  // extern "C"
}  // namespace longreach::faults
