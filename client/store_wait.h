// Waiting for a store that another command has: for how long, as a function of what is seen of its holder.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "client/embedded.h"

namespace longreach::client {

class StoreWait {
 public:
  using Time = std::chrono::steady_clock::time_point;
  // For so long one that is soon done with the store is waited for.
  static constexpr std::chrono::seconds kSoonFree{60};

  // Behind `ask_behind` the scheduler of one that is soon done is asked, where that can be. Nothing: it is not, as what this command writes would be cut short by its end;
  // then one who is seen to work on the store is waited for as long as that takes.
  StoreWait(std::optional<std::chrono::seconds> ask_behind, Time now) : ask_behind_(ask_behind), began_(now), since_(now), turns_(now) {}

  // A try has found this one, who takes connections or does not. Nobody, if somebody had it before: who has it has not said so yet.
  void Found(const StoreHolder& holder, bool listens, Time now) {
    if (holder.address != holder_) since_ = now;
    holder_ = holder.address;
    for_a_moment_ = holder.for_a_moment;
    StillThere(listens, now);
  }
  // Between two tries.
  void StillThere(bool listens, Time now) {
    if (!WaitsFor(listens)) return;
    since_ = now;
    turns_ = now;
  }

  // Whether its scheduler is not to be asked, as it is about to end, or has not been there for long.
  bool IsWorthIt(bool listens, Time now) const {
    if (!for_a_moment_) return holder_.starts_with("unix:") && !listens;  // Or it is not to be reached from here.
    return !listens || !ask_behind_ || now - since_ < *ask_behind_;
  }
  // Whether the next try can wait, as far as its holder goes.
  bool IsEarly(Time now) const { return for_a_moment_ && now - since_ < ask_behind_.value_or(kSoonFree) && now - began_ <= kLongest; }
  bool IsOver(Time now) const { return now - since_ > (for_a_moment_ ? kSoonFree : kStillHeld) || now - turns_ > kTakeTurns || now - began_ > kLongest; }
  // Whether it has taken longer than such a command usually does, and goes on, as one works on the store.
  bool IsLong(bool listens, Time now) const { return WaitsFor(listens) && now - began_ >= kSoonFree; }
  std::chrono::milliseconds Pause(Time now) const { return now - began_ < kSoonFree ? kBetween : 10 * kBetween; }

 private:
  // For so long whoever has been killed may still hold its store.
  static constexpr std::chrono::seconds kStillHeld{2};
  // For so long at most one is waited for after the other, as a script may start many commands at once.
  static constexpr std::chrono::minutes kTakeTurns{10};
  // As long as a check, a backup or a merge may take.
  static constexpr std::chrono::hours kLongest{6};
  static constexpr std::chrono::milliseconds kBetween{100};

  bool WaitsFor(bool listens) const { return listens && for_a_moment_ && !ask_behind_; }

  const std::optional<std::chrono::seconds> ask_behind_;
  const Time began_;
  Time since_;  // Who has it was first seen then; where he is waited for as long as it takes, last.
  Time turns_;  // Since then one had it after the other.
  std::string holder_;
  bool for_a_moment_ = false;
};

}  // namespace longreach::client
