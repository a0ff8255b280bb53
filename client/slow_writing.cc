#include "client/slow_writing.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "proto/types/words.h"

namespace longreach::client {

std::string SlowWriting::Of(const v1::SweepUpdate& update, const std::string& where, Clock::time_point now) {
  std::map<uint32_t, Clock::time_point> writing;
  for (const v1::RunningAttempt& attempt : update.running()) {
    if (attempt.phase() != Word(AttemptPhase::kUploading)) continue;
    const auto before = since_.find(attempt.attempt());
    writing.emplace(attempt.attempt(), before == since_.end() ? now : before->second);
  }
  since_ = std::move(writing);
  const bool all = !since_.empty() && static_cast<int>(since_.size()) == update.running_size();
  if (!all || !std::ranges::all_of(since_, [now](const auto& one) { return now - one.second >= kPatience; })) {
    told_ = false;
    return "";
  }
  if (std::exchange(told_, true)) return "";
  return fmt::format("what is computed has not been written for {} s: is the disk full that the store and its worker's folder lie on? It goes on by itself "
                     "once there is room; 'longreach logs JOB --follow{}' of a job that runs says what it waits for", kPatience.count(), where);
}

}  // namespace longreach::client
