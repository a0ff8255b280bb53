// Checkpoints and weights that this worker has made or fetched, by hash: a job that comes back to it need not be fetched.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "proto/base/status.h"

namespace longreach::agent {

// All operations are safe from several threads.
class FileCache {
 public:
  // The newest are kept, at most this many files and, together, bytes: of a model with 1.1 billion parameters two checkpoints.
  static constexpr size_t kFiles = 8;
  static constexpr uintmax_t kBytes = uintmax_t{32} << 30;

  explicit FileCache(std::filesystem::path folder, uintmax_t most_bytes = kBytes) : folder_(std::move(folder)), most_bytes_(most_bytes) {}

  // Puts the file of this hash at `destination`, as another link to it; its bytes are checked.
  // NOT_FOUND: it is not here, or was damaged (then it is removed). INVALID_ARGUMENT: not a SHA-256.
  absl::Status Take(std::string_view sha256, const std::filesystem::path& destination) const;

  // Keeps `file`, which has this hash, and lets go of the oldest. Failures cost a download later, so there are none.
  void Keep(const std::filesystem::path& file, std::string_view sha256) const;

  // Lets go of all that takes space here alone: what an attempt has under another name stays. False: there was nothing. Safe beside
  // other processes' uses of the folder, too.
  bool MakeRoom() const;

 private:
  std::filesystem::path folder_;
  uintmax_t most_bytes_;
};

}  // namespace longreach::agent
