#include "worker/agent/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "proto/base/file_to_read.h"
#include "proto/base/text.h"

namespace longreach::agent {
namespace {

absl::Status ErrnoStatus(std::string_view what, const std::filesystem::path& path) {
  const int error = errno;
  const std::string text = fmt::format("cannot {} {}: {}", what, path.string(), std::strerror(error));
  return error == ENOSPC || error == EDQUOT ? absl::ResourceExhaustedError(text) : absl::InternalError(text);
}

// Closes what it holds; -1 for none.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

}  // namespace

absl::Status WriteFileSynced(const std::filesystem::path& file, std::string_view bytes) {
  std::filesystem::path beside = file;
  beside += ".new";
  {
    const Descriptor out(open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (out.get() < 0) return ErrnoStatus("write", beside);
    while (!bytes.empty()) {
      const ssize_t written = write(out.get(), bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return ErrnoStatus("write", beside);
      bytes.remove_prefix(static_cast<size_t>(written));
    }
    if (fsync(out.get()) != 0) return ErrnoStatus("sync", beside);
  }
  if (rename(beside.c_str(), file.c_str()) != 0) return ErrnoStatus("rename", beside);
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
  const Descriptor opened(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened.get() < 0 || fsync(opened.get()) != 0) return ErrnoStatus("sync", folder);
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadFile(const std::filesystem::path& file, uint64_t most) {
  ASSIGN_OR_RETURN(const FileToRead in, FileToRead::Open(file));
  if (in.bytes() > most) return absl::DataLossError(fmt::format("{} has {} bytes, and at most {} are read here", file.string(), in.bytes(), most));
  std::string bytes(static_cast<size_t>(in.bytes()), '\0');
  RETURN_IF_ERROR(in.Read(0, bytes));
  return bytes;
}

std::string ReadTail(const std::filesystem::path& file, size_t bytes) {
  const absl::StatusOr<FileToRead> in = FileToRead::Open(file);
  if (!in.ok()) return "";
  std::string tail(static_cast<size_t>(std::min<uint64_t>(in->bytes(), bytes)), '\0');
  return in->Read(in->bytes() - tail.size(), tail).ok() ? tail : "";
}

std::string LastLineOf(const std::filesystem::path& log) {
  constexpr size_t kEnoughBytes = 64 << 10;
  const std::string tail = ReadTail(log, kEnoughBytes);
  const std::string_view trimmed = Trim(tail);
  const size_t newline = trimmed.rfind('\n');
  std::string_view line = newline == std::string_view::npos ? trimmed : trimmed.substr(newline + 1);
  return std::string(line.substr(0, 300));
}

absl::Status MakeFolder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return absl::InternalError(fmt::format("cannot make the folder {}: {}", folder.string(), error.message()));
  return absl::OkStatus();
}

}  // namespace longreach::agent
