#include "worker/data/byte_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <system_error>
#include <utility>

#include "proto/base/sha256.h"
#include "worker/data/files.h"
#include "worker/data/source_files.h"

namespace longreach::data {
namespace {

class Descriptor {
 public:
  static absl::StatusOr<Descriptor> Open(const std::filesystem::path& file) {
    const int number = open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // What was a file may be a pipe by now, which would be waited for.
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
  static absl::StatusOr<std::unique_ptr<ByteSource>> Open(const std::vector<std::filesystem::path>& files, std::vector<std::string> left_out) {
    auto source = std::make_unique<Files>();
    source->left_out_ = std::move(left_out);
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
  ASSIGN_OR_RETURN(SourceFiles found, FindSourceFiles(paths));
  const bool any_zip = std::ranges::any_of(paths, &IsZip);
  if (any_zip && paths.size() > 1) return absl::InvalidArgumentError("a zip archive must be the only source; unpack it to join it with others");
  if (any_zip) return OpenZip(paths[0]);
  return Files::Open(found.files, std::move(found.left_out));
}

}  // namespace longreach::data
