#include "worker/data/byte_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "proto/base/sha256.h"
#include "proto/base/text.h"
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

absl::StatusOr<std::string> BeginningOf(const std::filesystem::path& file) {
  ASSIGN_OR_RETURN(const Descriptor opened, Descriptor::Open(file));
  std::string beginning(8192, '\0');
  ASSIGN_OR_RETURN(const size_t got, ReadSome(opened.number(), beginning, file));
  beginning.resize(got);
  return beginning;
}

// What a file that begins so was packed with, so that its bytes are not the text's; "" of others.
std::string_view PackedBy(std::string_view beginning) {
  constexpr std::pair<std::string_view, std::string_view> kKinds[] = {
      {"\x1F\x8B", "gzip"}, {"BZh", "bzip2"}, {"\xFD" "7zXZ", "xz"}, {"\x28\xB5\x2F\xFD", "zstd"}, {"PAR1", "Parquet"}};
  for (const auto& [begin, kind] : kKinds) {
    if (beginning.starts_with(begin)) return kind;
  }
  return "";
}

absl::Status RefusePacked(const std::filesystem::path& file) {
  ASSIGN_OR_RETURN(const std::string beginning, BeginningOf(file));
  const std::string_view kind = PackedBy(beginning);
  if (kind.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format("{} is a file of {}, not a text; unpack it, and import what was in it", file.string(), kind));
}

// Why a file of a folder is left out; "" where it is a text. The words go on in a line: "c.txt (a zero byte; UTF-16?)".
absl::StatusOr<std::string_view> WhyNoText(const std::filesystem::directory_entry& entry) {
  std::error_code ignored;  // What cannot be looked at is no regular file either.
  if (entry.is_symlink(ignored)) return "a symbolic link";
  if (!entry.is_regular_file(ignored)) return "not a regular file";
  ASSIGN_OR_RETURN(const std::string beginning, BeginningOf(entry.path()));
  if (const std::string_view kind = PackedBy(beginning); !kind.empty()) return kind;
  if (beginning.find('\0') == beginning.npos) return "";
  return IsZip(entry.path()) ? "zip" : "a zero byte; UTF-16?";
}

// What is below a folder and not hidden, ascending by path, byte by byte: the same on every machine.
struct FolderOfTexts {
  std::vector<std::filesystem::path> texts;
  std::vector<std::pair<std::filesystem::path, std::string_view>> others;  // With the reason.

  // "b.txt.gz (gzip)": the path from this folder on, or all of it where none is given.
  std::vector<std::string> OthersFrom(const std::filesystem::path& folder) const {
    std::vector<std::string> named;
    for (const auto& [path, why] : others) named.push_back(fmt::format("{} ({})", folder.empty() ? path.string() : path.lexically_relative(folder).string(), why));
    return named;
  }
};

absl::StatusOr<FolderOfTexts> TextsBelow(const std::filesystem::path& folder) {
  FolderOfTexts found;
  std::error_code error;
  std::filesystem::recursive_directory_iterator entry(folder, error);
  for (const std::filesystem::recursive_directory_iterator end; !error && entry != end; entry.increment(error)) {
    const bool hidden = entry->path().filename().string().starts_with('.');
    std::error_code ignored;
    const bool walked = entry->is_directory(ignored) && !entry->is_symlink(ignored);
    if (hidden && walked) entry.disable_recursion_pending();
    if (hidden || walked) continue;
    ASSIGN_OR_RETURN(const std::string_view why, WhyNoText(*entry));
    if (why.empty()) {
      found.texts.push_back(entry->path());
    } else {
      found.others.emplace_back(entry->path(), why);
    }
  }
  if (error) return SystemError("read the folder", folder, error.value());
  std::ranges::sort(found.texts, {}, [](const std::filesystem::path& path) { return path.string(); });
  std::ranges::sort(found.others, {}, [](const auto& other) { return other.first.string(); });
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
  std::vector<std::string> left_out;
  for (const std::filesystem::path& path : paths) {
    struct stat status {};
    if (stat(path.c_str(), &status) != 0) return SystemError("open", path, errno);
    // Before anything opens it: a pipe would be waited for.
    if (!S_ISDIR(status.st_mode) && !S_ISREG(status.st_mode)) return absl::InvalidArgumentError(fmt::format("{} is not a regular file", path.string()));
    if (!S_ISDIR(status.st_mode)) {
      RETURN_IF_ERROR(RefusePacked(path));
      files.push_back(path);
      continue;
    }
    ASSIGN_OR_RETURN(const FolderOfTexts below, TextsBelow(path));
    if (below.texts.empty()) {
      return absl::InvalidArgumentError(fmt::format("there is no text file in {}{}", path.string(),
                                                    below.others.empty() ? "" : fmt::format("; it has {}", JoinSome(below.OthersFrom(path)))));
    }
    files.insert(files.end(), below.texts.begin(), below.texts.end());
    const std::vector<std::string> others = below.OthersFrom(paths.size() == 1 ? path : std::filesystem::path());
    left_out.insert(left_out.end(), others.begin(), others.end());
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
  return Files::Open(files, std::move(left_out));
}

}  // namespace longreach::data
