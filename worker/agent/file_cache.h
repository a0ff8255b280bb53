// Checkpoints and weights that this worker has made or fetched, by hash: a job that comes back to it need not be fetched.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "proto/base/status.h"

namespace longreach::agent {

// All operations are safe from several threads.
class FileCache {
 public:
  // The newest this many files are kept.
  static constexpr size_t kFiles = 8;

  explicit FileCache(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // Puts the file of this hash at `destination`, as another link to it; its bytes are checked.
  // NOT_FOUND: it is not here, or was damaged (then it is removed). INVALID_ARGUMENT: not a SHA-256.
  absl::Status Take(std::string_view sha256, const std::filesystem::path& destination) const;

  // Keeps `file`, which has this hash, and lets go of the oldest. Failures cost a download later, so there are none.
  void Keep(const std::filesystem::path& file, std::string_view sha256) const;

 private:
  std::filesystem::path folder_;
};

// 64 lower-case hexadecimal digits: what may become a file's name.
bool IsSha256(std::string_view text);

}  // namespace longreach::agent
