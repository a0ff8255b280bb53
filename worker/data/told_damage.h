// What is told of damaged data sets, look after look into their folder.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "worker/data/data_folder.h"

namespace longreach::data {

// Of a data set that is being copied each look finds something else (how many bytes of a file are there), and a scheduler would write down what every worker says of it
// every few seconds. So what is told of one stays for a minute.
class ToldDamage {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::minutes kStays{1};

  // Those that a look has found, each with the reason to tell. What is not among them is forgotten at once.
  std::vector<DamagedSet> After(const std::vector<DamagedSet>& found, Time now) {
    std::map<std::string, Told> told;
    std::vector<DamagedSet> all;
    for (const DamagedSet& one : found) {
      const auto before = told_.find(one.name);
      const bool stays = before != told_.end() && now - before->second.since < kStays;
      const Told& told_now = told.emplace(one.name, stays ? before->second : Told{.reason = one.reason, .since = now}).first->second;
      all.push_back({.name = one.name, .reason = told_now.reason});
    }
    told_ = std::move(told);
    return all;
  }

 private:
  struct Told {
    std::string reason;
    Time since;
  };
  std::map<std::string, Told> told_;  // By name.
};

}  // namespace longreach::data
