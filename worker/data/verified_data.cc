#include "worker/data/verified_data.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <string_view>
#include <utility>

#include "proto/base/file_to_read.h"
#include "proto/base/sha256.h"
#include "worker/data/files.h"

namespace longreach::data {
namespace {

constexpr uint64_t kBytesAtATime = 1 << 20;

int64_t Nanoseconds(const timespec& time) { return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; }

absl::StatusOr<DataSetStamp> StampOf(const std::filesystem::path& folder, const Manifest& manifest) {
  DataSetStamp stamp{.sha256 = manifest.Identity(), .files = {}};
  for (const FileEntry& entry : manifest.files) {
    const std::filesystem::path path = folder / manifest.name / entry.name;
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) return SystemError("look at", path, errno);
    stamp.files.push_back({.device = status.st_dev,
                           .inode = status.st_ino,
                           .bytes = status.st_size,
                           .modified_ns = Nanoseconds(status.st_mtim),
                           .changed_ns = Nanoseconds(status.st_ctim)});
  }
  return stamp;
}

// Not mapped: where a disk fails, that is an error and no signal.
absl::StatusOr<std::string> HashOf(const std::filesystem::path& path, const std::stop_token& stop, std::atomic<int64_t>& read) {
  ASSIGN_OR_RETURN(const FileToRead file, FileToRead::Open(path));
  Sha256 hash;
  std::vector<char> block(std::min(file.bytes(), kBytesAtATime));
  for (uint64_t at = 0; at < file.bytes();) {
    if (stop.stop_requested()) return absl::CancelledError("called off");
    const std::span<char> next = std::span(block).first(std::min<uint64_t>(block.size(), file.bytes() - at));
    RETURN_IF_ERROR(file.Read(at, next));
    hash.Update(std::string_view(next.data(), next.size()));
    at += next.size();
    read += static_cast<int64_t>(next.size());
  }
  return hash.Finish();
}

}  // namespace

absl::StatusOr<int64_t> VerifiedData::Verify(const std::string& name, const std::stop_token& stop, std::atomic<int64_t>& read) {
  const absl::StatusOr<Manifest> manifest = ReadDataSet(folder_, name);
  // Before it is read: what is written meanwhile makes another one of it.
  const absl::StatusOr<DataSetStamp> stamp = manifest.ok() ? StampOf(folder_, *manifest) : manifest.status();
  if (!stamp.ok()) return Refuse(name, std::nullopt, stamp.status());
  {
    auto found = found_.Lock();
    const auto before = found->find(name);
    if (before != found->end() && before->second.stamp == *stamp) {
      if (before->second.status.ok()) return 0;
      return absl::UnavailableError(before->second.status.message());
    }
  }
  for (const FileEntry& entry : manifest->files) {
    const absl::StatusOr<std::string> sha256 = HashOf(folder_ / name / entry.name, stop, read);
    if (absl::IsCancelled(sha256.status())) return sha256.status();
    if (!sha256.ok()) return Refuse(name, std::nullopt, sha256.status());
    if (absl::Status same = CheckHash(folder_, name, entry, *sha256); !same.ok()) return Refuse(name, *stamp, std::move(same));
  }
  found_.Lock()->insert_or_assign(name, Found{.stamp = *stamp, .status = absl::OkStatus()});
  return manifest->bytes();
}

absl::Status VerifiedData::Refuse(const std::string& name, std::optional<DataSetStamp> stamp, absl::Status why) {
  found_.Lock()->insert_or_assign(name, Found{.stamp = std::move(stamp), .status = why});
  return why;
}

bool VerifiedData::Refuses(const std::string& name) {
  auto found = found_.Lock();
  const auto one = found->find(name);
  return one != found->end() && !one->second.status.ok();
}

Listing VerifiedData::Look(Listing listing) {
  Listing whole{.data_sets = {}, .damaged = std::move(listing.damaged)};
  for (Manifest& manifest : listing.data_sets) {
    if (!Refuses(manifest.name)) {
      whole.data_sets.push_back(std::move(manifest));
      continue;
    }
    const absl::StatusOr<DataSetStamp> stamp = StampOf(folder_, manifest);  // Not under the lock, for which calls to the scheduler would wait.
    auto found = found_.Lock();
    const auto one = found->find(manifest.name);
    if (one != found->end() && !one->second.status.ok()) {
      if (stamp.ok() && one->second.stamp == *stamp) {
        whole.damaged.push_back(fmt::format("{}: {}", manifest.name, std::string(one->second.status.message())));
        continue;
      }
      found->erase(one);
    }
    whole.data_sets.push_back(std::move(manifest));
  }
  return whole;
}

}  // namespace longreach::data
