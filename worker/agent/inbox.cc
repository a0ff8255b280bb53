#include "worker/agent/inbox.h"

#include <fmt/format.h>

#include <random>
#include <system_error>

namespace longreach::agent {
namespace {

std::string RandomPrefix() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}", random(), random());
}

}  // namespace

InboxLink::~InboxLink() {
  std::error_code taken;
  if (!path_.empty()) std::filesystem::remove(path_, taken);
}

Inbox::Inbox() : prefix_(RandomPrefix()) {}

std::optional<InboxLink> Inbox::Link(const std::filesystem::path& file) {
  const std::filesystem::path folder = *folder_.Lock();
  if (folder.empty()) return std::nullopt;
  std::filesystem::path link = folder / fmt::format("{}-{}", prefix_, ++*links_.Lock());
  std::error_code error;
  std::filesystem::create_hard_link(file, link, error);
  if (error) return std::nullopt;
  return InboxLink(std::move(link));
}

}  // namespace longreach::agent
