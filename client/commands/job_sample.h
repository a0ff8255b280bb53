// Some of many jobs, by chance, and the same ones whenever they are asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace longreach::client {

// Each job is as likely as any other. Which ones they are depends on `draw` and the jobs' ids alone, not on the order in which these come; of
// a sweep that goes on, one that is finished later takes the place of one job at most. Holds no more ids than are drawn.
class JobSample {
 public:
  JobSample(size_t size, uint64_t draw) : size_(size), draw_(draw) {}

  void Add(std::string_view id);

  int64_t added() const { return added_; }
  // All where no more than that were added.
  std::vector<std::string> Drawn() const;

 private:
  size_t size_;
  uint64_t draw_;
  int64_t added_ = 0;
  std::set<std::pair<uint64_t, std::string>> least_ = {};  // By rank.
};

}  // namespace longreach::client
