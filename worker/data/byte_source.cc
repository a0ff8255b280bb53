#include "worker/data/byte_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "proto/base/sha256.h"
#include "worker/data/files.h"

namespace longreach::data {
namespace {

class Descriptor {
 public:
  static absl::StatusOr<Descriptor> Open(const std::filesystem::path& file) {
    const int number = open(file.c_str(), O_RDONLY | O_CLOEXEC);
    if (number < 0) return SystemError("open", file, errno);
    return Descriptor(number);
  }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  int number() const { return number_; }

 private:
  explicit Descriptor(int number) : number_(number) {}
  int number_;
};

absl::StatusOr<size_t> ReadSome(int descriptor, std::span<char> to, const std::filesystem::path& file) {
  while (true) {
    const ssize_t got = read(descriptor, to.data(), to.size());
    if (got >= 0) return static_cast<size_t>(got);
    if (errno != EINTR) return SystemError("read", file, errno);
  }
}

struct Part {
  std::filesystem::path file;
  int64_t bytes = 0;
};

class Files final : public ByteSource {
 public:
  static absl::StatusOr<std::unique_ptr<ByteSource>> Open(const std::vector<std::filesystem::path>& files) {
    auto source = std::make_unique<Files>();
    std::string listing;
    for (const std::filesystem::path& file : files) {
      struct stat status {};
      if (stat(file.c_str(), &status) != 0) return SystemError("open", file, errno);
      // That it cannot be read is better said now than after a gigabyte.
      RETURN_IF_ERROR(Descriptor::Open(file).status());
      ASSIGN_OR_RETURN(const std::string line, FingerprintOf(file));
      listing += line + "\n";
      source->parts_.push_back({file, status.st_size});
      source->size_ += status.st_size;
    }
    source->fingerprint_ = Sha256Of(listing);
    return source;
  }

  int64_t size() const override { return size_; }

  absl::StatusOr<size_t> Read(std::span<char> to) override {
    while (part_ < parts_.size()) {
      const Part& part = parts_[part_];
      if (!open_.has_value()) {
        ASSIGN_OR_RETURN(Descriptor opened, Descriptor::Open(part.file));
        if (lseek(opened.number(), at_, SEEK_SET) != at_) return SystemError("read", part.file, errno);
        open_.emplace(std::move(opened));
      }
      ASSIGN_OR_RETURN(const size_t got, ReadSome(open_->number(), to, part.file));
      at_ += static_cast<int64_t>(got);
      if (at_ > part.bytes || (got == 0 && at_ < part.bytes)) {
        return absl::DataLossError(
            fmt::format("{} changed while it was read: it had {} bytes; try again when nothing writes it", part.file.string(), part.bytes));
      }
      if (got > 0) return got;
      open_.reset();
      at_ = 0;
      ++part_;
    }
    return 0;
  }

  absl::Status Skip(int64_t bytes) override {
    while (part_ < parts_.size() && bytes >= parts_[part_].bytes) bytes -= parts_[part_++].bytes;
    at_ = bytes;
    return absl::OkStatus();
  }

