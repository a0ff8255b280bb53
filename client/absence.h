// A scheduler that is away: for how long it is tried again, and with which pauses between the tries.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

namespace longreach::client {

class Absence {
 public:
  // For so long it is waited for, from the first try that finds nobody; 0: not at all.
  explicit Absence(std::chrono::seconds patience) : patience_(patience) {}

  // The last try found nobody.
  bool lasts() const { return since_.has_value(); }

  // A try finds nobody. How long to pause before the next, which grows from one to the next; nothing: there is none.
  std::optional<std::chrono::milliseconds> Miss(std::chrono::steady_clock::time_point now) {
    if (!since_) since_ = now;
    if (now - *since_ >= patience_) return std::nullopt;
    return std::exchange(pause_, std::min(pause_ * 2, kLongestPause));
  }

  // It has answered. True: it was missed before.
  bool End() {
    pause_ = kFirstPause;
    return std::exchange(since_, std::nullopt).has_value();
  }

 private:
  static constexpr std::chrono::milliseconds kFirstPause{200};
  static constexpr std::chrono::milliseconds kLongestPause{3000};

  const std::chrono::seconds patience_;
  std::optional<std::chrono::steady_clock::time_point> since_;
  std::chrono::milliseconds pause_ = kFirstPause;
};

}  // namespace longreach::client
