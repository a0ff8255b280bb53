#include "worker/agent/file_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "proto/base/sha256.h"
#include "worker/agent/log.h"

namespace longreach::agent {
namespace {

namespace fs = std::filesystem;

struct Kept {
  fs::file_time_type used_at;
  fs::path file;
  uintmax_t bytes = 0;
};

// Of a folder, the newest first.
std::vector<Kept> FilesIn(const fs::path& folder) {
  std::vector<Kept> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    std::error_code gone;  // By another thread.
    Kept kept{.used_at = entry.last_write_time(gone), .file = entry.path()};
    if (entry.is_regular_file(gone)) kept.bytes = entry.file_size(gone);
    if (!gone) files.push_back(std::move(kept));
  }
  std::ranges::sort(files, std::ranges::greater(), [](const Kept& kept) { return std::tie(kept.used_at, kept.file); });
  return files;
}

// A second name for the file; a copy where the file system has no such thing. What another thread has put there meanwhile is not written into: it
// may be the very file of an attempt that a trainer is reading.
bool LinkOrCopy(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::remove(to, error);
  fs::create_hard_link(from, to, error);
  if (!error) return true;
  error.clear();
  return fs::copy_file(from, to, error) && !error;
}

}  // namespace

absl::Status FileCache::Take(std::string_view sha256, const fs::path& destination) const {
  if (!IsSha256(sha256)) return absl::InvalidArgumentError(fmt::format("'{}' is not a SHA-256", sha256.substr(0, 80)));
  const fs::path file = folder_ / sha256;
  std::error_code error;
  if (!fs::exists(file, error) || !LinkOrCopy(file, destination)) {
    return absl::NotFoundError(fmt::format("no file {} in the cache", sha256));
  }
  const absl::StatusOr<std::string> found = Sha256OfFile(destination);
  if (!found.ok() || *found != sha256) {
    fs::remove(destination, error);
    fs::remove(file, error);
    return absl::NotFoundError(fmt::format("the file {} in the cache was damaged", sha256));
  }
  fs::last_write_time(file, fs::file_time_type::clock::now(), error);  // It is the newest now.
  return absl::OkStatus();
}

void FileCache::Keep(const fs::path& file, std::string_view sha256) const {
  std::error_code error;
  const fs::path kept = folder_ / sha256;
  // Under its final name only when whole: a copy can be cut short.
  fs::path beside = kept;
  beside += ".new";
  if (!IsSha256(sha256) || fs::file_size(file, error) > most_bytes_) return;  // Also when its size cannot be known.
  if (!LinkOrCopy(file, beside)) {
    fs::remove(beside, error);
    return;
  }
  fs::rename(beside, kept, error);
  fs::remove(beside, error);  // Renaming to another name of the same file does nothing.
  fs::last_write_time(kept, fs::file_time_type::clock::now(), error);
  size_t count = 0;
  uintmax_t bytes = 0;
  for (const Kept& one : FilesIn(folder_)) {
    bytes += one.bytes;
    if (++count > kFiles || bytes > most_bytes_) fs::remove(one.file, error);
  }
}

bool FileCache::MakeRoom() const {
  size_t removed = 0;
  std::error_code error;
  for (const Kept& one : FilesIn(folder_)) {
    if (fs::hard_link_count(one.file, error) == 1 && fs::remove(one.file, error)) ++removed;
  }
  if (removed > 0) LogWarning(fmt::format("no space left for a file: {} file(s) that were kept for later are removed from {}", removed, folder_.string()));
  return removed > 0;
}

}  // namespace longreach::agent