 private:
  std::vector<Part> parts_;
  int64_t size_ = 0;
  size_t part_ = 0;
  int64_t at_ = 0;  // In this part.
  std::optional<Descriptor> open_;
};

absl::StatusOr<bool> LooksLikeText(const std::filesystem::path& file) {
  ASSIGN_OR_RETURN(const Descriptor opened, Descriptor::Open(file));
  char head[8192];
  ASSIGN_OR_RETURN(const size_t got, ReadSome(opened.number(), head, file));
  return std::memchr(head, 0, got) == nullptr;
}

// Whose bytes are not the text's.
absl::Status RefuseCompressed(const std::filesystem::path& file) {
  constexpr std::pair<std::string_view, std::string_view> kKinds[] = {
      {"\x1F\x8B", "gzip"}, {"BZh", "bzip2"}, {"\xFD" "7zXZ", "xz"}, {"\x28\xB5\x2F\xFD", "zstd"}, {"PAR1", "Parquet"}};
  ASSIGN_OR_RETURN(const Descriptor opened, Descriptor::Open(file));
  char head[8];
  ASSIGN_OR_RETURN(const size_t got, ReadSome(opened.number(), head, file));
  for (const auto& [begin, kind] : kKinds) {
    if (std::string_view(head, got).starts_with(begin)) {
      return absl::InvalidArgumentError(fmt::format("{} is a file of {}, not a text; unpack it, and import what was in it", file.string(), kind));
    }
  }
  return absl::OkStatus();
}

// Text files below a folder, ascending by path, byte by byte: the same on every machine.
absl::StatusOr<std::vector<std::filesystem::path>> TextsBelow(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> found;
  std::error_code error;
  std::filesystem::recursive_directory_iterator entry(folder, error);
  for (const std::filesystem::recursive_directory_iterator end; !error && entry != end; entry.increment(error)) {
    const bool hidden = entry->path().filename().string().starts_with('.');
    std::error_code ignored;  // What cannot be looked at cannot be opened either, which is said below.
    if (hidden && entry->is_directory(ignored)) entry.disable_recursion_pending();
    if (hidden || entry->is_symlink(ignored) || !entry->is_regular_file(ignored)) continue;
    ASSIGN_OR_RETURN(const bool text, LooksLikeText(entry->path()));
    if (text) found.push_back(entry->path());
  }
  if (error) return SystemError("read the folder", folder, error.value());
  std::ranges::sort(found, {}, [](const std::filesystem::path& path) { return path.string(); });
  return found;
}

}  // namespace

absl::StatusOr<std::string> FingerprintOf(const std::filesystem::path& file) {
  struct stat status {};
  if (stat(file.c_str(), &status) != 0) return SystemError("look at", file, errno);
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(file, error);
  return fmt::format("{} {} {}.{:09}", absolute.string(), static_cast<int64_t>(status.st_size), static_cast<int64_t>(status.st_mtim.tv_sec),
                     static_cast<int64_t>(status.st_mtim.tv_nsec));
}

absl::StatusOr<std::unique_ptr<ByteSource>> OpenSource(const std::vector<std::filesystem::path>& paths) {
  std::vector<std::filesystem::path> files;
  for (const std::filesystem::path& path : paths) {
    struct stat status {};
    if (stat(path.c_str(), &status) != 0) return SystemError("open", path, errno);
    // Before anything opens it: a pipe would be waited for.
    if (!S_ISDIR(status.st_mode) && !S_ISREG(status.st_mode)) return absl::InvalidArgumentError(fmt::format("{} is not a regular file", path.string()));
    if (!S_ISDIR(status.st_mode)) {
      RETURN_IF_ERROR(RefuseCompressed(path));
      files.push_back(path);
      continue;
    }
    ASSIGN_OR_RETURN(const std::vector<std::filesystem::path> below, TextsBelow(path));
    if (below.empty()) return absl::InvalidArgumentError(fmt::format("there is no text file in {}", path.string()));
    files.insert(files.end(), below.begin(), below.end());
  }
  std::set<std::filesystem::path> seen;
  for (const std::filesystem::path& file : files) {
    std::error_code error;
    const std::filesystem::path real = std::filesystem::canonical(file, error);
    if (error) return SystemError("open", file, error.value());
    if (!seen.insert(real).second) return absl::InvalidArgumentError(fmt::format("{} is given twice", file.string()));
  }
  const bool any_zip = std::ranges::any_of(paths, &IsZip);
  if (any_zip && paths.size() > 1) return absl::InvalidArgumentError("a zip archive must be the only source; unpack it to join it with others");
  if (any_zip) return OpenZip(paths[0]);
  return Files::Open(files);
}

}  // namespace longreach::data
