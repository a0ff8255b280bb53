#include "scheduler/core/health.h"

#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "proto/base/text.h"

namespace longreach::core {
namespace {

bool Has(const std::vector<int64_t>& jobs, int64_t job) { return std::ranges::find(jobs, job) != jobs.end(); }

bool IsPartOf(std::span<const int64_t> jobs, const std::vector<int64_t>& whole) {
  return std::ranges::all_of(jobs, [&whole](int64_t job) { return Has(whole, job); });
}

std::string TextOf(const Health& health, bool before_success) {
  std::vector<std::string> attempts;
  for (const FailedAttempt& attempt : health.failed) {
    if (attempt.before_success == before_success) attempts.push_back(fmt::format("{}", fmt::join(attempt.jobs, ",")));
  }
  return Join(attempts, ";");
}

// false: it cannot be read.
bool ReadJobs(std::string_view text, std::vector<int64_t>& jobs) {
  for (const std::string& part : Split(text, ',')) {
    const std::optional<int64_t> job = ParseInteger(part);
    if (!job) return false;
    jobs.push_back(*job);
  }
  return true;
}

bool Read(std::string_view text, bool before_success, Health& health) {
  if (text.empty()) return true;
  for (const std::string& attempt : Split(text, ';')) {
    FailedAttempt& failed = health.failed.emplace_back(FailedAttempt{.jobs = {}, .before_success = before_success});
    if (!ReadJobs(attempt, failed.jobs)) return false;
  }
  return true;
}

}  // namespace

Health AfterFailure(const Health& before, std::span<const int64_t> jobs) {
  if (jobs.empty()) return before;
  Health after = before;
  if (jobs.size() == 1) {
    const bool again = std::erase(after.alone, jobs.front()) > 0;
    after.alone.push_back(jobs.front());
    if (again) return after;
    if (after.alone.size() > kAloneKept) after.alone.erase(after.alone.begin());
  }
  const auto shared = std::ranges::find_if(after.failed, [jobs](const FailedAttempt& earlier) {
    return std::ranges::any_of(jobs, [&earlier](int64_t job) { return Has(earlier.jobs, job); });
  });
  if (shared != after.failed.end()) {
    if (!IsPartOf(jobs, shared->jobs)) return after;
    after.failed.erase(shared);
  }
  after.failed.push_back({.jobs = {jobs.begin(), jobs.end()}});
  if (after.failed.size() > kFailuresKept) after.failed.erase(after.failed.begin());
  return after;
}

Health AfterSuccess(const Health& before, const std::set<int64_t>& near) {
  Health after = before;
  std::erase_if(after.failed, [&near](const FailedAttempt& failed) {
    return std::ranges::any_of(failed.jobs, [&near](int64_t job) { return near.contains(job); });
  });
  for (FailedAttempt& failed : after.failed) failed.before_success = true;
  return after;
}

Verdict VerdictOf(const Health& health, std::span<const SweepsOfAttempt> sweeps) {
  std::map<int64_t, int> of_sweep, in_a_row;
  int row = 0;
  for (size_t i = 0; i < health.failed.size(); ++i) {
    const bool counts = !health.failed[i].before_success;
    row += counts ? 1 : 0;
    for (const int64_t sweep : sweeps[i].having) in_a_row[sweep] += counts ? 1 : 0;
    for (const int64_t sweep : sweeps[i].wanting) ++of_sweep[sweep];
  }
  const bool of_one = std::ranges::any_of(in_a_row, [row](const auto& count) { return count.second == row; });
  if (row >= kFailuresToPutAside && !of_one) return {.standing = Standing::kAside};
  Verdict verdict;
  for (const auto& [sweep, count] : of_sweep) {
    if (count >= kFailuresToPutAside) verdict.sweeps.insert(sweep);
  }
  if (!verdict.sweeps.empty()) verdict.standing = Standing::kAsideForSweeps;
  return verdict;
}

std::string ToText(const Health& health) {
  const std::string before = TextOf(health, true), after = TextOf(health, false);
  const std::string failed = before.empty() ? after : fmt::format("{}|{}", before, after);
  return health.alone.empty() ? failed : fmt::format("{}/{}", fmt::join(health.alone, ","), failed);
}

Health ParseHealth(std::string_view text) {
  Health health;
  if (const size_t stroke = text.find('/'); stroke != std::string_view::npos) {
    if (!ReadJobs(text.substr(0, stroke), health.alone)) return {};
    text.remove_prefix(stroke + 1);
  }
  const size_t bar = text.find('|');
  const bool has_bar = bar != std::string_view::npos;
  const bool read = Read(has_bar ? text.substr(0, bar) : "", true, health) && Read(has_bar ? text.substr(bar + 1) : text, false, health);
  return read ? health : Health{};
}

}  // namespace longreach::core
