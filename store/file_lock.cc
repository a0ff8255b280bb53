#include "store/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string_view>
#include <thread>

#include <fmt/format.h>

#include "store/database_file.h"

namespace longreach::store {
namespace {

constexpr std::string_view kSoonFreeLine = "soon free\n";

struct Words {
  std::string address;  // Empty: nothing yet, or something else lies there.
  bool soon_free = false;
};

// What its holder said.
Words Said(int fd) {
  char text[256];
  const ssize_t size = pread(fd, text, sizeof text, 0);
  const std::string said(text, size < 0 ? 0 : static_cast<size_t>(size));
  const size_t end = said.find('\n');
  if (end == std::string::npos) return {};
  const bool plain = std::all_of(said.begin(), said.begin() + static_cast<std::ptrdiff_t>(end), [](char c) { return c > ' ' && c < 127; });
  if (!plain) return {};
  return {.address = said.substr(0, end), .soon_free = said.substr(end + 1) == kSoonFreeLine};
}

}  // namespace

absl::StatusOr<std::unique_ptr<FileLock>> FileLock::Take(const std::filesystem::path& file) {
  const std::filesystem::path lock_file = file.string() + ".lock";
  // More than one round only when the holder before removes the file between our open and our lock.
  for (int round = 0; round < 100; ++round) {
    const int fd = open(lock_file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0) {
      const int reason = errno;
      const std::string why = std::strerror(reason);
      std::error_code ignored;
      if (!std::filesystem::exists(file, ignored)) {
        return absl::PermissionDeniedError(fmt::format("cannot make the store '{}': {}: {}; name a file where you may write", file.string(), lock_file.string(), why));
      }
      if (reason == EACCES || reason == EPERM || reason == EROFS) return MayNotBeWritten(file, fmt::format("{}: {}", lock_file.string(), why));
      return absl::UnavailableError(fmt::format("cannot lock the store '{}': {}: {}", file.string(), lock_file.string(), why));
    }
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
      const int error = errno;
      const auto [address, soon_free] = Said(fd);
      close(fd);
      if (error != EWOULDBLOCK) {
        return absl::UnavailableError(fmt::format("cannot lock '{}': {}", lock_file.string(), std::strerror(error)));
      }
      absl::Status held = absl::FailedPreconditionError(fmt::format(
          "the store '{}' is held by another scheduler{}; {}, talk to it with --scheduler{}, or name another file", file.string(), address.empty() ? "" : ", at " + address,
          soon_free ? "it is that of a command, as 'longreach store check': try again when that has ended" : "stop that one", address.empty() ? "" : " " + address));
      held.SetPayload(kHeldAt, absl::Cord(address));
      if (soon_free) held.SetPayload(kSoonFree, absl::Cord());
      return held;
    }
    struct stat ours{};
    struct stat named{};
    if (fstat(fd, &ours) == 0 && stat(lock_file.c_str(), &named) == 0 && ours.st_ino == named.st_ino &&
        ours.st_dev == named.st_dev) {
      std::unique_ptr<FileLock> lock(new FileLock(lock_file, fd));
      lock->Say("");  // Not where a holder listened that was killed.
      RETURN_IF_ERROR(lock->LockItself(file));
      return lock;
    }
    close(fd);
  }
  return absl::UnavailableError(fmt::format("cannot lock '{}': it comes and goes", lock_file.string()));
}

absl::Status FileLock::LockItself(const std::filesystem::path& file) {
  constexpr off_t kFarBehind = off_t{1} << 40;  // SQLite locks bytes at 1 GiB.
  if (itself_ >= 0) return absl::OkStatus();
  itself_ = open(file.c_str(), O_RDWR | O_CLOEXEC);
  if (itself_ < 0) return absl::OkStatus();  // Who opens it next says why it cannot be had.
  struct flock range {};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  range.l_start = kFarBehind;
  range.l_len = 1;
  // A holder that was killed loses FILE.lock a moment before this one.
  for (int tries = 0; tries < 50; ++tries) {
    if (tries > 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    // Of the descriptor and not of the process. A file system without such locks has FILE.lock alone.
    if (fcntl(itself_, F_OFD_SETLK, &range) == 0 || (errno != EAGAIN && errno != EACCES)) return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      fmt::format("the store '{}' is held by another scheduler under another name: it has a hard link, or was moved, or lost its .lock, while it was open; "
                  "stop that one first",
                  file.string()));
}

void FileLock::Say(const std::string& address, bool soon_free) {
  const std::string lines = fmt::format("{}\n{}", address, soon_free ? kSoonFreeLine : "");
  // Without it, who is refused is told less.
  if (ftruncate(fd_, 0) != 0 || pwrite(fd_, lines.data(), lines.size(), 0) < 0) return;
}

FileLock::~FileLock() {
  if (itself_ >= 0) close(itself_);  // First: whoever has FILE.lock would take it for that of another name.
  unlink(lock_file_.c_str());  // While it is held: who opened it meanwhile finds out that it is not the named one.
  close(fd_);
}

LockToWrite LockToWrite::Take(const std::filesystem::path& file) {
  absl::StatusOr<std::unique_ptr<FileLock>> lock = FileLock::Take(file);
  if (!lock.ok()) return {.status = lock.status(), .lock = nullptr};
  return {.status = RefuseWhatMayNotBeWritten(file), .lock = *std::move(lock)};
}

}  // namespace longreach::store
