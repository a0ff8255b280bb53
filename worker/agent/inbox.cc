#include "worker/agent/inbox.h"

#include <fmt/format.h>

#include <system_error>

namespace longreach::agent {

InboxLink::~InboxLink() {
  std::error_code taken;
  if (!path_.empty()) std::filesystem::remove(path_, taken);
}

Inbox::Inbox(const std::string& worker, uint64_t incarnation)
    : of_worker_(fmt::format("{}-", worker)), own_(fmt::format("{}{}-", of_worker_, incarnation)) {}

void Inbox::SetFolder(const std::string& folder) {
  if (std::exchange(*folder_.Lock(), folder) == folder || folder.empty()) return;
  std::error_code error;
  for (auto entry = std::filesystem::directory_iterator(folder, error); !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    std::error_code taken;
    if (name.starts_with(of_worker_) && !name.starts_with(own_)) std::filesystem::remove(entry->path(), taken);
  }
}

std::optional<InboxLink> Inbox::Link(const std::filesystem::path& file) {
  const std::filesystem::path folder = *folder_.Lock();
  if (folder.empty()) return std::nullopt;
  std::filesystem::path link = folder / fmt::format("{}{}", own_, ++*links_.Lock());
  std::error_code error;
  std::filesystem::create_hard_link(file, link, error);
  if (error) return std::nullopt;
  return InboxLink(std::move(link));
}

}  // namespace longreach::agent
