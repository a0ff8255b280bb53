#include "worker/agent/file_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <utility>
#include <vector>

#include "proto/base/sha256.h"

namespace longreach::agent {
namespace {

namespace fs = std::filesystem;

// A second name for the file; a copy where the file system has no such thing.
bool LinkOrCopy(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::remove(to, error);
  fs::create_hard_link(from, to, error);
  if (!error) return true;
  error.clear();
  return fs::copy_file(from, to, fs::copy_options::overwrite_existing, error) && !error;
}

}  // namespace

bool IsSha256(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

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
  if (!IsSha256(sha256) || !LinkOrCopy(file, beside)) return;
  fs::rename(beside, kept, error);
  fs::last_write_time(kept, fs::file_time_type::clock::now(), error);
  std::vector<std::pair<fs::file_time_type, fs::path>> files;
  for (const auto& entry : fs::directory_iterator(folder_, error)) {
    std::error_code gone;  // By another thread.
    const fs::file_time_type time = entry.last_write_time(gone);
    if (!gone) files.emplace_back(time, entry.path());
  }
  std::sort(files.begin(), files.end());
  for (size_t i = 0; i + kFiles < files.size(); ++i) fs::remove(files[i].second, error);
}

}  // namespace longreach::agent
