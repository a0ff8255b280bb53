#include "client/new_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "client/errors.h"
#include "client/output/text.h"

namespace longreach::client {

absl::Status WriteNewFile(const std::filesystem::path& path, std::string_view text) {
  const auto error = [&path](int number) {
    if (number == EEXIST) {
      return Error(absl::StatusCode::kAlreadyExists, fmt::format("there is a file {} already; it was left alone", Printable(path.string())),
                   "choose another name, or move it away");
    }
    return Error(absl::StatusCode::kFailedPrecondition,
                 fmt::format("cannot write {}: {}", Printable(path.string()), std::strerror(number)));
  };
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (fd < 0) return error(errno);
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
  return error(failed);
}

absl::Status ReplaceFile(const std::filesystem::path& path, std::string_view text) {
  std::filesystem::path beside = path;
  beside += fmt::format(".new-{}", getpid());
  RETURN_IF_ERROR(WriteNewFile(beside, text));
  if (rename(beside.c_str(), path.c_str()) == 0) return absl::OkStatus();
  const int failed = errno;
  unlink(beside.c_str());
  return Error(absl::StatusCode::kFailedPrecondition,
               fmt::format("cannot replace {}: {}", Printable(path.string()), std::strerror(failed)));
}

}  // namespace longreach::client
