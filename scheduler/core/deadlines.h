// Points in time at which something must be looked at, the earliest first. They live in memory: at a start of the
// scheduler every lease gets a full term again.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "proto/base/clock.h"

namespace longreach::core {

template <typename Key>
class Deadlines {
 public:
  // Sets or moves the deadline of a key.
  void Set(const Key& key, SteadyTime at) {
    Remove(key);
    times_[key] = at;
    order_.emplace(at, key);
  }
  void Remove(const Key& key) {
    const auto found = times_.find(key);
    if (found == times_.end()) return;
    order_.erase({found->second, key});
    times_.erase(found);
  }
  std::optional<SteadyTime> Of(const Key& key) const {
    const auto found = times_.find(key);
    if (found == times_.end()) return std::nullopt;
    return found->second;
  }
  std::optional<SteadyTime> Next() const {
    if (order_.empty()) return std::nullopt;
    return order_.begin()->first;
  }
  // Keys whose deadline is `now` or earlier, in order. They stay until they are removed or moved.
  std::vector<Key> Due(SteadyTime now) const {
    std::vector<Key> due;
    for (auto at = order_.begin(); at != order_.end() && at->first <= now; ++at) due.push_back(at->second);
    return due;
  }
  size_t size() const { return times_.size(); }

 private:
  std::map<Key, SteadyTime> times_;
  std::set<std::pair<SteadyTime, Key>> order_;
};

}  // namespace longreach::core
