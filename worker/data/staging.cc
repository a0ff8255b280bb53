#include "worker/data/staging.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <ctime>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "proto/base/build_info.h"
#include "proto/base/text.h"
#include "worker/data/data_folder.h"
#include "worker/data/files.h"

namespace longreach::data {
namespace {

constexpr std::string_view kImporting = ".importing-";

std::filesystem::path StagingOf(const std::filesystem::path& folder, const std::string& name) { return folder / Text(kImporting, name); }
std::filesystem::path LockOf(const std::filesystem::path& folder, const std::string& name) { return folder / ("." + name + ".lock"); }

bool Exists(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

// Of data sets, and of imports that have not ended.
std::vector<std::string> RemovableNames(const std::filesystem::path& folder) {
  std::vector<std::string> names = DataSetNames(folder);
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (const std::string file = entry->path().filename().string(); file.starts_with(kImporting)) names.push_back(file.substr(kImporting.size()));
  }
  return names;
}

// The lock's file, locked. It is removed by whoever gives the lock back, so one that was opened before and locked after that is
// no longer the one that others see.
absl::StatusOr<int> Lock(const std::filesystem::path& file, const std::string& name) {
  constexpr int kTries = 100;
  for (int i = 0; i < kTries; ++i) {
    const int descriptor = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (descriptor < 0) return SystemError("write", file, errno);
    if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
      const int failed = errno;
      close(descriptor);
      if (failed != EWOULDBLOCK) return SystemError("lock", file, failed);
      break;
    }
    struct stat own {};
    struct stat seen {};
    if (fstat(descriptor, &own) == 0 && stat(file.c_str(), &seen) == 0 && own.st_ino == seen.st_ino) return descriptor;
    close(descriptor);
  }
  return absl::FailedPreconditionError(fmt::format("another process is importing '{}' just now; wait for it, or end it", name));
}

}  // namespace

absl::StatusOr<Staging> Staging::Open(const std::filesystem::path& folder, const std::string& name) {
  RETURN_IF_ERROR(CheckName(name));
  RETURN_IF_ERROR(MakeFolders(folder));
  ASSIGN_OR_RETURN(const int lock, Lock(LockOf(folder, name), name));
  Staging staging(folder, name, lock);
  if (Exists(folder / name)) {
    const absl::StatusOr<Manifest> there = ReadDataSet(folder, name);
    const std::string what = there.ok() ? fmt::format(" (SHA-256 {}, {} bytes, imported {} from {})", there->Identity().substr(0, 8),
                                                      there->bytes(), there->imported_at, there->source)
                                        : " (and damaged)";
    return absl::AlreadyExistsError(fmt::format(
        "there is a data set '{}' in {} already{}; take another name, or 'longreach data remove {}' first", name, folder.string(), what, name));
  }
  RETURN_IF_ERROR(MakeFolders(staging.path_));
  return staging;
}

Staging::Staging(std::filesystem::path folder, std::string name, int lock)
    : folder_(std::move(folder)), name_(std::move(name)), path_(StagingOf(folder_, name_)), lock_(lock) {}

Staging::Staging(Staging&& other) noexcept
    : folder_(std::move(other.folder_)), name_(std::move(other.name_)), path_(std::move(other.path_)), lock_(std::exchange(other.lock_, -1)) {}

Staging::~Staging() {
  if (lock_ < 0) return;
  std::error_code ignored;
  std::filesystem::remove(LockOf(folder_, name_), ignored);
  close(lock_);
}

absl::Status Staging::Publish(Manifest manifest) {
  manifest.name = name_;
  manifest.imported_at = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())));
  manifest.imported_by = BuildDescription();
  std::set<std::string> keep;
  for (const FileEntry& file : manifest.files) keep.insert(file.name);
  std::vector<std::filesystem::path> others;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(path_, error), end; !error && entry != end; entry.increment(error)) {
    if (!keep.contains(entry->path().filename().string())) others.push_back(entry->path());
  }
  if (error) return SystemError("read", path_, error.value());
  for (const std::filesystem::path& other : others) {
    std::filesystem::remove_all(other, error);
    if (error) return SystemError("remove", other, error.value());
  }
  RETURN_IF_ERROR(WriteFile(path_ / kManifest, ToJson(manifest)));
  RETURN_IF_ERROR(SyncFolder(path_));
  RETURN_IF_ERROR(Rename(path_, folder_ / name_));
  return SyncFolder(folder_);
}

void Staging::Discard() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

absl::Status RemoveDataSet(const std::filesystem::path& folder, const std::string& name) {
  RETURN_IF_ERROR(CheckName(name));
  const std::filesystem::path place = folder / name;
  const std::filesystem::path staging = StagingOf(folder, name);
  if (!Exists(place) && !Exists(staging)) {
    const std::string near = ClosestWord(name, RemovableNames(folder));
    return absl::NotFoundError(fmt::format("there is no data set '{}' in {}; {}", name, folder.string(), near.empty() ? "'longreach data list' shows what is there" : fmt::format("did you mean '{}'?", near)));
  }
  if (Exists(place) && !Exists(place / kManifest)) {
    return absl::FailedPreconditionError(fmt::format("{} is no data set: it has no {}; remove it by other means if it is not needed", place.string(), kManifest));
  }
  ASSIGN_OR_RETURN(const int lock, Lock(LockOf(folder, name), name));
  std::error_code error;
  std::filesystem::remove_all(staging, error);
  // Out of sight by one rename first: half a data set under its name would be damaged, not gone.
  if (!error && Exists(place)) {
    if (absl::Status renamed = Rename(place, staging); !renamed.ok()) {
      close(lock);
      return renamed;
    }
    std::filesystem::remove_all(staging, error);
  }
  std::error_code ignored;
  std::filesystem::remove(LockOf(folder, name), ignored);
  close(lock);
  if (error) return SystemError("remove", staging, error.value());
  return absl::OkStatus();
}

}  // namespace longreach::data
