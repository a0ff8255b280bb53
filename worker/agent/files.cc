#include "worker/agent/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>

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

namespace {

// From where it stands to the end, or to the first error. Not by iterators: these let the buffer throw what the stream would note.
std::string ReadRest(std::ifstream& in) {
  std::string bytes;
  char piece[64 << 10];
  while (in.read(piece, sizeof(piece)) || in.gcount() > 0) bytes.append(piece, static_cast<size_t>(in.gcount()));
  return bytes;
}

}  // namespace

absl::StatusOr<std::string> ReadFile(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) return absl::NotFoundError(fmt::format("cannot read {}", file.string()));
  std::string bytes = ReadRest(in);
  if (in.bad()) return absl::InternalError(fmt::format("cannot read {} to its end", file.string()));
  return bytes;
}

std::string ReadTail(const std::filesystem::path& file, size_t bytes) {
  std::ifstream in(file, std::ios::binary | std::ios::ate);
  if (!in) return "";
  const std::streamoff size = in.tellg();
  in.seekg(std::max<std::streamoff>(0, size - static_cast<std::streamoff>(bytes)));
  return ReadRest(in);
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
