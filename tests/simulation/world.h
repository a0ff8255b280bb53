// Virtual time and what happens in it: everything in one thread, in an order that follows from the seed alone.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <queue>
#include <string>
#include <string_view>
#include <vector>

#include "proto/base/clock.h"
#include "tests/simulation/dice.h"

namespace longreach::simulation {

using Duration = std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

inline Duration Seconds(double s) { return Duration(static_cast<int64_t>(s * 1e6)); }

// How often each thing happened, by its name.
using Tally = std::map<std::string, int64_t, std::less<>>;

// The scheduler's machine. Its wall clock may jump; nothing may be decided by it.
class VirtualClock final : public Clock {
 public:
  WallTime Wall() const override { return WallTime(seconds(1'800'000'000)) + now_.time_since_epoch() + wall_off_; }
  SteadyTime Steady() const override { return now_; }
  void Set(SteadyTime now) { now_ = now; }
  void JumpWall(Duration by) { wall_off_ += by; }

 private:
  SteadyTime now_{seconds(1000)};
  Duration wall_off_{};
};

class World {
 public:
  World(uint64_t seed, bool verbose) : dice(seed), verbose_(verbose) {}

  Dice dice;
  VirtualClock clock;
  Tally tally;

  SteadyTime now() const { return clock.Steady(); }
  void After(Duration wait, std::function<void()> action) {
    queue_.push({.at = now() + std::max(wait, Duration(0)), .order = ++order_, .action = std::move(action)});
  }
  // When the next thing happens; the end of time when there is none.
  SteadyTime NextAt() const { return queue_.empty() ? SteadyTime::max() : queue_.top().at; }
  void RunNext() {
    Item item = std::move(const_cast<Item&>(queue_.top()));  // The queue has no other way to give its top away.
    queue_.pop();
    clock.Set(std::max(now(), item.at));
    item.action();
  }

  void Count(std::string_view name, int64_t by = 1) {
    const auto found = tally.find(name);
    if (found != tally.end()) found->second += by;
    else tally.emplace(name, by);
  }

  // One line of the event log: what a seed stands for.
  void Log(std::string_view text);
  uint64_t hash() const { return hash_; }

  // Something that must not be. The first one ends the seed.
  void Violation(const std::string& text) {
    Log("VIOLATION " + text);
    if (violation_.empty()) violation_ = text;
  }
  const std::string& violation() const { return violation_; }

 private:
  struct Item {
    SteadyTime at;
    uint64_t order = 0;
    std::function<void()> action;
    bool operator<(const Item& other) const { return at != other.at ? at > other.at : order > other.order; }
  };
  std::priority_queue<Item> queue_;
  uint64_t order_ = 0;
  bool verbose_;
  uint64_t hash_ = 0xcbf29ce484222325u;
  std::string violation_;
};

}  // namespace longreach::simulation
