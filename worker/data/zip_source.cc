#include <fmt/format.h>
#include <minizip/unzip.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "proto/base/sha256.h"
#include "worker/data/byte_source.h"

namespace longreach::data {
namespace {

// What other programs pack with, by its number in the format (APPNOTE.TXT 4.4.5). Empty: it is read here.
std::string UnreadMethod(uint64_t method) {
  if (method == 0 || method == Z_DEFLATED) return "";
  constexpr std::pair<uint64_t, std::string_view> kNames[] = {{9, "Deflate64"}, {12, "bzip2"}, {14, "LZMA"}, {93, "Zstandard"}, {95, "XZ"}, {98, "PPMd"}};
  for (const auto& [number, name] : kNames) {
    if (number == method) return std::string(name);
  }
  return fmt::format("method {}", method);
}

class Zip final : public ByteSource {
 public:
  static absl::StatusOr<std::unique_ptr<ByteSource>> Open(const std::filesystem::path& file) {
    auto source = std::make_unique<Zip>();
    source->file_ = file;
    ASSIGN_OR_RETURN(const std::string line, FingerprintOf(file));
    source->fingerprint_ = Sha256Of(line);
    source->zip_ = unzOpen64(file.c_str());
    if (source->zip_ == nullptr) return source->Damaged("its table of contents is missing, empty or damaged: it was cut off, or is no archive");
    RETURN_IF_ERROR(source->FindMember());
    return source;
  }
  ~Zip() override {
    if (zip_ == nullptr) return;
    unzCloseCurrentFile(zip_);
    unzClose(zip_);
  }

  int64_t size() const override { return size_; }

  absl::StatusOr<size_t> Read(std::span<char> to) override {
    const int got = unzReadCurrentFile(zip_, to.data(), static_cast<unsigned>(std::min<size_t>(to.size(), 1 << 30)));
    if (got < 0) return Damaged(fmt::format("'{}' cannot be unpacked beyond byte {}", member_, at_));
    at_ += got;
    if (at_ > size_ || (got == 0 && at_ < size_)) return Damaged(fmt::format("'{}' does not have the {} bytes that it should", member_, size_));
    // The checksum is compared when the member is closed.
    if (got == 0 && unzCloseCurrentFile(zip_) == UNZ_CRCERROR) return Damaged(fmt::format("'{}' does not have its checksum", member_));
    return static_cast<size_t>(got);
  }

  absl::Status Skip(int64_t bytes) override {
    std::vector<char> buffer(1 << 20);
    while (bytes > 0) {
      ASSIGN_OR_RETURN(const size_t got, Read(std::span(buffer).first(static_cast<size_t>(std::min<int64_t>(bytes, 1 << 20)))));
      if (got == 0) return absl::OkStatus();
      bytes -= static_cast<int64_t>(got);
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Damaged(std::string_view what) const {
    return absl::DataLossError(fmt::format("{}: {}; get it again", file_.string(), what));
  }

  // The archive's only file.
  absl::Status FindMember() {
    std::vector<std::string> names;
    int found = unzGoToFirstFile(zip_);
    for (; found == UNZ_OK; found = unzGoToNextFile(zip_)) {
      unz_file_info64 info = {};
      char name[1024] = {};
      if (unzGetCurrentFileInfo64(zip_, &info, name, sizeof name - 1, nullptr, 0, nullptr, 0) != UNZ_OK) break;
      const std::string_view text = name;
      if (text.empty() || text.ends_with('/') || text.starts_with("__MACOSX/")) continue;
      names.emplace_back(text);
      if (names.size() > 1) break;
      if ((info.flag & 1) != 0) return absl::InvalidArgumentError(fmt::format("{}: '{}' is encrypted; unpack it first", file_.string(), text));
      if (const std::string method = UnreadMethod(info.compression_method); !method.empty()) {
        return absl::InvalidArgumentError(fmt::format("{}: '{}' is packed with {}, which is not read here; unpack it first, or pack it again with deflate",
                                                      file_.string(), text, method));
      }
      constexpr uint64_t kMost = uint64_t{1} << 50;
      if (info.uncompressed_size > kMost) return Damaged(fmt::format("'{}' claims {} bytes", text, info.uncompressed_size));
      size_ = static_cast<int64_t>(info.uncompressed_size);
      if (unzGetFilePos64(zip_, &position_) != UNZ_OK) return Damaged("its table of contents is damaged");
    }
    if (names.size() > 1) {
      return absl::InvalidArgumentError(fmt::format("{} has more than one file in it ('{}', '{}'); unpack it and import the one you mean, or the folder",
                                                    file_.string(), names[0], names[1]));
    }
    if (found != UNZ_END_OF_LIST_OF_FILE) return Damaged("its table of contents is damaged");
    if (names.empty()) return absl::InvalidArgumentError(fmt::format("{} has no file in it", file_.string()));
    member_ = names[0];
    if (unzGoToFilePos64(zip_, &position_) != UNZ_OK || unzOpenCurrentFile(zip_) != UNZ_OK) {
      return Damaged(fmt::format("'{}' is not where the table of contents says", member_));
    }
    return absl::OkStatus();
  }

  std::filesystem::path file_;
  unzFile zip_ = nullptr;
  unz64_file_pos position_ = {};
  std::string member_;
  int64_t size_ = 0;
  int64_t at_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ByteSource>> OpenZip(const std::filesystem::path& file) { return Zip::Open(file); }

}  // namespace longreach::data
