#include "worker/data/data_stamp.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>

#include "proto/base/sha256.h"
#include "worker/data/files.h"

namespace longreach::data {
namespace {

std::string TimeText(const timespec& time) { return fmt::format("{}.{:09}", time.tv_sec, time.tv_nsec); }

}  // namespace

absl::StatusOr<std::string> StampOf(const std::filesystem::path& folder, const Manifest& manifest) {
  Sha256 stamp;
  stamp.Update(manifest.Identity());
  for (const FileEntry& entry : manifest.files) {
    const std::filesystem::path path = folder / manifest.name / entry.name;
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) return SystemError("look at", path, errno);
    // The identity says how many there are, and in which order.
    stamp.Update(fmt::format("\n{} {} {} {} {}", status.st_dev, status.st_ino, status.st_size, TimeText(status.st_mtim), TimeText(status.st_ctim)));
  }
  return stamp.Finish();
}

}  // namespace longreach::data
