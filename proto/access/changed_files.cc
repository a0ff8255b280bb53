#include "proto/access/changed_files.h"

#include <utility>

namespace longreach::access {

ChangedFiles::ChangedFiles(std::vector<std::filesystem::path> paths) : paths_(std::move(paths)) {
  std::erase_if(paths_, [](const std::filesystem::path& path) { return path.empty(); });
}

std::vector<FileStamp> ChangedFiles::StampsNow() const {
  std::vector<FileStamp> stamps;
  for (const std::filesystem::path& path : paths_) stamps.push_back(StampOf(path));
  return stamps;
}

absl::Status ChangedFiles::Begin(const Take& take) {
  // Before they are read: what changes meanwhile is a change.
  good_ = StampsNow();
  return take();
}

std::string ChangedFiles::Look(const Take& take) {
  std::vector<FileStamp> now = StampsNow();
  if (now == good_) return "";
  const absl::Status took = take();
  const std::string wrong(took.message());
  if (took.ok()) good_ = std::move(now);
  const bool again = std::exchange(wrong_, wrong) == wrong;
  if (took.ok()) told_.clear();
  else if (again && std::exchange(told_, wrong) != wrong) return wrong;
  return "";
}

}  // namespace longreach::access
