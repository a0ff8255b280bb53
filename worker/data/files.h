// Reading and writing files so that what has its name is whole and on disk.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "proto/base/status.h"

namespace longreach::data {

// "cannot WHAT PATH: reason", with the code that fits errno; RESOURCE_EXHAUSTED says that space must be made.
absl::Status SystemError(std::string_view what, const std::filesystem::path& path, int error_number);

// NOT_FOUND, PERMISSION_DENIED, FAILED_PRECONDITION (a folder, or larger than `max_bytes`) or DATA_LOSS.
absl::StatusOr<std::string> ReadFile(const std::filesystem::path& file, int64_t max_bytes);
// The first `most` bytes, or all of a file that has fewer. Errors as ReadFile(), for any length.
absl::StatusOr<std::string> ReadBeginning(const std::filesystem::path& file, int64_t most);

// A file being written. Without Close() it stays as far as it came.
class OutputFile {
 public:
  // Begins it anew, or, with `keep` bytes, goes on behind them and drops what follows.
  static absl::StatusOr<OutputFile> Open(const std::filesystem::path& file, int64_t keep = 0);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  absl::Status Write(std::string_view bytes);
  absl::Status Sync();
  // Syncs first.
  absl::Status Close();

 private:
  explicit OutputFile(std::filesystem::path path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}

  std::filesystem::path path_;
  int descriptor_ = -1;
};

// Writes beside, syncs and renames: under the name lies the file as it was before or the whole new one.
absl::Status WriteFile(const std::filesystem::path& file, std::string_view bytes);

absl::Status MakeFolders(const std::filesystem::path& folder);
// Makes renames in it last.
absl::Status SyncFolder(const std::filesystem::path& folder);
absl::Status Rename(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace longreach::data
