#include "scheduler/core/health.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "proto/base/text.h"

namespace longreach::core {

Health AfterFailure(const Health& before, std::span<const int64_t> jobs) {
  for (const std::vector<int64_t>& earlier : before.failed) {
    for (const int64_t job : jobs) {
      if (std::ranges::find(earlier, job) != earlier.end()) return before;
    }
  }
  Health after = before;
  after.failed.emplace_back(jobs.begin(), jobs.end());
  return after;
}

bool IsPutAside(const Health& health) { return health.failed.size() >= kFailuresToPutAside; }

Health WithAnotherChance(const Health& health) {
  Health after = health;
  while (IsPutAside(after)) after.failed.erase(after.failed.begin());
  return after;
}

std::string ToText(const Health& health) {
  std::vector<std::string> attempts;
  for (const std::vector<int64_t>& jobs : health.failed) attempts.push_back(fmt::format("{}", fmt::join(jobs, ",")));
  return Join(attempts, ";");
}

Health ParseHealth(std::string_view text) {
  Health health;
  if (text.empty()) return health;
  for (const std::string& attempt : Split(text, ';')) {
    std::vector<int64_t> jobs;
    for (const std::string& part : Split(attempt, ',')) {
      const std::optional<int64_t> job = ParseInteger(part);
      if (!job) return {};
      jobs.push_back(*job);
    }
    health.failed.push_back(std::move(jobs));
  }
  return health;
}

}  // namespace longreach::core
