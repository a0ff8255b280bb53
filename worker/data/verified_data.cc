#include "worker/data/verified_data.h"

#include <utility>

#include "proto/base/sha256.h"
#include "worker/data/data_stamp.h"

namespace longreach::data {

absl::StatusOr<Verified> VerifiedData::Verify(const std::string& name, const std::stop_token& stop, std::atomic<int64_t>& read) {
  const absl::StatusOr<Manifest> manifest = ReadDataSet(folder_, name);
  // Before it is read: what is written meanwhile makes another one of it.
  const absl::StatusOr<std::string> stamp = manifest.ok() ? StampOf(folder_, *manifest) : manifest.status();
  if (!stamp.ok()) return Refuse(name, {.stamp = std::nullopt, .status = stamp.status()});
  {
    auto found = found_.Lock();
    const auto before = found->find(name);
    if (before != found->end() && Holds(before->second, *stamp)) {
      if (before->second.status.ok()) return Verified{.stamp = *stamp};
      return absl::UnavailableError(before->second.status.message());
    }
  }
  for (const FileEntry& entry : manifest->files) {
    const absl::StatusOr<std::string> sha256 = Sha256OfFile(folder_ / name / entry.name, 0, stop, &read);
    if (absl::IsCancelled(sha256.status())) return sha256.status();
    if (!sha256.ok()) return Refuse(name, {.stamp = *stamp, .status = sha256.status(), .until = clock_->Steady() + kUnreadableFor});
    if (absl::Status same = CheckHash(folder_, name, entry, *sha256); !same.ok()) return Refuse(name, {.stamp = *stamp, .status = std::move(same)});
  }
  found_.Lock()->insert_or_assign(name, Found{.stamp = *stamp, .status = absl::OkStatus()});
  return Verified{.stamp = *stamp, .bytes_read = manifest->bytes()};
}

absl::Status VerifiedData::Refuse(const std::string& name, Found found) {
  const absl::Status why = found.status;
  found_.Lock()->insert_or_assign(name, std::move(found));
  return why;
}

void VerifiedData::Doubt(const std::string& name) {
  auto found = found_.Lock();
  const auto one = found->find(name);
  if (one != found->end() && one->second.status.ok()) found->erase(one);
}

std::string VerifiedData::WhyRefused(const std::string& name) {
  auto found = found_.Lock();
  const auto one = found->find(name);
  return one == found->end() ? "" : std::string(one->second.status.message());
}

Listing VerifiedData::Look(Listing listing) {
  Listing whole{.data_sets = {}, .damaged = std::move(listing.damaged), .status = std::move(listing.status)};
  for (Manifest& manifest : listing.data_sets) {
    if (WhyRefused(manifest.name).empty()) {
      whole.data_sets.push_back(std::move(manifest));
      continue;
    }
    const absl::StatusOr<std::string> stamp = StampOf(folder_, manifest);  // Not under the lock, for which calls to the scheduler would wait.
    auto found = found_.Lock();
    const auto one = found->find(manifest.name);
    if (one != found->end() && !one->second.status.ok()) {
      if (stamp.ok() && Holds(one->second, *stamp)) {
        whole.damaged.push_back({.name = manifest.name, .reason = std::string(one->second.status.message())});
        continue;
      }
      found->erase(one);
    }
    whole.data_sets.push_back(std::move(manifest));
  }
  return whole;
}

}  // namespace longreach::data
