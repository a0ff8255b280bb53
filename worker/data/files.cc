#include "worker/data/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

namespace longreach::data {
namespace {

absl::StatusCode CodeOf(int error_number) {
  switch (error_number) {
    case ENOENT: return absl::StatusCode::kNotFound;
    case EACCES:
    case EPERM:
    case EROFS: return absl::StatusCode::kPermissionDenied;
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE: return absl::StatusCode::kResourceExhausted;
    case EISDIR:
    case ENOTDIR:
    case EEXIST:
    case ENOTEMPTY: return absl::StatusCode::kFailedPrecondition;
    default: return absl::StatusCode::kDataLoss;
  }
}

}  // namespace

absl::Status SystemError(std::string_view what, const std::filesystem::path& path, int error_number) {
  const bool full = error_number == ENOSPC || error_number == EDQUOT;
  return absl::Status(CodeOf(error_number),
                      fmt::format("cannot {} {}: {}{}", what, path.string(), std::generic_category().message(error_number),
                                  full ? "; make space there, or name another data folder (--data-folder)" : ""));
}

namespace {

class InputFile {
 public:
  static absl::StatusOr<InputFile> Open(const std::filesystem::path& file) {
    InputFile in(file, open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));  // A pipe without a writer would be waited for.
    if (in.descriptor_ < 0) return SystemError("open", file, errno);
    struct stat status {};
    if (fstat(in.descriptor_, &status) != 0) return SystemError("look at", file, errno);
    if (S_ISDIR(status.st_mode)) return absl::FailedPreconditionError(fmt::format("{} is a folder, not a file", file.string()));
    if (!S_ISREG(status.st_mode)) return absl::FailedPreconditionError(fmt::format("{} is not a regular file", file.string()));
    in.bytes_ = status.st_size;
    return in;
  }
  InputFile(InputFile&& other) noexcept
      : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)), bytes_(other.bytes_) {}
  InputFile& operator=(InputFile&&) = delete;
  ~InputFile() {
    if (descriptor_ >= 0) close(descriptor_);
  }

  int64_t bytes() const { return bytes_; }
  // Fewer where it was cut off meanwhile.
  absl::StatusOr<std::string> ReadFirst(int64_t count) const {
    std::string bytes(static_cast<size_t>(count), '\0');
    size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t got = read(descriptor_, bytes.data() + done, bytes.size() - done);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return SystemError("read", path_, errno);
      if (got == 0) break;
      done += static_cast<size_t>(got);
    }
    bytes.resize(done);
    return bytes;
  }

 private:
  InputFile(std::filesystem::path path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
  std::filesystem::path path_;
  int descriptor_;
  int64_t bytes_ = 0;
};

}  // namespace

absl::StatusOr<std::string> ReadFile(const std::filesystem::path& file, int64_t max_bytes) {
  ASSIGN_OR_RETURN(const InputFile in, InputFile::Open(file));
  if (in.bytes() > max_bytes) {
    return absl::FailedPreconditionError(fmt::format("{} has {} bytes, and at most {} are read here", file.string(), in.bytes(), max_bytes));
  }
  return in.ReadFirst(in.bytes());
}

absl::StatusOr<std::string> ReadBeginning(const std::filesystem::path& file, int64_t most) {
  ASSIGN_OR_RETURN(const InputFile in, InputFile::Open(file));
  return in.ReadFirst(std::min(in.bytes(), most));
}

absl::StatusOr<OutputFile> OutputFile::Open(const std::filesystem::path& file, int64_t keep) {
  const int descriptor = open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0644);  // A pipe without a reader would be waited for.
  if (descriptor < 0) return SystemError("write", file, errno);
  OutputFile out(file, descriptor);
  if (ftruncate(descriptor, keep) != 0 || lseek(descriptor, keep, SEEK_SET) != keep) return SystemError("write", file, errno);
  return out;
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

absl::Status OutputFile::Write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = write(descriptor_, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return SystemError("write", path_, errno);
    bytes.remove_prefix(static_cast<size_t>(wrote));
  }
  return absl::OkStatus();
}

absl::Status OutputFile::Sync() {
  if (fdatasync(descriptor_) != 0) return SystemError("write", path_, errno);
  return absl::OkStatus();
}

absl::Status OutputFile::Close() {
  RETURN_IF_ERROR(Sync());
  if (close(std::exchange(descriptor_, -1)) != 0) return SystemError("write", path_, errno);
  return absl::OkStatus();
}

absl::Status WriteFile(const std::filesystem::path& file, std::string_view bytes) {
  std::filesystem::path beside = file;
  beside += ".part";
  ASSIGN_OR_RETURN(OutputFile out, OutputFile::Open(beside));
  RETURN_IF_ERROR(out.Write(bytes));
  RETURN_IF_ERROR(out.Close());
  return Rename(beside, file);
}

absl::Status MakeFolders(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return SystemError("make the folder", folder, error.value());
  return absl::OkStatus();
}

absl::Status SyncFolder(const std::filesystem::path& folder) {
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return SystemError("open", folder, errno);
  const int failed = fsync(descriptor) != 0 ? errno : 0;
  close(descriptor);
  if (failed != 0) return SystemError("write", folder, failed);
  return absl::OkStatus();
}

absl::Status Rename(const std::filesystem::path& from, const std::filesystem::path& to) {
  if (rename(from.c_str(), to.c_str()) != 0) return SystemError("rename to", to, errno);
  return absl::OkStatus();
}

}  // namespace longreach::data
