#include "client/new_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "client/absolute_path.h"
#include "client/errors.h"
#include "client/output/text.h"

namespace longreach::client {
namespace {

absl::Status Refused(const std::filesystem::path& path, int number) {
  if (number == EEXIST) {
    std::error_code ignored;
    const std::string_view what = std::filesystem::is_directory(path, ignored) ? "folder" : "file";
    return Error(absl::StatusCode::kAlreadyExists, fmt::format("there is a {} {} already; it was left alone", what, Printable(path.string())),
                 "choose another name, or move it away");
  }
  return Error(absl::StatusCode::kFailedPrecondition, fmt::format("cannot write {}: {}", Printable(path.string()), std::strerror(number)),
               number == ENOENT ? "make its folder, or name a file elsewhere" : "");
}

absl::Status Write(const std::filesystem::path& path, std::string_view text, mode_t mode) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (fd < 0) return Refused(path, errno);
  int failed = 0;
  while (!text.empty() && failed == 0) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written < 0 && errno != EINTR) failed = errno;
    if (written > 0) text.remove_prefix(static_cast<size_t>(written));
  }
  if (failed == 0 && fsync(fd) != 0) failed = errno;
  close(fd);
  if (failed == 0) return absl::OkStatus();
  unlink(path.c_str());
  return Refused(path, failed);
}

// Whoever may read `path` may read `beside`.
bool GiveRightsOf(const std::filesystem::path& path, const std::filesystem::path& beside) {
  struct stat old;
  if (stat(path.c_str(), &old) != 0) return errno == ENOENT;
  struct stat made;
  if (stat(beside.c_str(), &made) != 0) return false;
  const bool same_owner = old.st_uid == made.st_uid && old.st_gid == made.st_gid;
  if (!same_owner && chown(beside.c_str(), old.st_uid, old.st_gid) != 0) return false;
  return chmod(beside.c_str(), old.st_mode & 07777) == 0;
}

}  // namespace

absl::Status WriteNewFile(const std::filesystem::path& path, std::string_view text) { return Write(path, text, S_IRUSR | S_IWUSR); }

absl::Status WriteNewFileForAll(const std::filesystem::path& path, std::string_view bytes) {
  return Write(path, bytes, S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH);
}

absl::Status RenameToNewFile(const std::filesystem::path& from, const std::filesystem::path& path) {
  if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) == 0) return absl::OkStatus();
  if (errno != EINVAL) return Refused(path, errno);
  // NFS has no such rename; a second name never takes the place of another file.
  if (link(from.c_str(), path.c_str()) != 0) return Refused(path, errno);
  unlink(from.c_str());
  return absl::OkStatus();
}

absl::Status CheckNewFile(const std::filesystem::path& path) {
  struct stat found;
  if (lstat(path.c_str(), &found) == 0) return Refused(path, EEXIST);
  if (errno != ENOENT) return Refused(path, errno);
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  return ::access(folder.c_str(), W_OK) == 0 ? absl::OkStatus() : Refused(path, errno);
}

absl::StatusOr<std::filesystem::path> CheckedNewFolder(std::string_view argument, const std::filesystem::path& folder) {
  ASSIGN_OR_RETURN(std::filesystem::path target, AbsolutePath(argument, folder));
  target = target.lexically_normal();
  if (!target.has_filename()) target = target.parent_path();
  RETURN_IF_ERROR(CheckNewFile(target));
  return target;
}

absl::Status ReplaceFile(const std::filesystem::path& link, std::string_view text) {
  // What a link points to is replaced, not the link.
  std::error_code error;
  std::filesystem::path path = std::filesystem::weakly_canonical(link, error);
  if (error) path = link;
  // One to a file that is still to be made.
  if (std::filesystem::is_symlink(path, error)) path = path.parent_path() / std::filesystem::read_symlink(path, error);
  std::filesystem::path beside = path;
  beside += fmt::format(".new-{}", getpid());
  RETURN_IF_ERROR(WriteNewFile(beside, text));
  if (GiveRightsOf(path, beside) && rename(beside.c_str(), path.c_str()) == 0) return absl::OkStatus();
  const int failed = errno;
  unlink(beside.c_str());
  return Error(absl::StatusCode::kFailedPrecondition,
               fmt::format("cannot replace {} by a file of the same owner and rights: {}", Printable(path.string()), std::strerror(failed)));
}

}  // namespace longreach::client
