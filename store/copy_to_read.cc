#include "store/copy_to_read.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "store/maintenance.h"
#include "store/sql/connection.h"

namespace longreach::store {
namespace {

constexpr int kTries = 20;
constexpr std::chrono::milliseconds kBetweenTries{100};

// SQLite's names: beside the database the log that is not in it yet, and the journal of one that was being made.
constexpr const char* kParts[] = {"", "-wal", "-journal"};
// The log's index: there while somebody has the store open, or after he was killed.
constexpr const char* kIndex = "-shm";

std::filesystem::path Part(const std::filesystem::path& file, const char* suffix) { return file.string() + suffix; }

// What changes when somebody writes.
std::string LookOf(const std::filesystem::path& file) {
  std::string look;
  for (const char* suffix : {kParts[0], kParts[1], kParts[2], kIndex}) {
    struct stat found{};
    if (stat(Part(file, suffix).c_str(), &found) != 0) found = {};
    look += fmt::format("{} {} {} {}\n", found.st_ino, found.st_size, found.st_mtim.tv_sec, found.st_mtim.tv_nsec);
  }
  return look;
}

// As a file that has the other's blocks until either is written to: where a file system can do that (XFS, Btrfs, within one of them), many copies at once take
// neither time nor room. It is then of one moment, too.
bool IsShared(const std::filesystem::path& from, const std::filesystem::path& to) {
  const int source = open(from.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // A pipe without a writer would be waited for.
  if (source < 0) return false;
  const int copy = open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
  const bool is_shared = copy >= 0 && ioctl(copy, FICLONE, source) == 0;
  if (copy >= 0) close(copy);
  close(source);
  if (copy >= 0 && !is_shared) unlink(to.c_str());
  return is_shared;
}

absl::Status CannotCopy(const std::filesystem::path& from, const std::filesystem::path& to, const std::error_code& why) {
  const std::string what = fmt::format("cannot copy '{}' to '{}' to read it: {}", from.string(), to.string(), why.message());
  return why == std::errc::no_space_on_device ? absl::ResourceExhaustedError(what + "; set TMPDIR to a folder with room for it") : absl::UnavailableError(what);
}

// Asked before: what fills a disk, or a machine's memory where TMPDIR lies there, is in the way of others long before it fails.
bool HasRoom(const std::filesystem::path& from, const std::filesystem::path& to) {
  std::error_code unknown;
  const uintmax_t bytes = std::filesystem::file_size(from, unknown);
  if (unknown) return true;
  const std::filesystem::space_info disk = std::filesystem::space(to.parent_path(), unknown);
  return unknown || bytes <= disk.available;
}

// `before`: called once it is known that there is something to copy.
absl::Status CopyPart(const std::filesystem::path& from, const std::filesystem::path& to, const std::function<void()>& before) {
  std::error_code error;
  std::filesystem::remove(to, error);
  if (!std::filesystem::exists(from, error)) return absl::OkStatus();
  if (IsShared(from, to)) return absl::OkStatus();
  if (!HasRoom(from, to)) return CannotCopy(from, to, std::make_error_code(std::errc::no_space_on_device));
  before();
  std::filesystem::copy_file(from, to, error);
  const std::error_code failed = error;
  // The copy has the mode of what may not be written.
  std::filesystem::permissions(to, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write, error);
  if (!failed) return absl::OkStatus();
  if (failed == std::errc::permission_denied) return absl::PermissionDeniedError(fmt::format("cannot read '{}': {}", from.string(), failed.message()));
  if (failed == std::errc::no_such_file_or_directory) return absl::OkStatus();  // Gone meanwhile, which a second look tells.
  return CannotCopy(from, to, failed);
}

// By SQLite's own rules, whatever is written meanwhile.
absl::Status CopyPages(const std::filesystem::path& file, const std::filesystem::path& copy) {
  ASSIGN_OR_RETURN(sql::Connection db, sql::Connection::Open(file, sql::Mode::kReadOnly));
  return CopyBeforeChange(db, copy).status();
}

}  // namespace

absl::Status CopyToRead(const std::filesystem::path& file, const std::filesystem::path& copy, const std::function<void(const std::string& line)>& say) {
  bool is_told = say == nullptr;
  const auto tell = [&] {
    if (std::exchange(is_told, true)) return;
    std::error_code unknown;
    const uintmax_t bytes = std::filesystem::file_size(file, unknown);
    say(fmt::format("copying the store '{}' ({:.0f} MB) to '{}' to look into it; the copy goes when that has ended", file.string(),
                    unknown ? 0 : static_cast<double>(bytes) / 1e6, copy.string()));
  };
  // Where it may, SQLite makes the log and its index anew, which would be ours and keep the owner from writing.
  const bool makes_nothing = faccessat(AT_FDCWD, file.parent_path().c_str(), W_OK, AT_EACCESS) != 0;
  for (int tries = 0; tries < kTries; ++tries) {
    if (tries > 0) std::this_thread::sleep_for(kBetweenTries);
    std::error_code ignored;
    std::filesystem::remove(copy, ignored);
    if (makes_nothing && std::filesystem::exists(Part(file, kIndex), ignored)) {
      tell();
      if (CopyPages(file, copy).ok()) return absl::OkStatus();
    }
    const std::string before = LookOf(file);
    for (const char* suffix : kParts) RETURN_IF_ERROR(CopyPart(Part(file, suffix), Part(copy, suffix), tell));
    if (LookOf(file) == before) return absl::OkStatus();
  }
  return absl::UnavailableError(fmt::format("the store '{}' is written to all the time, so that it cannot be copied to read it; try again later", file.string()));
}

}  // namespace longreach::store
